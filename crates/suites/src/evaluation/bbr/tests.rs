//! Each check with a run that it takes and one that it does not.

use super::cases::CASES;
use super::finding::Finding;
use super::trace::{Sample, Trace, phase};

const RTT_S: f64 = 0.04;
const RATE_BPS: f64 = 20e6;
const PAYLOAD_BPS: f64 = RATE_BPS * 1448.0 / 1514.0;
/// Packets of 1448 bytes in a round trip.
const BDP: f64 = PAYLOAD_BPS * RTT_S / 8.0 / 1448.0;

/// A run by phases, sampled every 10 ms.
#[derive(Clone)]
struct Run {
    trace: Trace,
    state: Sample,
}

impl Run {
    /// Of a flow that fills the link.
    fn new() -> Run {
        let state = Sample {
            t_s: 0.0,
            ca_state: "open".to_owned(),
            cwnd_pkts: 3.0 * BDP,
            inflight_pkts: BDP,
            mss_bytes: 1448.0,
            rtt_us: RTT_S * 1e6,
            bw_bps: PAYLOAD_BPS,
            max_bw_bps: PAYLOAD_BPS,
            min_rtt_us: RTT_S * 1e6,
            pacing_gain: 1.0,
            ..Sample::default()
        };
        Run { trace: Trace { rate_bps: RATE_BPS, ..Trace::default() }, state }
    }

    /// Changes what later samples have.
    fn set(mut self, change: impl Fn(&mut Sample)) -> Run {
        change(&mut self.state);
        self
    }

    /// Stays in a phase for so long.
    fn stay(mut self, name: &str, length_s: f64) -> Run {
        self.state.phase = name.to_owned();
        for _ in 0..(length_s / 0.01).round() as usize {
            self.trace.samples.push(self.state.clone());
            self.state.t_s += 0.01;
            self.state.bytes_acked += PAYLOAD_BPS / 8.0 * 0.01;
        }
        self
    }

    fn steps(mut self, steps: &[(f64, f64)]) -> Run {
        self.trace.rate_steps = steps.to_vec();
        self
    }

    fn lose(self, packets: f64) -> Run {
        self.set(|of| of.lost_pkts += packets)
    }

    /// The usual course from the start to CRUISE.
    fn begun() -> Run {
        Run::new()
            .stay(phase::STARTUP, 0.16)
            .set(|of| of.pacing_gain = 0.5)
            .stay(phase::DRAIN, 0.05)
            .set(|of| of.pacing_gain = 0.9)
            .stay(phase::DOWN, 0.1)
            .set(|of| of.pacing_gain = 1.0)
            .stay(phase::CRUISE, 1.0)
    }
}

/// A run that the case takes, and one that it does not.
fn worlds(number: &str) -> (Run, Run) {
    let limited = |of: &mut Sample| of.app_limited = true;
    match number {
        "A.1" => (
            Run::begun(),
            Run::new().set(|of| of.max_bw_bps *= 1.05).stay(phase::STARTUP, 0.16).stay(phase::DRAIN, 1.0),
        ),
        "A.2" => {
            let startup = Run::new().set(limited).stay(phase::STARTUP, 1.0).lose(20.0);
            (startup.clone().stay(phase::DRAIN, 0.1), startup.stay(phase::STARTUP, 9.0))
        }
        "A.3" => (
            Run::begun(),
            Run::new()
                .stay(phase::STARTUP, 0.1)
                .set(|of| of.pacing_gain = 0.347)
                .stay(phase::DRAIN, 0.1)
                .stay(phase::DOWN, 1.0),
        ),
        "A.4" => {
            let full = Run::new().stay(phase::STARTUP, 0.1).set(|of| of.inflight_pkts = 2.0 * BDP);
            let drain = |length| full.clone().stay(phase::DRAIN, length).stay(phase::DOWN, 1.0);
            (drain(0.15), drain(1.5))
        }
        "A.5" => (
            Run::begun().stay(phase::UP, 0.16).stay(phase::DOWN, 0.1),
            Run::begun().stay(phase::UP, 0.03).stay(phase::DOWN, 0.1),
        ),
        "A.6" => {
            let up = Run::begun().set(limited).stay(phase::UP, 1.0).lose(3.0).stay(phase::UP, 0.04);
            let bound = |of: &mut Sample| of.inflight_hi_pkts = Some(BDP);
            (up.clone().set(bound).stay(phase::DOWN, 0.5), up.stay(phase::UP, 2.0).set(bound).stay(phase::DOWN, 0.5))
        }
        "A.7" => {
            let startup = Run::new().set(limited).stay(phase::STARTUP, 5.0);
            (startup.clone(), startup.stay(phase::DRAIN, 0.1))
        }
        "A.8" => (
            Run::begun(),
            Run::new()
                .set(|of| of.pacing_gain = 0.9)
                .stay(phase::DOWN, 0.1)
                .set(|of| of.inflight_pkts = 2.0 * BDP)
                .stay(phase::CRUISE, 1.0),
        ),
        "A.9" => {
            let down = |length| Run::begun().stay(phase::DOWN, length).stay(phase::REFILL, 0.1);
            (down(2.5), down(0.3))
        }
        "A.10" => {
            let probe = |run: Run, length| {
                let run = run.set(|of| of.cwnd_pkts = 0.5 * BDP).stay(phase::PROBE_RTT, length);
                run.set(|of| of.cwnd_pkts = 3.0 * BDP).stay(phase::CRUISE, 5.0)
            };
            (probe(probe(Run::begun(), 0.25), 0.25), probe(Run::begun(), 0.1))
        }
        "A.11" => {
            let paused = Run::begun().set(|of| of.t_s += 7.0);
            (paused.clone().stay(phase::CRUISE, 1.0), paused.stay(phase::PROBE_RTT, 0.2).stay(phase::CRUISE, 1.0))
        }
        "A.12" => {
            (Run::begun(), Run::new().set(|of| of.max_bw_bps *= 0.5).stay(phase::STARTUP, 0.2).stay(phase::DRAIN, 0.1))
        }
        "A.13" => (
            Run::begun().stay(phase::CRUISE, 10.0),
            Run::begun().set(|of| of.cwnd_pkts = BDP).stay(phase::CRUISE, 10.0),
        ),
        "A.14" => (
            Run::begun().stay(phase::CRUISE, 10.0),
            Run::begun().stay(phase::CRUISE, 10.0).set(|of| of.cwnd_pkts = 3.0).stay(phase::CRUISE, 0.1),
        ),
        "A.15" => {
            let slow = Run::new().set(|of| of.max_bw_bps /= 10.0).stay(phase::CRUISE, 10.0).steps(&[(10.0, RATE_BPS)]);
            let found = slow.clone().stay(phase::UP, 0.4).set(|of| of.max_bw_bps *= 10.0).stay(phase::UP, 1.0);
            (found, slow.stay(phase::UP, 5.0))
        }
        "A.16" => {
            let fast = Run::new().stay(phase::CRUISE, 10.0).steps(&[(10.0, RATE_BPS / 10.0)]);
            let short = fast.clone().stay(phase::CRUISE, 0.1).set(|of| of.bw_lo_bps = Some(PAYLOAD_BPS / 10.0));
            let short = short.stay(phase::REFILL, 0.1).stay(phase::UP, 1.0);
            (short.set(|of| of.max_bw_bps /= 10.0).stay(phase::DOWN, 2.0), fast.stay(phase::CRUISE, 10.0))
        }
        "A.17" => {
            let bounded = Run::begun().set(|of| of.inflight_lo_pkts = Some(BDP)).stay(phase::CRUISE, 5.0);
            (
                bounded.clone().stay(phase::CRUISE, 5.0),
                bounded.stay(phase::CRUISE, 4.0).lose(2000.0).stay(phase::CRUISE, 1.0),
            )
        }
        "A.18" => {
            let recovery = |of: &mut Sample| of.ca_state = "recovery".to_owned();
            let open = |of: &mut Sample| of.ca_state = "open".to_owned();
            let begun = Run::begun().set(recovery).stay(phase::CRUISE, 0.1).set(open).stay(phase::CRUISE, 5.0);
            let cut = |of: &mut Sample| of.inflight_hi_pkts = Some(BDP / 2.0);
            (begun.clone().stay(phase::CRUISE, 5.0), begun.set(cut).stay(phase::CRUISE, 5.0))
        }
        "A.19" => {
            let bound = |of: &mut Sample| of.inflight_hi_pkts = Some(2.0 * BDP);
            let timeout = Run::begun().set(bound).stay(phase::CRUISE, 3.0).set(|of| of.rto_count += 1.0);
            let cut = |of: &mut Sample| of.inflight_hi_pkts = Some(BDP);
            (timeout.clone().stay(phase::CRUISE, 5.0), timeout.set(cut).stay(phase::CRUISE, 5.0))
        }
        "A.20" => {
            let probe = Run::new().stay(phase::STARTUP, 5.0).stay(phase::PROBE_RTT, 0.3);
            (probe.clone().stay(phase::STARTUP, 1.0), probe.stay(phase::CRUISE, 1.0))
        }
        "A.21" => {
            let bound = |to: f64| move |of: &mut Sample| of.inflight_hi_pkts = Some(to * BDP);
            let up = Run::begun().set(bound(1.5)).stay(phase::UP, 0.1).lose(3.0).stay(phase::UP, 0.04);
            (up.clone().set(bound(1.0)).stay(phase::DOWN, 0.5), up.stay(phase::DOWN, 0.5))
        }
        "A.22" => {
            let refill = Run::begun().set(limited).stay(phase::REFILL, 0.05);
            (refill.clone().stay(phase::UP, 0.2), refill.set(|of| of.max_bw_bps *= 0.5).stay(phase::UP, 0.2))
        }
        other => panic!("no world for {other}"),
    }
}

#[test]
fn every_case_can_hold_and_can_fail() {
    for case in &CASES {
        let (good, bad) = worlds(case.number);
        let (held, failed) = ((case.check)(&good.trace), (case.check)(&bad.trace));
        assert!(matches!(held, Finding::Holds(_)), "{}: {held:?}", case.number);
        assert!(matches!(failed, Finding::Fails(_)), "{}: {failed:?}", case.number);
    }
}

#[test]
fn of_an_algorithm_without_phases_nothing_is_said() {
    for case in &CASES {
        let found = (case.check)(&Trace::default());
        assert!(matches!(found, Finding::NotSeen(_)), "{}: {found:?}", case.number);
    }
}

#[test]
fn every_case_has_its_scenario_and_every_scenario_a_case() {
    let mut used: Vec<&str> = CASES.iter().map(|case| case.path).collect();
    used.sort_unstable();
    used.dedup();
    let paths = crate::evaluation::paths::BBR_PATHS.iter().map(|path| path.name);
    assert_eq!(used, paths.collect::<Vec<_>>());
    for (i, case) in CASES.iter().enumerate() {
        assert_eq!(case.number, format!("A.{}", i + 1));
    }
}
