//! What holds for every algorithm whatever the input: no undefined behaviour (the checked build traps; with the feature
//! `asan` memory errors end the process as well), never a window of zero, survival of callbacks before init and without
//! socket storage. One test per algorithm and property.

mod any_steps;
mod common;

use any_steps::{origin, step};
use ccactl_abi::{ALGORITHMS, Algorithm, test_every_algorithm};
use ccactl_native::path::{Flow, Link};
use ccactl_native::{AckSample, NAMES, RateSample, Socket, Unit};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

/// Which tunables are at which end of their range: 0 smallest, 1 default, 2 largest.
type Picks = Vec<(Index, usize)>;

fn picks() -> impl Strategy<Value = Picks> {
    prop::collection::vec((any::<Index>(), 0_usize..3), 0..6)
}

fn row(name: &str) -> &'static Algorithm {
    Algorithm::by_name(name).expect("a file has a row")
}

fn checked(name: &str) -> Socket {
    Socket::checked(name).expect("a row has a file")
}

fn set(socket: &mut Socket, row: &Algorithm, picks: &Picks) {
    if row.tunables.is_empty() {
        return;
    }
    for (index, end) in picks {
        let tunable = index.get(row.tunables);
        let raw = [tunable.min_raw, tunable.default_raw, tunable.max_raw][*end];
        assert_eq!(socket.set_tunable(tunable.name, raw), Ok(()));
    }
}

/// Runs a property over so many inputs; the input that fails is shrunk and printed. What shrinks is not written to files.
fn hold<S: Strategy>(cases: u32, input: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    if let Err(failure) = TestRunner::new(config).run(input, property) {
        panic!("{failure}");
    }
}

test_every_algorithm!(any_sequence_of_callbacks_leaves_a_window);
fn any_sequence_of_callbacks_leaves_a_window(name: &str) {
    let input = (origin(), picks(), prop::collection::vec(step(), 1..150));
    hold(192, &input, |(origin, picks, steps)| {
        let mut socket = checked(name);
        set(&mut socket, row(name), &picks);
        origin.apply(&mut socket);
        for step in &steps {
            step.apply(&mut socket);
            prop_assert!(socket.cwnd() > 0, "after {step:?}");
        }
        Ok(())
    });
}

test_every_algorithm!(any_tunables_in_range_survive_a_path);
fn any_tunables_in_range_survive_a_path(name: &str) {
    let loss_ppm = prop_oneof![Just(0_u32), 0_u32..50_000];
    let path = (1_u64..60, 100_u64..200_000, 50_u64..4000, loss_ppm);
    let input = (origin(), picks(), path, prop_oneof![Just(1_u32), 2_u32..20]);
    hold(48, &input, |(origin, picks, (rate_mbps, base_rtt_us, buffer_milli, loss_ppm), ack_every)| {
        let mut socket = checked(name);
        set(&mut socket, row(name), &picks);
        origin.apply(&mut socket);
        let link = Link { rate_bps: rate_mbps * 1_000_000, base_rtt_us, buffer_pkts: 0, loss_ppm }
            .with_buffer_milli_bdp(buffer_milli);
        let first_packet = u64::from(origin.sequence / socket.tp().mss_cache);
        let mut flow = Flow::new(socket, link, 1);
        flow.set_first_packet(first_packet);
        flow.set_ack_every(ack_every);
        for sends in [true, false, true] {
            flow.set_application_sends(sends);
            flow.run_for_us(500_000, |flow| assert!(flow.socket.cwnd() > 0));
        }
        prop_assert!(flow.stats().delivered_pkts > 0);
        Ok(())
    });
}

test_every_algorithm!(a_path_on_which_clocks_and_counters_wrap_is_one_like_any_other);
/// The same path twice, once with every counter about to wrap: the flow must not notice.
fn a_path_on_which_clocks_and_counters_wrap_is_one_like_any_other(name: &str) {
    const SECONDS: u64 = 6;
    let run = |wraps: bool| {
        let mut socket = checked(name);
        // Both at a multiple of a jiffy, so that jiffies pass at the same moments.
        socket.set_time_us(1 << 33);
        if wraps {
            socket.set_time_us((1 << 33) - 3_000_000 - ((1 << 33) % 4000));
            let jiffies = socket.jiffies();
            socket.start_jiffies((u32::MAX - 500).wrapping_sub(jiffies));
            socket.tp_mut().delivered = u32::MAX - 3000;
            socket.tp_mut().lost = u32::MAX - 5;
        } else {
            socket.set_time_us((1 << 33) + 10_000_000 - ((1 << 33) % 4000));
        }
        let mut flow = Flow::new(socket, common::link(1500), 1);
        if wraps {
            flow.set_first_packet(u64::from(u32::MAX / 1448) - 4000);
        }
        flow.run_for_us(SECONDS * 1_000_000, |_| {});
        flow.stats()
    };
    let (plain, wrapping) = (run(false), run(true));
    let (a, b) = (plain.delivered_pkts, wrapping.delivered_pkts);
    assert!(a.abs_diff(b) * 10 <= a, "{plain:?}, with counters that wrap {wrapping:?}");
    assert!(wrapping.timeouts <= plain.timeouts + 1, "{plain:?}, with counters that wrap {wrapping:?}");
}

test_every_algorithm!(every_callback_survives_before_init_and_without_storage);
fn every_callback_survives_before_init_and_without_storage(name: &str) {
    let mut socket = checked(name);
    every_callback(&mut socket);
    socket.fail_storage(true);
    socket.init();
    every_callback(&mut socket);
    socket.fail_storage(false);
    socket.init();
    every_callback(&mut socket);
    socket.drop_storage();
    every_callback(&mut socket);
    socket.release();
    every_callback(&mut socket);
}

fn every_callback(socket: &mut Socket) {
    for state in 0..5 {
        socket.cong_control(0, 0, &RateSample::default());
        socket.cong_control(0, 0, &common::sample(0, 0, 0));
        socket.cong_control(0, 0, &common::sample(0, 10, 40_000));
        socket.cong_avoid(0, 1);
        socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: 0, in_flight: 0 });
        socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: -1, in_flight: 0 });
        socket.set_state(state);
        for event in 0..6 {
            socket.cwnd_event(event);
        }
        socket.in_ack_event(7);
        assert!(socket.ssthresh() >= 2 && socket.undo_cwnd() > 0);
        socket.min_tso_segs();
        socket.sndbuf_expand();
        assert!(socket.cwnd() > 0);
    }
}

test_every_algorithm!(stretch_acks_do_not_stop_a_flow);
/// One ACK for four packets: the window grows with packets, and nothing is taken for a standstill.
fn stretch_acks_do_not_stop_a_flow(name: &str) {
    let run = |ack_every| {
        let mut flow = Flow::new(checked(name), common::link(1500), 1);
        flow.set_ack_every(ack_every);
        flow.run_for_us(10_000_000, |_| {});
        flow.stats().delivered_pkts
    };
    let (each, merged) = (run(1), run(4));
    assert!(merged * 3 > each, "{merged} packets with one ACK for 4, {each} with an ACK for each");
}

#[test]
fn the_native_build_has_the_registrys_names_hooks_and_tunables() {
    for row in ALGORITHMS.iter() {
        for checked in [false, true] {
            let unit = Unit::by_name(row.name, checked).expect("a row has a file");
            assert_eq!(unit.kernel_name(), row.kernel_name);
            let (mut hooks, mut listed) = (unit.hooks(), row.hooks.to_vec());
            hooks.sort_unstable();
            listed.sort_unstable();
            assert_eq!(hooks, listed, "{}", row.name);
            assert_eq!(unit.tunables().len(), row.tunables.len(), "{}", row.name);
            for tunable in row.tunables {
                let found = unit.tunable(tunable.name).expect("a tunable of the row is one of the file");
                assert_eq!(found.default_raw(), tunable.default_raw, "{}.{}", row.name, tunable.name);
            }
        }
    }
    assert!(NAMES.len() == ALGORITHMS.len() && Unit::by_name("no-such-algorithm", false).is_none());
}

test_every_algorithm!(the_plain_and_the_checked_build_do_the_same);
fn the_plain_and_the_checked_build_do_the_same(name: &str) {
    let run = |mut socket: Socket| {
        socket.record(true);
        let mut flow = Flow::new(socket, common::link(1500), 1);
        flow.run_for_us(3_000_000, |_| {});
        (flow.stats(), flow.socket.cwnd(), flow.socket.pacing_rate(), flow.socket.trace())
    };
    let plain = run(Socket::new(name).expect("a row has a file"));
    assert_eq!(plain, run(checked(name)));
    let trace = plain.3.expect("every algorithm publishes");
    let modes = row(name).modes;
    assert!((trace.mode as usize) < modes.len(), "mode {} of {modes:?}", trace.mode);
}
