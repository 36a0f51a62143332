//! Figures of reports: three digits, whatever the magnitude.

use super::{known, prefixed};
use std::time::Duration;

/// Three significant digits, without an exponent: `97.3`, `0.152`, `1230`.
#[must_use]
pub fn significant(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    // Rounding first: 9.996 has to become 10.0, not 10.00.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).max(0) as usize;
    format!("{rounded:.decimals$}")
}

/// Bit/s as Mbit/s.
#[must_use]
pub fn mbit_per_s(bps: Option<f64>) -> String {
    known(bps, 1e6, significant)
}

/// Microseconds as milliseconds.
#[must_use]
pub fn millis(us: Option<f64>) -> String {
    known(us, 1e3, significant)
}

/// A share as percent.
#[must_use]
pub fn percent(share: Option<f64>) -> String {
    known(share.map(|share| share * 100.0), 1.0, significant)
}

/// A plain number.
#[must_use]
pub fn number(value: Option<f64>) -> String {
    known(value, 1.0, significant)
}

/// An index between 0 and 1, three decimals.
#[must_use]
pub fn index(value: Option<f64>) -> String {
    known(value, 1.0, |value| format!("{value:.3}"))
}

/// A count in groups of three: `1,234,567`.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes with a decimal prefix.
#[must_use]
pub fn bytes(count: f64) -> String {
    prefixed(count, 1000.0, significant)
}

/// `2 h 5 min`, `12 min`, `40 s`.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds {
        0..=300 => format!("{seconds} s"),
        301..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_whatever_the_magnitude() {
        let cases = [
            (0.0, "0"),
            (0.001_234, "0.00123"),
            (0.1, "0.100"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (42.94, "42.9"),
            (99.96, "100"),
            (1234.0, "1230"),
            (-5.678, "-5.68"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn what_is_not_known_is_a_dash_not_a_zero() {
        assert_eq!((mbit_per_s(None), millis(None), percent(None)), ("–".into(), "–".into(), "–".into()));
        assert_eq!(
            (mbit_per_s(Some(47.6e6)), millis(Some(40_250.0)), percent(Some(0.0123))),
            ("47.6".into(), "40.2".into(), "1.23".into())
        );
    }

    #[test]
    fn counts_are_grouped_and_bytes_prefixed() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
        assert_eq!(
            (bytes(1_000_000.0), bytes(875_000.0), bytes(12.0)),
            ("1.00 MB".into(), "875 kB".into(), "12 B".into())
        );
    }
}
