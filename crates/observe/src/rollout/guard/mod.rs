//! A guard: the condition on which a canary is taken back, such as `retransmit_rate > 2 * baseline + 0.1%`.

mod parse;

pub use crate::expression::Comparison;
pub use parse::GuardError;

use crate::rollout::metric::Metric;
use ccactl_host::units::dimension;
use serde::{Serialize, Serializer};
use std::fmt;

/// `METRIC COMPARISON FACTOR * baseline + OFFSET`.
///
/// ```
/// use ccactl_observe::rollout::{Guard, Metric};
///
/// let guard: Guard = "p95_rtt > 1.5 * baseline + 2ms".parse()?;
/// assert_eq!(guard.metric, Metric::P95Rtt);
/// assert_eq!(guard.threshold(Some(40_000.0)), Some(62_000.0)); // µs
/// assert_eq!(guard.holds(61_000.0, Some(40_000.0)), Some(false));
/// # Ok::<(), ccactl_observe::rollout::GuardError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard {
    /// What is compared.
    pub metric: Metric,
    /// How the canary's value is compared with the threshold.
    pub comparison: Comparison,
    /// Times the baseline's value; 0 when the guard does not mention the baseline.
    pub factor: f64,
    /// Added to that, in the unit of the metric's dimension.
    pub offset: f64,
}

impl Guard {
    /// What the canary's value is compared with; `None` when it needs the baseline's value and there is none.
    #[must_use]
    pub fn threshold(&self, baseline: Option<f64>) -> Option<f64> {
        if self.needs_baseline() { baseline.map(|value| self.factor * value + self.offset) } else { Some(self.offset) }
    }

    /// Whether the guard holds, that is, whether the canary is bad.
    #[must_use]
    pub fn holds(&self, canary: f64, baseline: Option<f64>) -> Option<bool> {
        self.threshold(baseline).map(|threshold| self.comparison.holds(canary, threshold))
    }

    /// Whether the threshold depends on the baseline.
    #[must_use]
    pub fn needs_baseline(&self) -> bool {
        self.factor != 0.0
    }
}

/// In a form that is read back as the same guard.
impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.metric, self.comparison.sign())?;
        let offset = dimension::written(self.metric.dimension(), self.offset);
        match (self.needs_baseline(), self.offset != 0.0) {
            (true, false) => write!(f, "{} * baseline", self.factor),
            (true, true) => write!(f, "{} * baseline + {offset}", self.factor),
            (false, _) => f.write_str(&offset),
        }
    }
}

impl Serialize for Guard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
