//! What is common to the conditions that users write: rules of canaries and triggers of black boxes.

mod scanner;

pub use scanner::ScanError;
pub(crate) use scanner::{Scanner, as_factor};

/// How a value is compared with a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
}

impl Comparison {
    /// Longer signs before those that they begin with.
    pub(crate) const ALL: [Comparison; 4] =
        [Comparison::GreaterOrEqual, Comparison::LessOrEqual, Comparison::Greater, Comparison::Less];

    /// As it is written.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
        }
    }

    /// Whether the canary is bad when it has more.
    pub(crate) fn is_greater(self) -> bool {
        matches!(self, Comparison::Greater | Comparison::GreaterOrEqual)
    }

    pub(crate) fn holds(self, value: f64, threshold: f64) -> bool {
        match self {
            Comparison::Greater => value > threshold,
            Comparison::GreaterOrEqual => value >= threshold,
            Comparison::Less => value < threshold,
            Comparison::LessOrEqual => value <= threshold,
        }
    }
}
