//! The share of the sockets that a canary gets.

use ccactl_abi::layout::CANARY_ALL;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The multiplier of the kernel's `cca_in_canary`: 2^64 / golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A share of the sockets, more than none and less than all: of nothing there is no canary, and with everything there is
/// nothing to compare it with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u32);

/// Why a share was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a share: expected more than 0% and less than 100%, such as 10% or 0.1")]
pub struct ShareError(String);

/// What decides about the socket with this cookie: 16 bits.
pub(crate) fn hash(cookie: u64) -> u64 {
    cookie.wrapping_mul(GOLDEN) >> 48
}

impl Share {
    /// As a fraction. The kernel keeps 16 bits of it, and this is what they hold: 10 % is 0.100006.
    #[must_use]
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(CANARY_ALL)
    }

    /// Whether the socket with this cookie belongs to the share: the same rule as `cca_in_canary` of `policy.bpf.h`.
    #[must_use]
    pub fn covers(self, cookie: u64) -> bool {
        hash(cookie) < u64::from(self.0)
    }
}

/// Reads `10%` or `0.1`.
impl FromStr for Share {
    type Err = ShareError;

    fn from_str(text: &str) -> Result<Share, ShareError> {
        let error = || ShareError(text.to_owned());
        let (number, unit) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), 0.01),
            None => (text.trim(), 1.0),
        };
        let fraction = number.parse::<f64>().map_err(|_| error())? * unit;
        let parts = (fraction * f64::from(CANARY_ALL)).round();
        if parts >= 1.0 && parts < f64::from(CANARY_ALL) { Ok(Share(parts as u32)) } else { Err(error()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Three significant digits: more would show the sixteen bits instead of what was asked for.
        let percent = self.fraction() * 100.0;
        let decimals = (2.0 - percent.log10().floor()).max(0.0) as usize;
        let text = format!("{percent:.decimals$}");
        let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text} %")
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.fraction())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_fraction_and_never_all_or_nothing() {
        for (text, parts) in [("10%", 6554), (" 0.25 ", 16_384), ("12.5 %", 8192), ("0.002%", 1), ("99.99%", 65_529)] {
            assert_eq!(text.parse(), Ok(Share(parts)), "{text}");
        }
        for text in ["", "%", "0", "0%", "100%", "1", "10", "-5%", "nan", "inf%", "ten", "0.0001%", "99.9999%"] {
            assert_eq!(text.parse::<Share>(), Err(ShareError(text.to_owned())));
        }
        for (parts, text) in [(6554, "10 %"), (16_384, "25 %"), (8192, "12.5 %"), (1, "0.00153 %"), (65_529, "100 %")] {
            assert_eq!(Share(parts).to_string(), text);
        }
    }

    #[test]
    fn a_share_covers_that_part_of_any_run_of_cookies() {
        // Both ends of a connection on one host take a cookie, so those of one end may be every second.
        for (start, step) in [(1, 1), (1_000_000, 2), (77, 3)] {
            for text in ["10%", "50%", "1%"] {
                let share: Share = text.parse().unwrap();
                let covered = (0..10_000).filter(|i| share.covers(start + i * step)).count() as f64;
                assert!((covered / 10_000.0 - share.fraction()).abs() < 0.005, "{text} of {step}: {covered}");
            }
        }
    }
}
