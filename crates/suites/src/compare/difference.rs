//! One figure, measured and printed.

use super::Printed;
use crate::results::Metric;
use ccactl_report::Estimate;
use serde::{Deserialize, Serialize, Serializer};

/// A measured figure with what a paper prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compared {
    /// What it is.
    pub metric: Metric,
    /// Over the valid runs; none when there is none.
    pub measured: Option<Estimate>,
    /// None where the paper prints nothing.
    pub printed: Option<Printed>,
}

/// Measured minus printed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// In the unit of the metric.
    pub absolute: f64,
    /// As a share of the printed figure; none when that is zero.
    pub relative: Option<f64>,
}

/// So many runs say how far single ones are apart; printed figures are single runs.
pub const ENOUGH_RUNS: u64 = 5;

/// What a reader is told about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Within what is expected of a reproduction.
    Near,
    /// Beyond it.
    Off,
    /// The print cannot be right, so nothing is expected.
    FaultyPrint,
}

impl Compared {
    /// None where either figure is missing.
    #[must_use]
    pub fn difference(&self) -> Option<Difference> {
        let (measured, printed) = (self.measured?.mean, self.printed?.value);
        let absolute = measured - printed;
        Some(Difference { absolute, relative: (printed != 0.0).then(|| absolute / printed.abs()) })
    }

    /// Near is what is within the tolerance of the metric, or what a single run might have given: inside the central 95 % of
    /// single runs, where there are [`ENOUGH_RUNS`] to tell. None where there is no difference to judge.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        if self.printed?.fault.is_some() {
            return Some(Mark::FaultyPrint);
        }
        let difference = self.difference()?;
        let measured = self.measured?;
        let by_chance = measured.single95().filter(|_| measured.n >= ENOUGH_RUNS);
        if by_chance.is_some_and(|half| difference.absolute.abs() <= half) {
            return Some(Mark::Near);
        }
        // Against a printed zero only zero is near, as far as the print's digits tell.
        let off = match difference.relative {
            Some(relative) => relative.abs() > self.metric.tolerance(),
            None => self.metric.text(difference.absolute.abs()).parse::<f64>().is_ok_and(|shown| shown > 0.0),
        };
        Some(if off { Mark::Off } else { Mark::Near })
    }

    /// `45.48 ± 0.31`
    #[must_use]
    pub fn measured_text(&self) -> Option<String> {
        let Estimate { mean, sd, .. } = self.measured?;
        let mean = self.metric.text(mean);
        Some(match sd {
            Some(sd) => format!("{mean} ± {}", self.metric.text(sd)),
            None => mean,
        })
    }

    /// The printed figure with the digits of the print.
    #[must_use]
    pub fn printed_text(&self) -> Option<String> {
        Some(self.printed?.text.to_owned())
    }

    /// `-0.0 %`; `+3` where the print is zero.
    #[must_use]
    pub fn difference_share_text(&self) -> Option<String> {
        let relative = self.difference()?.relative;
        relative.map_or_else(|| self.difference_text(), |relative| Some(format!("{:+.1} %", relative * 100.0)))
    }

    /// `-0.02 (-0.0 %)`; `+3` where the print is zero.
    #[must_use]
    pub fn difference_text(&self) -> Option<String> {
        let Difference { absolute, relative } = self.difference()?;
        let absolute = format!("{absolute:+.*}", self.metric.unit().decimals);
        Some(match relative {
            Some(relative) => format!("{absolute} ({:+.1} %)", relative * 100.0),
            None => absolute,
        })
    }
}

impl Serialize for Compared {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields {
            metric: &'static str,
            unit: &'static str,
            measured: Option<Estimate>,
            printed: Option<f64>,
            fault_of_print: Option<&'static str>,
            evidence_for: Option<&'static str>,
            difference: Option<f64>,
            difference_share: Option<f64>,
            mark: Option<Mark>,
        }
        let difference = self.difference();
        let fields = Fields {
            metric: self.metric.heading(),
            unit: self.metric.unit().name,
            measured: self.measured,
            printed: self.printed.map(|printed| printed.value),
            fault_of_print: self.printed.and_then(|printed| printed.fault),
            evidence_for: self.printed.and_then(|printed| printed.evidence),
            difference: difference.map(|difference| difference.absolute),
            difference_share: difference.and_then(|difference| difference.relative),
            mark: self.mark(),
        };
        fields.serialize(serializer)
    }
}
