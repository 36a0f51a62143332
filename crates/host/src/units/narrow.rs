//! Figures in narrow columns of a screen: three digits, at most two decimals.

use super::{known, prefixed};

/// Three significant digits, at most two decimals: `0.85`, `94.1`, `12300`.
#[must_use]
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    // The bounds are where rounding reaches the next digit.
    let decimals = if magnitude < 9.995 { 2 } else { usize::from(magnitude < 99.95) };
    format!("{value:.decimals$}")
}

/// Bit/s as Mbit/s.
#[must_use]
pub fn mbit_per_s(bps: Option<f64>) -> String {
    known(bps, 1e6, significant)
}

/// Microseconds as milliseconds; below one with three decimals, as on a loopback.
#[must_use]
pub fn millis(us: Option<f64>) -> String {
    match us {
        Some(us) if us < 999.5 => format!("{:.3}", us / 1e3),
        us => known(us, 1e3, significant),
    }
}

/// A share as percent.
#[must_use]
pub fn percent(ratio: Option<f64>) -> String {
    known(ratio, 0.01, significant)
}

/// A plain number.
#[must_use]
pub fn number(value: Option<f64>) -> String {
    known(value, 1.0, significant)
}

/// Seconds in the unit that keeps it short.
#[must_use]
pub fn seconds(s: f64) -> String {
    match s {
        s if s < 0.9995 => format!("{} ms", significant(s * 1e3)),
        s if s < 120.0 => format!("{} s", significant(s)),
        s if s < 7200.0 => format!("{:.0} min", (s / 60.0).floor()),
        s => format!("{:.0} h", (s / 3600.0).floor()),
    }
}

/// Bytes with a decimal prefix.
#[must_use]
pub fn bytes(count: f64) -> String {
    // From where rounding reaches the next prefix.
    prefixed(count, 999.5, significant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_fit_narrow_columns() {
        let cases = [
            (0.0, "0.00"),
            (0.854, "0.85"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (94.13, "94.1"),
            (99.96, "100"),
            (12_345.6, "12346"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
        assert_eq!(
            (mbit_per_s(None), millis(Some(45.0)), millis(Some(41_230.0))),
            ("–".into(), "0.045".into(), "41.2".into())
        );
        assert_eq!((millis(Some(999.4)), millis(Some(999.6))), ("0.999".into(), "1.00".into()));
        assert_eq!(
            (percent(Some(0.0123)), number(Some(12.34)), number(None)),
            ("1.23".into(), "12.3".into(), "–".into())
        );
    }

    #[test]
    fn times_and_bytes_take_the_unit_that_keeps_them_short() {
        let times = [(0.0031, "3.10 ms"), (0.9996, "1.00 s"), (59.96, "60.0 s"), (125.0, "2 min"), (7300.0, "2 h")];
        for (s, text) in times {
            assert_eq!(seconds(s), text);
        }
        assert_eq!([12.0, 2e6, 999_600.0, 1.5e10].map(bytes), ["12 B", "2.00 MB", "1.00 MB", "15.0 GB"]);
    }
}
