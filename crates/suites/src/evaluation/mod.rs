//! Evaluation of an algorithm by the criteria of RFC 9743 (BCP 133): what it does on a path, beside what CUBIC does in its place.
//!
//! A [`Criterion`] is a row: a section of the RFC, a path, a [`Measure`]. Each path is run with the
//! [`Contestant`]s that its rows need. A [`Card`] has the verdicts, and [`page`] writes it down. [`bbr`] asks other questions: the test
//! cases of a BBR's draft.

pub mod bbr;
mod card;
mod contestant;
mod criteria;
mod judge;
mod measure;
pub mod page;
mod paths;
mod section;

pub use card::{Card, Folders, Group, Row};
pub use contestant::{Contestant, Subject, plan, plan_cases};
pub use criteria::{Criterion, Profile};
pub use judge::{Gain, Verdict};
pub use measure::{Measure, Way};
pub use section::Section;

use std::fmt;
use std::str::FromStr;

/// What is asked of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Questions {
    /// The criteria of RFC 9743, or a part of them.
    Criteria(Profile),
    /// The test cases of draft-ietf-ccwg-bbr.
    BbrDraft,
}

const BBR_DRAFT: &str = "bbr-draft";

impl Questions {
    const ALL: [Questions; 3] =
        [Questions::Criteria(Profile::Rfc9743), Questions::Criteria(Profile::Quick), Questions::BbrDraft];

    /// Name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Questions::Criteria(profile) => profile.name(),
            Questions::BbrDraft => BBR_DRAFT,
        }
    }
}

impl fmt::Display for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Questions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Questions::ALL.into_iter().find(|questions| questions.name() == text);
        found.ok_or_else(|| format!("expected {}, found {text:?}", Questions::ALL.map(Questions::name).join(" or ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_asked_for_by_name() {
        for questions in Questions::ALL {
            assert_eq!(questions.to_string().parse(), Ok(questions));
        }
        assert_eq!("rfc".parse::<Questions>(), Err("expected rfc9743 or quick or bbr-draft, found \"rfc\"".to_owned()));
    }
}
