//! The bottleneck as a queue discipline in BPF (`bpf/link.bpf.c`): what of a link it can be, and what it is told.

use crate::netem::shaper::{self, KERNEL_OVERHEAD_BYTES};
use crate::unsupported::Lacks;
use ccactl_abi::link_queue::LinkConfig;
use ccactl_link::queue::{CoDel, Discipline};
use ccactl_link::{Capacity, Nanos};
use ccactl_scenario::LinkSpec;

/// The square of an interval is to fit into 63 bits.
const LONGEST_INTERVAL_NS: Nanos = 3_000_000_000;
/// The smallest packet that a buffer may be full of: an IPv4 header with TCP's.
const SMALLEST_PACKET_BYTES: u64 = 40;
/// Packets that have left and that the kernel has not asked for, at most.
const LATE_PACKETS: u64 = 4096;

/// Remembers what it cannot do.
pub(crate) fn check(link: &LinkSpec, lacks: &mut Lacks) {
    shaper::one_rate(link, lacks);
    lacks.ensure(link.ecn_threshold.is_none(), "link.ecn_threshold", "none: a discipline in BPF marks nothing", "one");
    match &link.queue {
        Discipline::DropTail => {}
        Discipline::CoDel(CoDel { interval, ecn, .. }) => {
            lacks.ensure(!ecn, "link.queue.ecn", "false: a discipline in BPF marks nothing", "true");
            let fits = (1..=LONGEST_INTERVAL_NS).contains(interval);
            lacks.ensure(fits, "link.queue.interval", "more than 0 and at most 3s", format!("{interval} ns"));
        }
        _ => lacks.ensure(false, "link.queue", "drop-tail or codel", "another"),
    }
}

/// What it is told of a link that was found good, with this room in its buffer.
pub fn config(link: &LinkSpec, capacity: Capacity) -> LinkConfig {
    let overhead_bytes = link.overhead_bytes as i32 - KERNEL_OVERHEAD_BYTES as i32;
    let (limit_bytes, limit_packets, packets) = match capacity {
        Capacity::Bytes(bytes) => (bytes, 0, bytes / (SMALLEST_PACKET_BYTES + u64::from(link.overhead_bytes))),
        Capacity::Packets(packets) => (0, packets, packets),
    };
    let without = LinkConfig {
        rate_bps: link.rate.bps,
        limit_bytes,
        limit_packets,
        slots: (packets + LATE_PACKETS).next_power_of_two(),
        overhead_bytes,
        ..LinkConfig::default()
    };
    match link.queue {
        Discipline::CoDel(CoDel { target, interval, mtu_bytes, .. }) => {
            LinkConfig { codel_target_ns: target, codel_interval_ns: interval, codel_mtu_bytes: mtu_bytes, ..without }
        }
        _ => without,
    }
}
