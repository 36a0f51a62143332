//! BBRv2 and F-BBRv2 under arbitrary input: no undefined behaviour (the checked build traps), never a window or a rate of
//! zero, bounds in their order. Over the scripted path they have the figures that the model promises.

use ccactl_native::path::{Flow, Link, Stats};
use ccactl_native::{RateSample, Socket};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Ack(RateSample, u32, u32),
    State(u8),
    Event(u32),
    Ssthresh,
    Undo,
    Wait(u64),
    Socket { cwnd: u32, packets_out: u32, app_limited: u32, srtt_us: u32, cwnd_limited: bool },
    Reinit,
}

fn any_sample() -> impl Strategy<Value = RateSample> {
    let small = 0..2000_u32;
    (
        (any::<bool>(), prop_oneof![small.clone(), any::<u32>()], -1..5000_i32, -1..5000_i32),
        (prop_oneof![-1..1_000_000_i64, any::<i64>()], prop_oneof![-1..1_000_000_i64, any::<i64>()]),
        (0..100_i32, 0..100_u32, prop_oneof![small, any::<u32>()], any::<bool>(), any::<bool>()),
    )
        .prop_map(|((stamp, prior_delivered, delivered, delivered_ce), (interval_us, rtt_us), rest)| RateSample {
            prior_mstamp: u64::from(stamp),
            prior_delivered,
            delivered,
            delivered_ce,
            interval_us,
            rtt_us,
            losses: rest.0,
            acked_sacked: rest.1,
            prior_in_flight: rest.2,
            is_app_limited: rest.3,
            is_ack_delayed: rest.4,
            ..RateSample::default()
        })
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (any_sample(), 0..100_u32, 0..20_u32).prop_map(|(s, acked, lost)| Step::Ack(s, acked, lost)),
        1 => (0..5_u8).prop_map(Step::State),
        1 => (0..6_u32).prop_map(Step::Event),
        1 => Just(Step::Ssthresh),
        1 => Just(Step::Undo),
        3 => prop_oneof![0..100_000_u64, 0..20_000_000_u64].prop_map(Step::Wait),
        2 => (1..200_000_u32, 0..200_000_u32, 0..3_u32, any::<u32>(), any::<bool>()).prop_map(
            |(cwnd, packets_out, app_limited, srtt_us, cwnd_limited)| Step::Socket {
                cwnd,
                packets_out,
                app_limited,
                srtt_us,
                cwnd_limited,
            }
        ),
        1 => Just(Step::Reinit),
    ]
}

fn apply(socket: &mut Socket, step: Step) {
    match step {
        Step::Ack(sample, acked, lost) => {
            let tp = socket.tp_mut();
            tp.delivered = tp.delivered.wrapping_add(acked);
            tp.lost = tp.lost.wrapping_add(lost);
            tp.delivered_mstamp = tp.tcp_mstamp;
            socket.cong_control(0, 0, &sample);
            let trace = socket.trace().expect("initialised");
            assert!(trace.mode <= 6, "{trace:?}");
            assert!(trace.bw_bps <= trace.bw_hi_bps, "{trace:?}");
            let cap =
                if trace.mode == 2 || trace.mode == 4 || trace.mode == 5 { trace.inflight_hi_pkts } else { u32::MAX };
            assert!(socket.cwnd() <= cap.max(4), "cwnd {} {trace:?}", socket.cwnd());
            assert!(socket.cwnd() <= trace.inflight_lo_pkts.max(4), "cwnd {} {trace:?}", socket.cwnd());
        }
        Step::State(state) => socket.set_state(state),
        Step::Event(event) => socket.cwnd_event(event),
        Step::Ssthresh => {
            socket.ssthresh();
        }
        Step::Undo => {
            let cwnd = socket.undo_cwnd();
            assert!(cwnd > 0);
            socket.tp_mut().snd_cwnd = cwnd;
        }
        Step::Wait(us) => socket.advance_us(us),
        Step::Socket { cwnd, packets_out, app_limited, srtt_us, cwnd_limited } => {
            let tp = socket.tp_mut();
            tp.snd_cwnd = cwnd;
            tp.packets_out = packets_out;
            tp.app_limited = app_limited;
            tp.srtt_us = srtt_us;
            tp.set_cwnd_limited(cwnd_limited);
        }
        Step::Reinit => {
            socket.release();
            socket.init();
        }
    }
    assert!(socket.cwnd() > 0);
    assert!(socket.pacing_rate() > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_order_of_callbacks_is_survived(
        algorithm in prop_oneof![Just("bbrv2"), Just("f-bbrv2")],
        ecn in 0..2_i64,
        tlp in 0..2_i64,
        steps in prop::collection::vec(any_step(), 1..300),
    ) {
        let mut socket = Socket::checked(algorithm).expect("exists");
        socket.set_tunable("ecn_enable", ecn).expect("exists");
        socket.set_tunable("tlp_is_loss", tlp).expect("exists");
        socket.record(true);
        socket.init();
        for step in steps {
            apply(&mut socket, step);
        }
    }

    #[test]
    fn any_accepted_tunables_are_survived(
        seed in any::<u64>(),
        choices in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8), 1..6),
    ) {
        let row = ccactl_abi::Algorithm::by_name("f-bbrv2").expect("exists");
        let mut socket = Socket::checked("f-bbrv2").expect("exists");
        for (index, choice) in choices {
            let tunable = index.get(row.tunables);
            let raw = [tunable.min_raw, tunable.default_raw, tunable.max_raw][usize::from(choice)];
            socket.set_tunable(tunable.name, raw).expect("the variable holds every accepted value");
        }
        socket.record(true);
        let link = Link { rate_bps: 20_000_000, base_rtt_us: 20_000, buffer_pkts: 30, loss_ppm: 2000 };
        let mut flow = Flow::new(socket, link, seed);
        flow.run_for_us(3_000_000, |flow| assert!(flow.socket.cwnd() > 0 && flow.socket.pacing_rate() > 0));
        prop_assert!(flow.stats().delivered_pkts > 0);
    }
}

const RATE_BPS: u64 = 50_000_000;
const SECONDS: u64 = 30;

struct Run {
    stats: Stats,
    /// Start of every stay in a phase: phase, time in µs.
    phases: Vec<(u32, u64)>,
}

impl Run {
    fn of(algorithm: &str, buffer_milli_bdp: u64, loss_ppm: u32) -> Run {
        let link = Link { rate_bps: RATE_BPS, base_rtt_us: 40_000, buffer_pkts: 0, loss_ppm }
            .with_buffer_milli_bdp(buffer_milli_bdp);
        let mut socket = Socket::new(algorithm).expect("exists");
        socket.record(true);
        let mut flow = Flow::new(socket, link, 1);
        let start_us = flow.socket.time_us();
        let mut phases: Vec<(u32, u64)> = Vec::new();
        flow.run_for_us(SECONDS * 1_000_000, |flow| {
            let mode = flow.socket.trace().expect("recording").mode;
            if phases.last().is_none_or(|&(last, _)| last != mode) {
                phases.push((mode, flow.socket.time_us() - start_us));
            }
        });
        Run { stats: flow.stats(), phases }
    }

    /// Share of the link that was used, in percent.
    fn utilisation(&self) -> u64 {
        self.stats.delivered_pkts * 1500 * 8 * 100 / (RATE_BPS * SECONDS)
    }
}

#[test]
fn alone_on_the_link_both_use_it_and_keep_the_queue_short() {
    for algorithm in ["bbrv2", "f-bbrv2"] {
        let run = Run::of(algorithm, 4000, 0);
        assert!(run.utilisation() >= 97, "{algorithm}: {} %", run.utilisation());
        assert_eq!(run.stats.lost_pkts, 0, "{algorithm}");
        // A Cubic flow would fill the buffer: 200 ms.
        assert!(run.stats.mean_rtt_us() < 45_000, "{algorithm}: {} us", run.stats.mean_rtt_us());
    }
}

#[test]
fn a_probe_comes_every_two_to_three_seconds() {
    let run = Run::of("bbrv2", 4000, 0);
    let ups: Vec<u64> = run.phases.iter().filter(|(mode, _)| *mode == 5).map(|&(_, at)| at).collect();
    assert!(ups.len() >= 9, "{ups:?}");
    // DOWN starts the clock; UP and the round of REFILL before it add about 100 ms. PROBE_RTT starts a new wait.
    let probe_rtts: Vec<u64> = run.phases.iter().filter(|(mode, _)| *mode == 6).map(|&(_, at)| at).collect();
    for pair in ups.windows(2).filter(|pair| !probe_rtts.iter().any(|at| (pair[0]..pair[1]).contains(at))) {
        assert!((2_000_000..3_300_000).contains(&(pair[1] - pair[0])), "{pair:?}");
    }
}

#[test]
fn a_small_buffer_costs_two_percent_at_most_after_startup() {
    let run = Run::of("bbrv2", 500, 0);
    assert!(run.utilisation() >= 95, "{} %", run.utilisation());
    assert!(run.stats.lost_pkts * 100 <= run.stats.sent_pkts * 2, "{:?}", run.stats);
}

#[test]
fn half_a_percent_of_random_loss_costs_little() {
    let run = Run::of("bbrv2", 4000, 5000);
    assert!(run.utilisation() >= 80, "{} %", run.utilisation());
    assert_eq!(run.stats.timeouts, 0);
}
