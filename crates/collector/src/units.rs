//! Durations and sizes as a user writes them.

use std::time::Duration;
use thiserror::Error;

/// Why a duration or a size was not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not a number followed by a unit of time.
    #[error("{0:?} is not a duration: expected a number with us, ms, s, m or h, such as 10ms or 150s")]
    Duration(String),
    /// Not a number followed by a unit of size.
    #[error("{0:?} is not a size: expected a number of bytes with an optional KiB, MiB or GiB, such as 16MiB")]
    Bytes(String),
}

/// Splits `"10ms"` into 10 and `"ms"`; the number may have decimals.
fn split(text: &str) -> Option<(f64, &str)> {
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    Some((number.parse().ok()?, unit.trim()))
}

/// Parses `10ms`, `1.5s`, `2m`. Zero is not a duration, nor is a bare number.
///
/// # Errors
/// [`UnitError::Duration`] with the text.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError::Duration(text.to_owned());
    let (number, unit) = split(text.trim()).ok_or_else(error)?;
    let seconds = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(error()),
    };
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|_| error())?;
    if duration.is_zero() { Err(error()) } else { Ok(duration) }
}

/// Parses `16MiB`, `65536`, `1GiB` (powers of 1024; `K`, `M`, `G` mean the same).
///
/// # Errors
/// [`UnitError::Bytes`] with the text.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError::Bytes(text.to_owned());
    let (number, unit) = split(text.trim()).ok_or_else(error)?;
    let factor: u64 = match unit {
        "" | "B" => 1,
        "K" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        _ => return Err(error()),
    };
    let bytes = number * factor as f64;
    // Beyond 2^53 a float no longer holds every integer; nobody has such a buffer.
    if bytes.fract() == 0.0 && (1.0..9e15).contains(&bytes) { Ok(bytes as u64) } else { Err(error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        for text in ["", "10", "ms", "0s", "-1s", "1e3s", "10 parsec", "1.2.3s", "1e999h", "nan s"] {
            assert_eq!(parse_duration(text), Err(UnitError::Duration(text.to_owned())));
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        assert_eq!(parse_bytes("16MiB"), Ok(16 << 20));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("0.5GiB"), Ok(512 << 20));
        for text in ["", "0", "MiB", "-1", "1.5", "16MB", "99999999999GiB"] {
            assert_eq!(parse_bytes(text), Err(UnitError::Bytes(text.to_owned())));
        }
    }
}
