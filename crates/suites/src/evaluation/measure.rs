//! The figures that rows are judged by.

use super::paths::is_subject;
use ccactl_report::{Measures, stats};
use ccactl_testbed::bench::{FlowResult, RunResult};
use serde::Serialize;

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Goodput of the algorithm's flows together.
    Goodput,
    /// Mean time that packets waited at the bottleneck.
    Queue,
    /// 99th percentile of that time.
    QueueP99,
    /// Share of the algorithm's packets that a queue dropped.
    Loss,
    /// Share of its bytes that it sent again.
    Wasted,
    /// Jain index of the goodputs of its flows.
    Jain,
    /// How near a flow that joins comes to its half of the link.
    LateShare,
    /// Mean completion time of its own short transfers.
    Completion,
    /// By how much it lessens what the others carry without it (Ware et al. 2019).
    GoodputHarm,
    /// By how much it lengthens the transfers of the others.
    CompletionHarm,
    /// Share of a call's packets that do not arrive.
    CallLoss,
}

/// Which figures are the better ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Large ones.
    More,
    /// Small ones.
    Less,
}

const MBIT: f64 = 1e6;
const MILLI: f64 = 1e3;
const PERCENT: f64 = 100.0;

/// The flow that joins.
const LATE: &str = "subject-late";

impl Measure {
    /// As in tables.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Measure::Goodput => "goodput",
            Measure::Queue => "standing queue, mean",
            Measure::QueueP99 => "queueing delay, 99th percentile",
            Measure::Loss => "packets dropped by the queue",
            Measure::Wasted => "bytes sent again",
            Measure::Jain => "Jain index",
            Measure::LateShare => "share of its half that a joining flow gets",
            Measure::Completion => "completion time, mean",
            Measure::GoodputHarm => "harm to the goodput of the others",
            Measure::CompletionHarm => "harm to the completion times of the others",
            Measure::CallLoss => "packets of the call that are lost",
        }
    }

    /// Its unit; empty for an index.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Measure::Goodput => "Mbit/s",
            Measure::Queue | Measure::QueueP99 | Measure::Completion => "ms",
            Measure::Jain => "",
            _ => "%",
        }
    }

    /// A value as tables print it.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        self.text_beside(value, value)
    }

    /// A value with as many decimals as `other` has: that of which it is the interval or the margin.
    #[must_use]
    pub fn text_beside(self, value: f64, other: f64) -> String {
        let decimals = match self {
            Measure::Jain => 3,
            Measure::Completion => 0,
            // On a slow link the second decimal is the last bit of difference that there is.
            Measure::Goodput if other.abs() < 1.0 => 3,
            Measure::Goodput | Measure::Loss | Measure::CallLoss => 2,
            _ => 1,
        };
        let text = format!("{value:.decimals$}");
        // Of what rounds to nothing, the sign says nothing.
        if text.trim_start_matches(['-', '0', '.']).is_empty() { text.trim_start_matches('-').to_owned() } else { text }
    }

    /// Which values are the better ones.
    #[must_use]
    pub fn way(self) -> Way {
        match self {
            Measure::Goodput | Measure::Jain | Measure::LateShare => Way::More,
            _ => Way::Less,
        }
    }

    /// Whether it is about what others lose.
    #[must_use]
    pub fn is_harm(self) -> bool {
        matches!(self, Measure::GoodputHarm | Measure::CompletionHarm)
    }

    /// By how much a figure may be worse than CUBIC's and still be as good, in [`Measure::unit`]: what two sets of runs of CUBIC may differ
    /// by and nobody would choose an algorithm for. docs/how-to/evaluate.md has them for readers.
    #[must_use]
    pub fn margin(self, cubic: f64) -> f64 {
        match self {
            Measure::Goodput => 0.05 * cubic,
            Measure::Queue | Measure::QueueP99 => (0.1 * cubic).max(2.0),
            Measure::Completion => 0.1 * cubic,
            Measure::Jain => 0.05,
            Measure::Loss | Measure::CallLoss => 0.5,
            Measure::Wasted => 2.0,
            Measure::LateShare | Measure::GoodputHarm | Measure::CompletionHarm => 5.0,
        }
    }

    /// Its value in a run of so many seconds, in [`Measure::unit`]. `alone` is what the others have without the algorithm.
    #[must_use]
    pub fn of(self, run: &RunResult, duration_s: f64, alone: Option<&Alone>) -> Option<f64> {
        match self {
            Measure::Goodput => Some(carried_bps(subjects(run), duration_s) / MBIT),
            Measure::Queue => Some(run.link.queue?.queueing.mean_us / MILLI),
            Measure::QueueP99 => Some(run.link.queue?.queueing.p99_us / MILLI),
            Measure::Loss => dropped_share(subjects(run)),
            Measure::Wasted => sent_again_share(subjects(run)),
            Measure::Jain => stats::jain(&subjects(run).map(goodput_of).collect::<Vec<_>>()),
            Measure::LateShare => {
                let late = run.flows.iter().find(|flow| flow.name == LATE)?;
                let share = goodput_of(late) / (run.link.rate_bps as f64 / 2.0) * PERCENT;
                // More than its half is as far from it.
                Some(share.min(2.0 * PERCENT - share))
            }
            Measure::Completion => completion_ms(subjects(run)),
            Measure::GoodputHarm => {
                let without = alone?.goodput_bps?;
                Some((1.0 - carried_bps(others(run), duration_s) / without) * PERCENT)
            }
            Measure::CompletionHarm => {
                let without = alone?.completion_ms?;
                // Transfers that never end take for ever.
                let beside = completion_ms(others(run)).unwrap_or(f64::INFINITY);
                Some((1.0 - without / beside) * PERCENT)
            }
            Measure::CallLoss => {
                let (sent, received) =
                    run.udp.iter().fold((0, 0), |(s, r), udp| (s + udp.sent_packets, r + udp.received_packets));
                (sent > 0).then(|| (1.0 - received as f64 / sent as f64) * PERCENT)
            }
        }
    }
}

/// What the others on a path have when the algorithm is not there: means over the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alone {
    goodput_bps: Option<f64>,
    completion_ms: Option<f64>,
}

impl Alone {
    /// Of runs without the algorithm.
    #[must_use]
    pub fn of(runs: &[RunResult], duration_s: f64) -> Alone {
        let mean = |value: &dyn Fn(&RunResult) -> Option<f64>| {
            ccactl_report::estimate(runs.iter().filter_map(value)).map(|estimate| estimate.mean)
        };
        Alone {
            goodput_bps: mean(&|run| Some(carried_bps(others(run), duration_s))).filter(|bps| *bps > 0.0),
            completion_ms: mean(&|run| completion_ms(others(run))),
        }
    }
}

fn subjects(run: &RunResult) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|flow| is_subject(&flow.name))
}

fn others(run: &RunResult) -> impl Iterator<Item = &FlowResult> {
    run.flows.iter().filter(|flow| !is_subject(&flow.name))
}

/// In its own time; a flow that sent nothing has none.
fn goodput_of(flow: &FlowResult) -> f64 {
    flow.metrics.as_ref().and_then(|metrics| metrics.goodput_bps).unwrap_or(0.0)
}

/// By flows that are one transfer each, over the whole run: what many short ones carry follows from their completion times.
fn carried_bps<'a>(flows: impl Iterator<Item = &'a FlowResult>, duration_s: f64) -> f64 {
    let acked = |flow: &FlowResult| flow.metrics.as_ref().map_or(0, |metrics| metrics.acked_bytes);
    flows.filter(|flow| flow.completion.is_none()).map(acked).sum::<u64>() as f64 * 8.0 / duration_s
}

/// Of the transfers that were complete before the end of the run; none when there is none.
fn completion_ms<'a>(mut flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    let completion = flows.find_map(|flow| flow.completion)?;
    Some(completion.mean_us? / MILLI)
}

fn dropped_share<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    let (offered, dropped) = flows.filter_map(|flow| flow.link).fold((0, 0), |(offered, dropped), link| {
        (offered + link.offered_packets, dropped + link.dropped_full_packets + link.dropped_early_packets)
    });
    (offered > 0).then(|| dropped as f64 / offered as f64 * PERCENT)
}

fn sent_again_share<'a>(flows: impl Iterator<Item = &'a FlowResult>) -> Option<f64> {
    let of = |metrics: &Measures| Some((metrics.sent_bytes as f64, metrics.retrans_ratio? * metrics.sent_bytes as f64));
    let (sent, again) = flows
        .filter_map(|flow| of(flow.metrics.as_ref()?))
        .fold((0.0, 0.0), |(sent, again), (s, a)| (sent + s, again + a));
    (sent > 0.0).then(|| again / sent * PERCENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_sign() {
        assert_eq!(Measure::GoodputHarm.text(-0.04), "0.0");
        assert_eq!(Measure::GoodputHarm.text(-0.06), "-0.1");
        assert_eq!(Measure::Jain.text(0.98765), "0.988");
        assert_eq!((Measure::Goodput.text(0.9432), Measure::Goodput.text(19.432)), ("0.943".into(), "19.43".into()));
        assert_eq!(Measure::Goodput.text_beside(0.0012, 19.4), "0.00");
    }

    #[test]
    fn a_margin_of_delay_is_at_least_two_milliseconds() {
        assert_eq!((Measure::Queue.margin(5.0), Measure::Queue.margin(80.0)), (2.0, 8.0));
        assert_eq!(Measure::Goodput.margin(20.0), 1.0);
    }
}
