//! Exact quantities as a scenario writes them: `50Mbit/s`, `40ms`.
//!
//! Every type parses from text, prints text that parses back to the same value, and holds an integer.

use super::{NS_PER_S, RATES, TIMES, Unit, UnitError, factor, split, time_factor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Names of the units of a rate, largest first.
pub fn rate_units() -> impl Iterator<Item = &'static str> {
    RATES.iter().map(|(name, _)| *name)
}

/// Names of the units of a time span, largest first.
pub fn span_units() -> impl Iterator<Item = &'static str> {
    TIMES.iter().map(|(name, _)| *name)
}

/// Splits `1.5ms` into number and unit and scales exactly, without floating point.
fn parse_scaled(text: &str, units: fn(&str) -> Option<u64>, expected: &'static str) -> Result<u64, UnitError> {
    let fail = || UnitError::Quantity { expected, found: text.to_owned() };
    let (number, unit) = split(text);
    let factor = units(unit.trim_start()).ok_or_else(fail)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || digits.contains('.') {
        return Err(fail());
    }
    let mantissa: u128 = digits.parse().map_err(|_| fail())?;
    let divisor = 10u128.checked_pow(u32::try_from(fraction.len()).map_err(|_| fail())?).ok_or_else(fail)?;
    let product = mantissa.checked_mul(u128::from(factor)).ok_or_else(fail)?;
    if product % divisor != 0 {
        return Err(fail());
    }
    u64::try_from(product / divisor).map_err(|_| fail())
}

/// Prints with the largest unit that leaves no fraction.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit], zero: &str) -> fmt::Result {
    if value == 0 {
        return f.write_str(zero);
    }
    let (name, factor) = units.iter().find(|(_, factor)| value.is_multiple_of(*factor)).expect("the last factor is 1");
    write!(f, "{}{name}", value / factor)
}

/// A bit rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate {
    /// bit/s.
    pub bps: u64,
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, |unit| factor(RATES, unit), "a rate such as \"50Mbit/s\" (bit/s, kbit/s, Mbit/s, Gbit/s)")
            .map(|bps| Rate { bps })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.bps, RATES, "0bit/s")
    }
}

/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// ns.
    pub ns: u64,
}

impl Span {
    /// A whole number of seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Span { ns: secs * NS_PER_S }
    }

    /// The span in seconds.
    #[must_use]
    pub fn secs_f64(self) -> f64 {
        Duration::from(self).as_secs_f64()
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Duration::from_nanos(span.ns)
    }
}

impl FromStr for Span {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_scaled(text, time_factor, "a time span such as \"40ms\" (ns, us, ms, s, m, h)").map(|ns| Span { ns })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Seconds are easier to compare than a mixture of minutes and hours.
        let from_seconds = &TIMES[2..];
        write_scaled(f, self.ns, from_seconds, "0s")
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_scale_exactly() {
        assert_eq!("50Mbit/s".parse(), Ok(Rate { bps: 50_000_000 }));
        assert_eq!("1.5 Mbit/s".parse(), Ok(Rate { bps: 1_500_000 }));
        assert_eq!("40ms".parse(), Ok(Span { ns: 40_000_000 }));
        assert_eq!("0.1s".parse(), Ok(Span { ns: 100_000_000 }));
        assert_eq!("2min".parse(), Ok(Span::from_secs(120)));
        assert_eq!("10m".parse(), Ok(Span::from_secs(600)));
    }

    #[test]
    fn text_without_a_known_unit_or_with_a_bad_number_is_refused() {
        for text in ["", "50", "Mbit/s", "50Mbps", "50mbit/s", "-1Mbit/s", "1.2.3Mbit/s", ".5Mbit/s", "1e3bit/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text:?}");
        }
        for text in ["", "40", "40 M", "1.5ns", "99999999999999999999s", "-1s"] {
            assert!(text.parse::<Span>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn printing_and_parsing_are_inverse() {
        for bps in [0, 1, 999, 1_500_000, 50_000_000, 10_000_000_000] {
            let rate = Rate { bps };
            assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        for ns in [0, 1, 1_500, 40_000_000, 150 * NS_PER_S] {
            let span = Span { ns };
            assert_eq!(span.to_string().parse(), Ok(span));
        }
        assert_eq!(Span::from_secs(150).to_string(), "150s");
    }
}
