//! What is looked for, as a number that is the larger, the worse an algorithm does.

use crate::document::{RIVAL, SUBJECT};
use ccactl_report::stats::jain;
use ccactl_scenario::Scenario;
use ccactl_testbed::Totals;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Of a full packet on the wire, what is not payload: Ethernet, IP, and TCP with time stamps.
const OVERHEAD_BYTES: u32 = 66;
/// Recovered is who uses so much of the link …
const RECOVERED_SHARE: f64 = 0.8;
/// … over so long, or four base RTTs.
const RECOVERED_S: f64 = 0.5;
const RECOVERED_RTTS: f64 = 4.0;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Objective {
    /// A link that is not used.
    Use,
    /// A queue that stands.
    Queue,
    /// Others that do not get their part.
    Starve,
    /// Flows that do not share evenly, whoever has more.
    Unfair,
    /// A link that is not used again after what has happened.
    Recover,
}

impl Objective {
    /// All of them.
    pub const ALL: [Objective; 5] =
        [Objective::Use, Objective::Queue, Objective::Starve, Objective::Unfair, Objective::Recover];

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Objective::Use => "use",
            Objective::Queue => "queue",
            Objective::Starve => "starve",
            Objective::Unfair => "unfair",
            Objective::Recover => "recover",
        }
    }

    /// What the number is, as tables have it.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Objective::Use => "part of the link that it leaves unused",
            Objective::Queue => "mean queueing delay, in base RTTs",
            Objective::Starve => "part of their half that the others miss",
            Objective::Unfair => "1 − Jain index of all flows",
            Objective::Recover => "time until the link is used again",
        }
    }

    /// Whether flows of another algorithm run beside it.
    #[must_use]
    pub fn has_rivals(self) -> bool {
        matches!(self, Objective::Starve | Objective::Unfair)
    }

    /// A number as people read it.
    #[must_use]
    pub fn text(self, badness: f64) -> String {
        match self {
            Objective::Use | Objective::Starve => format!("{:.1} %", badness * 100.0),
            Objective::Queue => format!("{badness:.2}"),
            Objective::Unfair => format!("{badness:.3}"),
            Objective::Recover => format!("{badness:.2} s"),
        }
    }

    /// How bad a run was.
    #[must_use]
    pub fn badness(self, scenario: &Scenario, totals: &Totals) -> f64 {
        match self {
            Objective::Use => 1.0 - part(received(scenario, totals, SUBJECT), left_over(scenario, totals, 0.0)),
            Objective::Queue => totals.queueing_mean_us / 1e6 / scenario.link.base_rtt.secs_f64(),
            Objective::Starve => {
                let half = left_over(scenario, totals, rival_start_s(scenario)) / 2.0;
                1.0 - part(received(scenario, totals, RIVAL), half)
            }
            Objective::Unfair => {
                let shares: Vec<f64> = totals.received_bytes.iter().map(|bytes| *bytes as f64).collect();
                // Of those who all have nothing, one has no more than another.
                1.0 - jain(&shares).unwrap_or(1.0)
            }
            Objective::Recover => recovery_s(scenario, &totals.sent_bps),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Objective {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Objective::ALL.map(Objective::name).join(", ");
        Objective::ALL.into_iter().find(|of| of.name() == text).ok_or_else(|| format!("expected one of {}", names()))
    }
}

fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { of / whole } else { 1.0 }
}

/// Bytes that flows whose names begin so have received.
fn received(scenario: &Scenario, totals: &Totals, begin: &str) -> f64 {
    let of = scenario.flows.iter().zip(&totals.received_bytes).filter(|(flow, _)| flow.name.starts_with(begin));
    of.map(|(_, bytes)| *bytes as f64).sum()
}

/// Payload that TCP could have brought over the link from a time on, beside what of UDP came through.
fn left_over(scenario: &Scenario, totals: &Totals, from_s: f64) -> f64 {
    let link = &scenario.link;
    let packet = link.frame_bytes() as f64;
    let udp: u64 = totals.udp_received_pkts.iter().sum();
    let whole = capacity_bits(scenario, from_s) / 8.0 - udp as f64 * packet;
    whole * (packet - f64::from(OVERHEAD_BYTES)) / packet
}

/// What the link could have carried from a time to the end.
fn capacity_bits(scenario: &Scenario, from_s: f64) -> f64 {
    let duration = scenario.duration;
    let until = |at_s: f64| {
        if at_s <= 0.0 {
            return 0.0;
        }
        let at = ccactl_scenario::units::Span { ns: (at_s * 1e9) as u64 };
        scenario.link.mean_rate_bps(at) * at_s
    };
    until(duration.secs_f64()) - until(from_s)
}

/// When the first of the rivals begins.
fn rival_start_s(scenario: &Scenario) -> f64 {
    let rivals = scenario.flows.iter().filter(|flow| flow.name.starts_with(RIVAL));
    rivals.map(|flow| flow.start.secs_f64()).fold(scenario.duration.secs_f64(), f64::min)
}

/// When the last change of the link and the last packet of UDP are over.
fn quiet_from_s(scenario: &Scenario) -> f64 {
    let link = &scenario.link;
    let rates = link.rate_steps.iter().map(|step| step.at);
    let rtts = link.base_rtt_steps.iter().map(|step| step.at);
    let bursts = scenario.udp.iter().map(|source| source.stop);
    rates.chain(rtts).chain(bursts).map(|span| span.secs_f64()).fold(0.0, f64::max)
}

/// From the end of what happens to the beginning of the first stretch in which the link is used; to the end of the run where there is
/// none.
fn recovery_s(scenario: &Scenario, sent_bps: &[u64]) -> f64 {
    let interval_s = Totals::interval_s();
    let quiet_s = quiet_from_s(scenario);
    let stretch_s = RECOVERED_S.max(RECOVERED_RTTS * scenario.link.base_rtt.secs_f64());
    let intervals = (stretch_s / interval_s).round() as usize;
    let quiet = (quiet_s / interval_s).round() as usize;
    let after = sent_bps.get(quiet..).unwrap_or_default();
    let enough = RECOVERED_SHARE * scenario.link.rate.bps as f64;
    let is_used = |of: &[u64]| of.iter().sum::<u64>() as f64 / of.len() as f64 >= enough;
    let first = after.windows(intervals.max(1)).position(is_used);
    first.map_or(after.len() as f64 * interval_s, |first| first as f64 * interval_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, Event, Kind};
    use crate::document::{Contestant, Setting};

    fn scenario(case: &Case, rival: bool) -> Scenario {
        let rival = rival.then(|| "reno".to_owned());
        Setting { name: "x".to_owned(), duration_ms: 10_000, rival }.scenario(case, &Contestant::plain("reno")).unwrap()
    }

    fn totals(received_bytes: &[u64], udp: &[u64]) -> Totals {
        Totals {
            received_bytes: received_bytes.to_vec(),
            udp_received_pkts: udp.to_vec(),
            queueing_mean_us: 80_000.0,
            sent_bps: Vec::new(),
        }
    }

    /// 12.112 Mbit/s: a thousand full packets per second.
    const VALUES: [u32; 8] = [12_112, 40, 100, 0, 0, 0, 4_000, 1];

    #[test]
    fn a_link_is_used_when_all_that_it_can_carry_arrives() {
        let dip = Event { at_ms: 1000, for_ms: 4000, kind: Kind::Rate, percent: 50 };
        let burst = Event { at_ms: 6000, for_ms: 1000, kind: Kind::Burst, percent: 100 };
        let case = Case::new(VALUES, vec![dip, burst]);
        let scenario = scenario(&case, false);
        // 10 000 packets, less 2 000 for the dip and 500 of UDP.
        let badness = |packets: u64| Objective::Use.badness(&scenario, &totals(&[packets * 1448], &[500]));
        assert!(badness(7500).abs() < 1e-9, "{}", badness(7500));
        assert!((badness(3750) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn rivals_starve_by_what_they_miss_of_half_since_they_began() {
        let case = Case::new(VALUES, Vec::new());
        let scenario = scenario(&case, true);
        let badness = |rival: u64| Objective::Starve.badness(&scenario, &totals(&[9_000_000, rival * 1448], &[]));
        assert!(badness(3000).abs() < 1e-9);
        assert!((badness(300) - 0.9).abs() < 1e-9);
        let unfair = Objective::Unfair.badness(&scenario, &totals(&[30, 10], &[]));
        assert!((unfair - 0.2).abs() < 1e-9);
        assert_eq!(Objective::Queue.badness(&scenario, &totals(&[0, 0], &[])), 2.0);
    }

    #[test]
    fn recovered_is_who_uses_the_link_for_half_a_second() {
        let case = Case::new(VALUES, vec![Event { at_ms: 1000, for_ms: 1000, kind: Kind::Rate, percent: 50 }]);
        let scenario = scenario(&case, false);
        let series = |used_from: usize| -> Vec<u64> {
            (0..1000).map(|at| if at >= used_from { 12_112_000 } else { 1_000_000 }).collect()
        };
        let recovery = |used_from| recovery_s(&scenario, &series(used_from));
        assert_eq!(recovery(0), 0.0);
        // The stretch may begin before the link is full, as long as its mean is.
        assert!((recovery(500) - 2.9).abs() < 0.021, "{}", recovery(500));
        assert_eq!(recovery(1000), 8.0, "never");
    }

    #[test]
    fn objectives_are_read_as_they_are_written() {
        for objective in Objective::ALL {
            assert_eq!(objective.to_string().parse(), Ok(objective));
        }
        assert!("speed".parse::<Objective>().unwrap_err().contains("starve"));
    }
}
