//! The end of a canary, with every figure that led to it.

use crate::rollout::groups::{Group, Groups, Ignored};
use crate::rollout::metric::Metric;
use crate::rollout::share::Share;
use crate::rollout::verdict::{State, Verdict};
use ccactl_abi::exit;
use ccactl_loader::Counts;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Exit code of a canary that was promoted everywhere.
const DONE: u8 = 0;

/// What became of the canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every socket of the cgroup gets the algorithm.
    Promoted,
    /// Every socket has the baseline again.
    Reverted,
    /// Nothing was done, as somebody else had changed the policy.
    Superseded,
}

/// Why.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Cause {
    /// The watch is over, both groups were seen, and no guard held.
    NoGuardHeld,
    /// A guard held: at the end, or on several evaluations in a row before it.
    GuardHeld {
        /// Which.
        guard: String,
        /// Evaluations in a row.
        evaluations: u32,
        /// Whether that ended the watch before its time.
        early: bool,
    },
    /// The watch is over, but a group had seen too little for a guard to say anything.
    TooLittleData {
        /// What is missing.
        missing: String,
    },
    /// SIGINT or SIGTERM.
    Interrupted,
    /// The cgroup was swapped, rolled back or unloaded by somebody else.
    Superseded,
    /// The recorder ended before the watch did, so nothing could be seen any more.
    RecorderEnded {
        /// What it said.
        error: String,
    },
}

/// Figures of a group, in the units of their names; `null` is "not known".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// Kernel name.
    pub kernel_name: String,
    /// Flows that sent or had something acknowledged during the watch.
    pub flows: u64,
    /// Rows of the group.
    pub rows: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: u64,
    /// Payload retransmitted.
    pub retrans_bytes: u64,
    /// Payload acknowledged.
    pub acked_bytes: u64,
    /// Packets delivered.
    pub delivered_pkts: u64,
    /// Packets marked lost.
    pub lost_pkts: u64,
    /// Active time, summed over the flows.
    pub active_s: f64,
    /// RTT samples.
    pub rtt_samples: u64,
    /// Every metric, by name, in the unit of its dimension.
    pub metrics: BTreeMap<&'static str, Option<f64>>,
}

impl Figures {
    pub(crate) fn of(group: Group, kernel_name: &str, groups: &Groups) -> Figures {
        let tally = groups.tally(group);
        Figures {
            kernel_name: kernel_name.to_owned(),
            flows: tally.flows,
            rows: tally.rows,
            sent_bytes: tally.sent_bytes,
            retrans_bytes: tally.retrans_bytes,
            acked_bytes: tally.acked_bytes,
            delivered_pkts: tally.delivered_pkts,
            lost_pkts: tally.lost_pkts,
            active_s: tally.active_ns as f64 / 1e9,
            rtt_samples: tally.rtt.samples(),
            metrics: Metric::ALL.into_iter().map(|metric| (metric.name(), metric.of(tally))).collect(),
        }
    }
}

/// How the sockets were moved, at the start of a canary or at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Moves {
    /// What became of them.
    #[serde(flatten)]
    pub counts: Counts,
    /// Whether all of them have what they are to have.
    pub complete: bool,
}

/// The recording that the figures come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// Parquet file, if it could be made.
    pub path: Option<PathBuf>,
    /// A socket was sampled at most once in this time, µs.
    pub interval_us: u64,
    /// Rows in it; some are from before the watch.
    pub rows: u64,
    /// Rows lost because the ring buffer was full.
    pub drops_ring_full: u64,
    /// Rows lost because the kernel had no memory for a socket's state.
    pub drops_no_storage: u64,
}

/// The end of a canary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What became of it.
    pub outcome: Outcome,
    /// Why.
    pub cause: Cause,
    /// As the user wrote it: `f-bbrv2`.
    pub algorithm: String,
    /// cgroup, as in `/proc/PID/cgroup`.
    pub cgroup: String,
    /// The kernel's id of it.
    pub cgroup_id: u64,
    /// Share of the sockets that the canary got.
    pub share: Share,
    /// Wall clock of the start of the canary, RFC 3339 in UTC.
    pub started: String,
    /// Time after the start that does not count, s.
    pub settle_s: f64,
    /// How long to watch, as asked, s.
    pub watch_s: f64,
    /// How long it was watched, s.
    pub watched_s: f64,
    /// Fewest active flows per group, as asked.
    pub min_flows: u64,
    /// Every guard with the figures that it compared.
    pub guards: Vec<Verdict>,
    /// Figures of the canary.
    pub canary: Figures,
    /// Figures of the baseline.
    pub baseline: Figures,
    /// Rows that belong to neither.
    pub ignored: Ignored,
    /// The move into the canary.
    pub start: Moves,
    /// The move out of it, to all sockets or to none.
    pub end: Option<Moves>,
    /// The recording.
    pub recording: Recording,
    /// Where this decision is stored.
    pub stored: PathBuf,
    /// What went wrong on the side: the recording or this decision could not be kept.
    pub problems: Vec<String>,
}

impl Decision {
    /// Exit code of the binary (`ccactl_abi::exit`): a canary that was taken back has missed a threshold.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let is_complete = self.end.as_ref().is_none_or(|end| end.complete);
        match (self.outcome, &self.cause) {
            (_, Cause::Interrupted) => exit::INTERRUPTED,
            (Outcome::Superseded, _) | (_, Cause::RecorderEnded { .. }) => exit::FAILURE,
            (Outcome::Promoted, _) if is_complete => DONE,
            (Outcome::Promoted, _) => exit::SOCKETS,
            (Outcome::Reverted, _) => exit::THRESHOLD,
        }
    }

    /// One line for a person.
    #[must_use]
    pub fn reason(&self) -> String {
        self.cause.to_string()
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::NoGuardHeld => f.write_str("no guard held"),
            Cause::GuardHeld { guard, evaluations, early: true } => {
                write!(f, "'{guard}' held on {evaluations} evaluations in a row")
            }
            Cause::GuardHeld { guard, early: false, .. } => write!(f, "'{guard}' held at the end of the watch"),
            Cause::TooLittleData { missing } => write!(f, "too little was seen to decide: {missing}"),
            Cause::Interrupted => f.write_str("interrupted by a signal"),
            Cause::Superseded => f.write_str("somebody else changed the policy of the cgroup meanwhile"),
            Cause::RecorderEnded { error } => write!(f, "the recorder ended: {error}"),
        }
    }
}

/// What the guards say at the end of the watch. Not to know is no reason to go on: silence takes the canary back.
#[must_use]
pub(crate) fn at_the_end(verdicts: &[Verdict]) -> Cause {
    if let Some(held) = verdicts.iter().find(|verdict| verdict.state == State::Holds) {
        return Cause::GuardHeld { guard: held.guard.to_string(), evaluations: held.held, early: false };
    }
    match verdicts.iter().find(|verdict| verdict.state == State::TooLittleData) {
        Some(silent) => Cause::TooLittleData { missing: silent.note.clone().unwrap_or_default() },
        None => Cause::NoGuardHeld,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(state: State, held: u32) -> Verdict {
        let guard: crate::rollout::guard::Guard = "p95_rtt > 2 * baseline".parse().unwrap();
        let note = (state == State::TooLittleData).then(|| "little".to_owned());
        Verdict {
            guard,
            metric: guard.metric,
            unit: "us",
            canary: Some(1.0),
            baseline: Some(1.0),
            threshold: Some(2.0),
            chance: None,
            state,
            held,
            note,
        }
    }

    #[test]
    fn at_the_end_a_guard_that_holds_comes_first_and_silence_is_no_consent() {
        let (clear, silent, held) =
            (verdict(State::Clear, 0), verdict(State::TooLittleData, 0), verdict(State::Holds, 2));
        let guard = "p95_rtt > 2 * baseline".to_owned();
        let missing = "little".to_owned();
        assert_eq!(at_the_end(&[clear.clone(), verdict(State::Unproven, 0)]), Cause::NoGuardHeld);
        assert_eq!(at_the_end(&[clear.clone(), silent.clone()]), Cause::TooLittleData { missing });
        let expected = Cause::GuardHeld { guard, evaluations: 2, early: false };
        assert_eq!(at_the_end(&[clear, silent, held]), expected);
    }

    fn decision(outcome: Outcome, cause: Cause, complete: bool) -> Decision {
        let figures = Figures {
            kernel_name: "new".to_owned(),
            flows: 0,
            rows: 0,
            sent_bytes: 0,
            retrans_bytes: 0,
            acked_bytes: 0,
            delivered_pkts: 0,
            lost_pkts: 0,
            active_s: 0.0,
            rtt_samples: 0,
            metrics: BTreeMap::new(),
        };
        Decision {
            outcome,
            cause,
            algorithm: "cubic".to_owned(),
            cgroup: "/web".to_owned(),
            cgroup_id: 42,
            share: "10%".parse().unwrap(),
            started: String::new(),
            settle_s: 1.0,
            watch_s: 60.0,
            watched_s: 60.0,
            min_flows: 5,
            guards: vec![verdict(State::Holds, 5)],
            canary: figures.clone(),
            baseline: figures,
            ignored: Ignored::default(),
            start: Moves::default(),
            end: Some(Moves { complete, ..Moves::default() }),
            recording: Recording { path: None, interval_us: 1, rows: 0, drops_ring_full: 0, drops_no_storage: 0 },
            stored: PathBuf::new(),
            problems: Vec::new(),
        }
    }

    #[test]
    fn the_exit_code_tells_a_script_what_became_of_the_canary() {
        let held = || Cause::GuardHeld { guard: String::new(), evaluations: 5, early: true };
        let ended = || Cause::RecorderEnded { error: String::new() };
        for (outcome, cause, complete, code) in [
            (Outcome::Promoted, Cause::NoGuardHeld, true, 0),
            (Outcome::Promoted, Cause::NoGuardHeld, false, 5),
            (Outcome::Reverted, held(), true, 6),
            (Outcome::Reverted, Cause::TooLittleData { missing: String::new() }, true, 6),
            (Outcome::Reverted, ended(), true, 1),
            (Outcome::Reverted, Cause::Interrupted, true, 130),
            (Outcome::Superseded, Cause::Superseded, true, 1),
        ] {
            assert_eq!(decision(outcome, cause.clone(), complete).exit_code(), code, "{outcome:?} {cause:?}");
        }
    }

    #[test]
    fn in_json_a_decision_reads_like_its_documentation() {
        let cause = Cause::GuardHeld { guard: "p95_rtt > 2 * baseline".to_owned(), evaluations: 5, early: true };
        let json = serde_json::to_value(decision(Outcome::Reverted, cause, true)).unwrap();
        assert_eq!(json["outcome"], "reverted");
        assert_eq!(json["cause"]["kind"], "guard-held");
        assert_eq!(json["guards"][0]["guard"], "p95_rtt > 2 * baseline");
        assert_eq!((&json["guards"][0]["metric"], &json["guards"][0]["state"]), (&"p95_rtt".into(), &"holds".into()));
        assert_eq!(json["guards"][0]["unit"], "us");
        assert!((json["share"].as_f64().unwrap() - 0.1).abs() < 1e-5);
    }
}
