//! Durations and sizes of the command line.

use super::{NS_PER_S, SIZES, UnitError, factor, split, time_factor};
use std::time::Duration;

fn number(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = split(text.trim());
    Some((number.parse().ok()?, unit.trim()))
}

/// Parses `10ms`, `1.5s`, `2m`. Zero is not a duration, nor is a bare number.
///
/// # Errors
/// [`UnitError::Duration`] with the text.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError::Duration(text.to_owned());
    let (number, unit) = number(text).ok_or_else(error)?;
    // Nothing that an argument says is as short as a few nanoseconds.
    let factor_ns = time_factor(unit).filter(|ns| *ns > 1).ok_or_else(error)?;
    let seconds = factor_ns as f64 / NS_PER_S as f64;
    let duration = Duration::try_from_secs_f64(number * seconds).map_err(|_| error())?;
    if duration.is_zero() { Err(error()) } else { Ok(duration) }
}

/// Parses `16MiB`, `65536`, `1GiB` (powers of 1024; `K`, `M`, `G` mean the same), in bytes.
///
/// # Errors
/// [`UnitError::Bytes`] with the text.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    let error = || UnitError::Bytes(text.to_owned());
    let (number, unit) = number(text).ok_or_else(error)?;
    let name = match unit {
        "" => "B",
        "K" => "KiB",
        "M" => "MiB",
        "G" => "GiB",
        name => name,
    };
    let bytes = number * factor(SIZES, name).ok_or_else(error)? as f64;
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
        assert_eq!(parse_duration("250µs"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        for text in ["", "10", "ms", "0s", "-1s", "1e3s", "10 parsec", "1.2.3s", "1e999h", "nan s", "5ns"] {
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
