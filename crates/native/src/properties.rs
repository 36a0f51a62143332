//! What holds for every algorithm whatever the input: no undefined behaviour, never a window of zero, survival of callbacks
//! before init and without socket storage, and of clocks and counters that wrap. The tests of the catalogue and
//! `ccactl check` go through the same list, [`ALL`].

use crate::path::{Flow, Link};
use crate::steps::{answers, origin, step};
use crate::{AckSample, RateSample, Socket};
use ccactl_abi::Algorithm;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, TestError, TestRng, TestRunner};
use std::fmt::Debug;

/// An algorithm whose properties are looked at.
pub struct Subject<'a> {
    /// What it says of itself.
    pub algorithm: &'a Algorithm,
    /// A new socket with it, in a build in which undefined behaviour ends the process.
    pub socket: &'a dyn Fn() -> Socket,
    /// The same inputs each time, so that the same file gets the same answer.
    pub repeatable: bool,
}

/// Holds, or says on what input it does not.
pub type Property = fn(&Subject<'_>) -> Result<(), String>;

/// All of them, in words.
pub const ALL: [(&str, Property); 6] = [
    ("any sequence of callbacks leaves a window", any_sequence_of_callbacks_leaves_a_window),
    ("any tunables in their ranges survive a path", any_tunables_in_range_survive_a_path),
    ("a path on which clocks and counters wrap is one like any other", wraps_are_not_noticed),
    ("every callback survives before init and without socket storage", every_callback_survives_before_init),
    ("stretch ACKs do not stop a flow", stretch_acks_do_not_stop_a_flow),
    ("what is published is one of the phases", the_phase_has_a_name),
];

/// Which tunables are at which end of their range: 0 smallest, 1 default, 2 largest.
type Picks = Vec<(Index, usize)>;

fn picks() -> impl Strategy<Value = Picks> {
    prop::collection::vec((any::<Index>(), 0_usize..3), 0..6)
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

/// Of the path that most properties use: room for a queue, and losses.
const BUFFER_MILLI_BDP: u64 = 1500;
/// How much of an input an answer shows.
const SHOWN_BYTES: usize = 1500;

/// Runs a property over so many inputs; the one that fails is shrunk.
fn hold<S>(
    subject: &Subject<'_>,
    cases: u32,
    input: &S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) -> Result<(), String>
where
    S: Strategy,
    S::Value: Debug,
{
    // What shrinks is not written to files.
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = if subject.repeatable {
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
    } else {
        TestRunner::new(config)
    };
    runner.run(input, property).map_err(|failure| match failure {
        TestError::Fail(reason, input) => {
            let mut shown = format!("{input:?}");
            if shown.len() > SHOWN_BYTES {
                shown.truncate(shown.floor_char_boundary(SHOWN_BYTES));
                shown += " …";
            }
            format!("{reason}\n    the shortest input that was found: {shown}")
        }
        TestError::Abort(reason) => reason.to_string(),
    })
}

/// A window, and after what there is none.
fn has_window(socket: &Socket) -> Result<(), String> {
    if socket.cwnd() > 0 {
        return Ok(());
    }
    let place = socket.last_called().map_or_else(|| "a callback".to_owned(), |place| place.to_string());
    Err(format!("snd_cwnd is 0 after {place}: nothing would ever be sent again"))
}

fn any_sequence_of_callbacks_leaves_a_window(subject: &Subject<'_>) -> Result<(), String> {
    let input = (origin(), picks(), prop::collection::vec(step(), 1..150));
    hold(subject, 192, &input, |(origin, picks, steps)| {
        let mut socket = (subject.socket)();
        set(&mut socket, subject.algorithm, &picks);
        origin.apply(&mut socket);
        for step in &steps {
            step.apply(&mut socket).and_then(|()| has_window(&socket)).map_err(TestCaseError::fail)?;
        }
        Ok(())
    })
}

fn any_tunables_in_range_survive_a_path(subject: &Subject<'_>) -> Result<(), String> {
    let loss_ppm = prop_oneof![Just(0_u32), 0_u32..50_000];
    let path = (1_u64..60, 100_u64..200_000, 50_u64..4000, loss_ppm);
    let input = (origin(), picks(), path, prop_oneof![Just(1_u32), 2_u32..20]);
    hold(subject, 48, &input, |(origin, picks, (rate_mbps, base_rtt_us, buffer_milli, loss_ppm), ack_every)| {
        let mut socket = (subject.socket)();
        set(&mut socket, subject.algorithm, &picks);
        origin.apply(&mut socket);
        let link = Link { rate_bps: rate_mbps * 1_000_000, base_rtt_us, buffer_pkts: 0, loss_ppm }
            .with_buffer_milli_bdp(buffer_milli);
        let first_packet = u64::from(origin.sequence / socket.tp().mss_cache);
        let mut flow = Flow::new(socket, link, 1);
        flow.set_first_packet(first_packet);
        flow.set_ack_every(ack_every);
        let mut window = Ok(());
        for sends in [true, false, true] {
            flow.set_application_sends(sends);
            flow.run_for_us(500_000, |flow| {
                if window.is_ok() {
                    window = has_window(&flow.socket);
                }
            });
        }
        window.map_err(TestCaseError::fail)?;
        prop_assert!(flow.stats().delivered_pkts > 0, "no packet arrived in 1.5 s");
        Ok(())
    })
}

/// The same path twice, once with every counter about to wrap: the flow must not notice.
fn wraps_are_not_noticed(subject: &Subject<'_>) -> Result<(), String> {
    const SECONDS: u64 = 6;
    let run = |wraps: bool| {
        let mut socket = (subject.socket)();
        // Both at a multiple of a jiffy, so that jiffies pass at the same moments.
        socket.set_time_us(1 << 33);
        if wraps {
            socket.set_time_us((1 << 33) - 3_000_000 - ((1 << 33) % 4000));
            let jiffies = socket.jiffies();
            socket.start_jiffies((u32::MAX - 500).wrapping_sub(jiffies));
            socket.tp_mut().delivered = u32::MAX - 3000;
            // As after the first ACK; a new socket's is the largest there is.
            socket.tp_mut().app_limited = 0;
            socket.tp_mut().lost = u32::MAX - 5;
        } else {
            socket.set_time_us((1 << 33) + 10_000_000 - ((1 << 33) % 4000));
        }
        let mut flow = Flow::new(socket, link(BUFFER_MILLI_BDP), 1);
        if wraps {
            flow.set_first_packet(u64::from(u32::MAX / 1448) - 4000);
        }
        flow.run_for_us(SECONDS * 1_000_000, |_| {});
        flow.stats()
    };
    let (plain, wrapping) = (run(false), run(true));
    let (a, b) = (plain.delivered_pkts, wrapping.delivered_pkts);
    let alike = a.abs_diff(b) * 10 <= a && wrapping.timeouts <= plain.timeouts + 1;
    alike.then_some(()).ok_or_else(|| format!("{plain:?}, with counters that wrap {wrapping:?}"))
}

fn every_callback_survives_before_init(subject: &Subject<'_>) -> Result<(), String> {
    let mut socket = (subject.socket)();
    every_callback(&mut socket)?;
    socket.fail_storage(true);
    socket.init();
    every_callback(&mut socket)?;
    socket.fail_storage(false);
    socket.init();
    every_callback(&mut socket)?;
    socket.drop_storage();
    every_callback(&mut socket)?;
    socket.release();
    every_callback(&mut socket)
}

fn every_callback(socket: &mut Socket) -> Result<(), String> {
    for state in 0..5 {
        for sample in [RateSample::default(), RateSample::of(0, 0, 0), RateSample::of(0, 10, 40_000)] {
            socket.cong_control(0, 0, &sample);
            has_window(socket)?;
        }
        socket.cong_avoid(0, 1);
        for rtt_us in [0, -1] {
            socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us, in_flight: 0 });
        }
        socket.set_state(state);
        for event in 0..6 {
            socket.cwnd_event(event);
        }
        socket.in_ack_event(7);
        has_window(socket)?;
        let (ssthresh, undo) = (socket.ssthresh(), socket.undo_cwnd());
        if ssthresh < 2 || undo == 0 {
            return Err(format!(
                "expected an ssthresh of at least 2 and an undo_cwnd of at least 1, found {ssthresh} and {undo}"
            ));
        }
        answers(socket)?;
        has_window(socket)?;
    }
    Ok(())
}

/// One ACK for four packets: the window grows with packets, and nothing is taken for a standstill.
fn stretch_acks_do_not_stop_a_flow(subject: &Subject<'_>) -> Result<(), String> {
    let run = |ack_every| {
        let mut flow = Flow::new((subject.socket)(), link(BUFFER_MILLI_BDP), 1);
        flow.set_ack_every(ack_every);
        flow.run_for_us(10_000_000, |_| {});
        flow.stats().delivered_pkts
    };
    let (each, merged) = (run(1), run(4));
    (merged * 3 > each)
        .then_some(())
        .ok_or_else(|| format!("{merged} packets with one ACK for 4, {each} with an ACK for each"))
}

fn the_phase_has_a_name(subject: &Subject<'_>) -> Result<(), String> {
    let mut socket = (subject.socket)();
    socket.record(true);
    let mut flow = Flow::new(socket, link(BUFFER_MILLI_BDP), 1);
    let modes = subject.algorithm.modes;
    let mut nameless = None;
    flow.run_for_us(3_000_000, |flow| {
        let mode = flow.socket.trace().map(|trace| trace.mode);
        nameless = nameless.or(mode.filter(|mode| *mode as usize >= modes.len()));
    });
    nameless.map_or(Ok(()), |mode| Err(format!("cca_trace.mode is {mode}, and CC_MODES has {modes:?}")))
}

/// 50 Mbit/s and 40 ms with a buffer in thousandths of the bandwidth-delay product.
#[must_use]
pub fn link(buffer_milli_bdp: u64) -> Link {
    Link { rate_bps: 50_000_000, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm: 0 }
        .with_buffer_milli_bdp(buffer_milli_bdp)
}
