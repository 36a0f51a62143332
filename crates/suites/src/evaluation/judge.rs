//! Whether an algorithm's figure is as good as CUBIC's.

use super::measure::{Measure, Way};
use ccactl_report::Estimate;
use serde::Serialize;

/// What can be said of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better than CUBIC, by more than the margin.
    Better,
    /// At most a margin worse.
    AsGood,
    /// Worse, by more than the margin.
    Worse,
    /// The interval has room for two of them.
    Undecided,
    /// A figure is missing.
    Unknown,
}

impl Verdict {
    /// All, from the best.
    pub const ALL: [Verdict; 5] =
        [Verdict::Better, Verdict::AsGood, Verdict::Worse, Verdict::Undecided, Verdict::Unknown];

    /// In words.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::AsGood => "as good",
            Verdict::Worse => "worse",
            Verdict::Undecided => "not decided",
            Verdict::Unknown => "not measured",
        }
    }
}

/// By how much the algorithm's figure is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gain {
    /// Of the means; negative when it is the worse one.
    pub mean: f64,
    /// Half the width of its 95 % interval; none of single runs.
    pub half: Option<f64>,
}

/// The gain of a figure over CUBIC's, and what it says.
#[must_use]
pub fn judge(measure: Measure, subject: Option<&Estimate>, cubic: Option<&Estimate>) -> (Option<Gain>, Verdict) {
    let Some((subject, cubic)) = subject.zip(cubic) else { return (None, Verdict::Unknown) };
    let more = subject.mean - cubic.mean;
    let mean = match measure.way() {
        Way::More => more,
        Way::Less => -more,
    };
    // The two were run apart: the errors of their means add up as those of independent figures.
    let half = match (subject.ci95, cubic.ci95) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0.0).hypot(b.unwrap_or(0.0))),
    };
    let gain = Gain { mean, half };
    (Some(gain), gain.verdict(measure.margin(cubic.mean)))
}

impl Gain {
    fn verdict(self, margin: f64) -> Verdict {
        let half = self.half.unwrap_or(0.0);
        let (least, most) = (self.mean - half, self.mean + half);
        if least > 0.0 && self.mean > margin {
            Verdict::Better
        } else if most < 0.0 && self.mean < -margin {
            Verdict::Worse
        } else if least >= -margin {
            Verdict::AsGood
        } else {
            Verdict::Undecided
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(mean: f64, half: Option<f64>) -> Verdict {
        Gain { mean, half }.verdict(5.0)
    }

    #[test]
    fn a_verdict_is_made_of_the_interval_and_the_margin() {
        assert_eq!(verdict(6.0, Some(5.0)), Verdict::Better);
        assert_eq!(
            verdict(6.0, Some(7.0)),
            Verdict::AsGood,
            "it may be no better, but is not worse by more than a margin"
        );
        assert_eq!(verdict(4.0, Some(1.0)), Verdict::AsGood, "better, but within the margin");
        assert_eq!(verdict(-4.0, Some(1.0)), Verdict::AsGood, "worse, but within the margin");
        assert_eq!(verdict(-4.0, Some(2.0)), Verdict::Undecided);
        assert_eq!(verdict(-6.0, Some(2.0)), Verdict::Worse);
        assert_eq!(verdict(-6.0, Some(7.0)), Verdict::Undecided);
        assert_eq!(verdict(6.0, Some(20.0)), Verdict::Undecided);
    }

    #[test]
    fn single_runs_are_judged_as_they_are() {
        assert_eq!(
            [-5.1, -5.0, 0.0, 5.0, 5.1].map(|mean| verdict(mean, None)),
            [Verdict::Worse, Verdict::AsGood, Verdict::AsGood, Verdict::AsGood, Verdict::Better]
        );
    }

    #[test]
    fn less_delay_is_a_gain_and_less_goodput_is_none() {
        let estimate = |mean| Estimate { n: 3, mean, sd: Some(1.0), ci95: Some(3.0) };
        let (few, many) = (estimate(10.0), estimate(40.0));
        let (gain, verdict) = judge(Measure::Queue, Some(&few), Some(&many));
        assert_eq!((gain.map(|gain| gain.mean), verdict), (Some(30.0), Verdict::Better));
        assert_eq!(gain.unwrap().half, Some(3.0f64.hypot(3.0)));
        assert_eq!(judge(Measure::Goodput, Some(&few), Some(&many)).1, Verdict::Worse);
        assert_eq!(judge(Measure::Goodput, None, Some(&many)), (None, Verdict::Unknown));
    }
}
