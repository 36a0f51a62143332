//! What the tests of the coupled algorithms share: the subflows of one MPTCP connection.
#![allow(dead_code)] // each test file uses its part

use ccactl_native::path::{Flow, Link, Stats};
use ccactl_native::{CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_LOSS, Socket};
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

static TOKENS: AtomicU32 = AtomicU32::new(1);

/// A token that no other connection of this process has.
pub fn token() -> u32 {
    TOKENS.fetch_add(1, Ordering::Relaxed)
}

/// An established subflow in congestion avoidance, limited by its window, with this window and RTT.
pub fn subflow(algorithm: &str, token: u32, cwnd: u32, rtt_us: u32) -> Socket {
    let mut socket = Socket::checked(algorithm).expect("the algorithm exists");
    socket.set_mptcp_token(token);
    socket.tp_mut().set_cwnd_limited(true);
    socket.record(true);
    socket.init();
    let tp = socket.tp_mut();
    (tp.snd_cwnd, tp.snd_ssthresh, tp.srtt_us) = (cwnd, 2, rtt_us << 3);
    socket
}

/// Subflows of one connection that have seen each other: each has had an ACK that acknowledged nothing.
pub fn connection<const N: usize>(algorithm: &str, paths: [(u32, u32); N]) -> [Socket; N] {
    let token = token();
    let mut sockets = paths.map(|(cwnd, rtt_us)| subflow(algorithm, token, cwnd, rtt_us));
    for socket in &mut sockets {
        socket.cong_avoid(0, 0);
    }
    sockets
}

/// How many packets have to be acknowledged, one at a time, until the window has grown by one. The others then see that.
pub fn acks_per_packet(socket: &mut Socket) -> u32 {
    let cwnd = socket.cwnd();
    let mut acks = 0;
    while socket.cwnd() == cwnd {
        socket.cong_avoid(0, 1);
        acks += 1;
        assert!(acks < 1_000_000, "the window stays at {cwnd}");
    }
    socket.cong_avoid(0, 0);
    assert_eq!(socket.cwnd(), cwnd + 1);
    acks
}

/// A loss, as the kernel goes through it: threshold, recovery, and the window at the threshold.
pub fn lose(socket: &mut Socket) -> u32 {
    let ssthresh = socket.ssthresh();
    socket.tp_mut().snd_ssthresh = ssthresh;
    socket.set_state(CA_RECOVERY);
    socket.tp_mut().snd_cwnd = ssthresh;
    socket.set_state(CA_OPEN);
    ssthresh
}

/// Subflows and those that the others see, by what the last ACK published.
pub fn seen(socket: &mut Socket) -> (i64, i64) {
    socket.cong_avoid(0, 0);
    let trace = socket.trace().expect("published");
    (trace.v0, trace.v1)
}

/// What happens to a socket in the comparison with Reno.
#[derive(Debug, Clone)]
pub enum Event {
    Ack(u32),
    Limited(bool),
    Loss,
    Timeout,
    Undo,
    Ssthresh(u32),
    Cwnd(u32),
    Rtt(u32),
}

pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        40 => prop_oneof![4 => 1_u32..5, 1 => 0_u32..10_000].prop_map(Event::Ack),
        2 => any::<bool>().prop_map(Event::Limited),
        2 => Just(Event::Loss),
        1 => Just(Event::Timeout),
        1 => Just(Event::Undo),
        1 => (2_u32..5000).prop_map(Event::Ssthresh),
        1 => prop_oneof![1_u32..100, 1_u32..1 << 20].prop_map(Event::Cwnd),
        1 => prop_oneof![Just(0_u32), 1_u32..10_000_000].prop_map(Event::Rtt),
    ];
    prop::collection::vec(event, 1..400)
}

/// Windows, thresholds and credits after each event.
pub fn sequence(mut socket: Socket, events: &[Event]) -> Vec<(u32, u32, u32)> {
    socket.tp_mut().set_cwnd_limited(true);
    socket.init();
    let step = |event: &Event| {
        happen(&mut socket, event);
        (socket.cwnd(), socket.snd_ssthresh(), socket.tp().snd_cwnd_cnt)
    };
    events.iter().map(step).collect()
}

fn happen(socket: &mut Socket, event: &Event) {
    match event {
        Event::Ack(acked) => {
            socket.tp_mut().bytes_acked += u64::from(*acked) * 1448;
            socket.cong_avoid(0, *acked);
        }
        Event::Limited(limited) => socket.tp_mut().set_cwnd_limited(*limited),
        Event::Loss => {
            socket.tp_mut().prior_cwnd = socket.cwnd();
            lose(socket);
        }
        Event::Timeout => {
            let ssthresh = socket.ssthresh();
            let tp = socket.tp_mut();
            (tp.prior_cwnd, tp.snd_ssthresh) = (tp.snd_cwnd, ssthresh);
            socket.cwnd_event(EVENT_LOSS);
            (socket.tp_mut().snd_cwnd, socket.tp_mut().snd_cwnd_cnt) = (1, 0);
            socket.set_state(CA_LOSS);
        }
        Event::Undo => {
            let cwnd = socket.undo_cwnd();
            socket.tp_mut().snd_cwnd = cwnd;
            socket.set_state(CA_OPEN);
        }
        Event::Ssthresh(ssthresh) => socket.tp_mut().snd_ssthresh = *ssthresh,
        Event::Cwnd(cwnd) => socket.tp_mut().snd_cwnd = *cwnd,
        Event::Rtt(rtt_us) => socket.tp_mut().srtt_us = rtt_us << 3,
    }
}

/// That an algorithm has Reno's windows, ACK by ACK, as plain TCP and as the only subflow of a connection.
pub fn is_reno_on_one_path(algorithm: &'static str) {
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(events in events())| {
        let reno = sequence(Socket::checked("reno").expect("reno exists"), &events);
        let plain = sequence(Socket::checked(algorithm).expect("the algorithm exists"), &events);
        prop_assert_eq!(&plain, &reno, "plain TCP");
        let mut socket = Socket::checked(algorithm).expect("the algorithm exists");
        socket.set_mptcp_token(token());
        prop_assert_eq!(sequence(socket, &events), reno, "the only subflow");
    });
}

/// That a whole transfer over a lossy path is Reno's, packet by packet.
pub fn is_reno_on_a_path(algorithm: &str) {
    let link =
        Link { rate_bps: 20_000_000, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm: 500 }.with_buffer_milli_bdp(1000);
    let run = |name: &str, token: u32| {
        let mut socket = Socket::checked(name).expect("the algorithm exists");
        socket.set_mptcp_token(token);
        let mut flow = Flow::new(socket, link, 7);
        let mut windows = Vec::new();
        flow.run_for_us(30_000_000, |flow| windows.push(flow.socket.cwnd()));
        (flow.stats(), windows)
    };
    let reno = run("reno", 0);
    assert!(reno.0.lost_pkts > 10, "{:?}", reno.0);
    assert_eq!(run(algorithm, 0), reno);
    assert_eq!(run(algorithm, token()), reno);
}

/// Nothing grows while the application limits the flow, and slow start is not coupled.
pub fn grows_when_limited_and_alone_in_slow_start(algorithm: &str) {
    let [mut socket, _other] = connection(algorithm, [(16, 50_000), (16, 50_000)]);
    socket.tp_mut().set_cwnd_limited(false);
    socket.cong_avoid(0, 1000);
    assert_eq!(socket.cwnd(), 16);
    socket.tp_mut().set_cwnd_limited(true);
    socket.tp_mut().snd_ssthresh = 30;
    socket.cong_avoid(0, 10);
    assert_eq!(socket.cwnd(), 26);
}

/// That whatever happens to the subflows of a connection, in whatever order, all of them keep a window.
pub fn survives_anything(algorithm: &'static str) {
    let input = prop::collection::vec((0..3_usize, events()), 1..12);
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(turns in input)| {
        let token = token();
        let mut sockets: [Socket; 3] = std::array::from_fn(|_| subflow(algorithm, token, 10, 50_000));
        for (index, events) in turns {
            let socket = &mut sockets[index];
            for event in &events {
                happen(socket, event);
                prop_assert!(socket.cwnd() > 0, "no window after {event:?}");
            }
        }
    });
}

/// Runs subflows side by side over paths of their own for so long; what each did in the second half.
pub fn side_by_side<const N: usize>(algorithm: &str, links: [Link; N], duration_us: u64) -> [Stats; N] {
    const STEP_US: u64 = 1000;
    let token = token();
    let mut seed = 0;
    let mut flows = links.map(|link| {
        let mut socket = Socket::checked(algorithm).expect("the algorithm exists");
        socket.set_mptcp_token(token);
        seed += 1;
        Flow::new(socket, link, seed)
    });
    let mut half = [Stats::default(); N];
    for step in 0..duration_us / STEP_US {
        if step == duration_us / STEP_US / 2 {
            half = flows.each_ref().map(Flow::stats);
        }
        for flow in &mut flows {
            flow.run_for_us(STEP_US, |_| {});
        }
    }
    std::array::from_fn(|index| flows[index].stats().since(&half[index]))
}
