//! After `reserve` a link allocates nothing: the emulator calls it on a thread with real-time priority.

mod common;

use ccactl_link::snoop::{Action, Sack, Segment, Snoop};
use ccactl_link::{
    Capacity, DelayLine, Discipline, Distribution, Ecn, GilbertElliott, Item, Jitter, Link, LinkConfig, Loss, Output,
    RatePlan, WireConfig, Wireless,
};
use common::MS;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// Of this thread alone: the harness of the tests allocates on its own one while a test runs.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const PACKETS: usize = 200;

fn config(queue: Discipline) -> LinkConfig {
    LinkConfig {
        rate: RatePlan::Steps(vec![(0, 20_000_000), (40 * MS, 5_000_000), (80 * MS, 20_000_000)]),
        capacity: Capacity::Packets(PACKETS as u64),
        queue,
        mark_above: None,
        wire: WireConfig {
            delay: vec![(0, MS)],
            jitter: Some(Jitter { distribution: Distribution::Uniform { max: MS }, reorder: true }),
            loss: Loss::GilbertElliott(GilbertElliott { p: 0.1, r: 0.3, loss_good: 0.01, loss_bad: 0.9 }),
            wireless: Some(Wireless { error: 0.1, retries: 2, retry_delay: MS / 10 }),
        },
        seed: 3,
    }
}

#[test]
fn nothing_allocates_after_reserve() {
    for queue in common::disciplines() {
        let mut link = Link::new(config(queue.clone()));
        // The packets of a full buffer, as many that it drops for one that arrives, and that one.
        link.reserve(2 * PACKETS + 1);
        let mut on_the_wire = DelayLine::with_capacity(PACKETS);
        let before = ALLOCATIONS.get();
        let mut arrived = 0;
        for id in 0..20_000_u32 {
            // Twice the rate in bursts, with a pause of 50 ms now and then.
            let now = u64::from(id / 10) * 2 * MS + u64::from(id / 5000) * 50 * MS;
            while let Some(output) = link.pop(now) {
                if let Output::Sent(departure) = output {
                    on_the_wire.push(departure.due, departure.packet);
                }
            }
            arrived += std::iter::from_fn(|| on_the_wire.pop(now)).count();
            let (flow, class) = (id % 4, (id % 2) as u8);
            let size_bytes = 500 + id % 1000;
            let item =
                Item { packet: id, size_bytes, flow, class, is_ack: id % 4 == 3, ecn: Ecn::of_bits((id % 3) as u8) };
            link.enqueue(now, item);
        }
        let allocations = ALLOCATIONS.get() - before;
        assert!(arrived > 1000, "{queue:?} let {arrived} packets through");
        assert_eq!(allocations, 0, "{queue:?}");
    }
}

#[test]
fn a_snoop_agent_allocates_nothing_once_it_is_there() {
    let mut snoop: Snoop<u32> = Snoop::new(30_000_000);
    let before = ALLOCATIONS.get();
    let mut repeats = 0;
    for id in 0..40_000_u32 {
        // 20 segments of one of 4000 connections after the other; every third is missing until its end.
        let (connection, seq, now) = (u64::from(id / 20), id % 20 * 1000, u64::from(id) * MS);
        let segment = Segment { seq, payload_bytes: 1000, ..Segment::default() };
        snoop.data(now, connection, &segment, id, 1040);
        let mut sack = Sack::default();
        (1..4).for_each(|n| sack.push(n * 3000, n * 3000 + 2000));
        snoop.ack(now, connection, &Segment { ack: Some(0), sack, ..Segment::default() }, id);
        if id % 50 == 0 {
            snoop.wake(now);
        }
        repeats += std::iter::from_fn(|| snoop.pop()).filter(|action| matches!(action, Action::Retransmit(_))).count();
    }
    let allocations = ALLOCATIONS.get() - before;
    assert!(repeats > 1000, "{repeats} segments were sent again");
    assert_eq!(allocations, 0);
}
