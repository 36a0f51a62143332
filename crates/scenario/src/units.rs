//! Quantities with units as a scenario writes them: `50Mbit/s`, `40ms`, `4bdp`. Here are those of which only a scenario
//! knows what they mean; the others are of `ccactl_host`.

use ccactl_host::units::split;
use ccactl_link::Capacity;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

pub use ccactl_host::units::{Rate, Span, UnitError};
pub(crate) use ccactl_host::units::{rate_units, span_units};

/// Size of a drop-tail buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Buffer {
    /// Multiple of rate × base RTT, in bytes on the wire.
    Bdp(f64),
    /// Bytes on the wire.
    Bytes(u64),
    /// Packets of any size.
    Packets(u64),
}

impl From<Capacity> for Buffer {
    fn from(capacity: Capacity) -> Self {
        match capacity {
            Capacity::Bytes(bytes) => Buffer::Bytes(bytes),
            Capacity::Packets(packets) => Buffer::Packets(packets),
        }
    }
}

impl FromStr for Buffer {
    type Err = UnitError;

    /// The form of the command line: `4bdp`, `625000B`, `412p`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const EXPECTED: &str = "a buffer such as \"4bdp\", \"625000B\" or \"412p\"";
        let fail = || UnitError::Quantity { expected: EXPECTED, found: text.to_owned() };
        let (number, unit) = split(text);
        let whole = || number.parse::<u64>().map_err(|_| fail());
        match unit {
            "bdp" => number.parse().map(Buffer::Bdp).map_err(|_| fail()),
            "B" => whole().map(Buffer::Bytes),
            "p" => whole().map(Buffer::Packets),
            _ => Err(fail()),
        }
    }
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Buffer::Bdp(multiple) => write!(f, "{multiple}bdp"),
            Buffer::Bytes(bytes) => write!(f, "{bytes}B"),
            Buffer::Packets(packets) => write!(f, "{packets}p"),
        }
    }
}

impl Serialize for Buffer {
    /// The form of a scenario: a table with one key.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Buffer::Bdp(multiple) => map.serialize_entry("bdp", multiple)?,
            Buffer::Bytes(bytes) => map.serialize_entry("bytes", bytes)?,
            Buffer::Packets(packets) => map.serialize_entry("packets", packets)?,
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_has_one_of_three_units() {
        assert_eq!("0.5bdp".parse(), Ok(Buffer::Bdp(0.5)));
        assert_eq!("66p".parse(), Ok(Buffer::Packets(66)));
        assert_eq!("100000B".parse(), Ok(Buffer::Bytes(100_000)));
        for text in ["", "4", "bdp", "4BDP", "1.5B", "0.5p", "1.2.3bdp"] {
            assert!(text.parse::<Buffer>().is_err(), "{text:?}");
        }
    }
}
