//! Times, rates, sizes and shares as people write them and read them: every table of units is here.
//!
//! - [`Rate`] and [`Span`] are exact: what a scenario says, and what is printed is read back as the same.
//! - [`parse_duration`] and [`parse_bytes`] read arguments of the command line, with decimals and without a bare number.
//! - [`dimension`] is for values of which only a metric says what they measure.
//! - [`narrow`] and [`printed`] write figures: in columns of a screen, and in a report.

mod argument;
pub mod dimension;
pub mod narrow;
pub mod printed;
mod quantity;

pub use argument::{parse_bytes, parse_duration};
pub use dimension::Dimension;
pub use printed::duration_text;
pub use quantity::{Rate, Span, rate_units, span_units};

/// What stands for a figure that is not known.
pub const UNKNOWN: &str = "–";

const NS_PER_S: u64 = 1_000_000_000;

/// A unit's name, and its size in the smallest one of its table.
type Unit = (&'static str, u64);

/// Units of a rate, largest first, in bit/s.
const RATES: &[Unit] = &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

/// Units of time, largest first, in ns.
const TIMES: &[Unit] =
    &[("h", 3600 * NS_PER_S), ("min", 60 * NS_PER_S), ("s", NS_PER_S), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// Units of a size in memory or in a file, largest first, in bytes.
const SIZES: &[Unit] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Why a quantity was not understood; the text says what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a number followed by a unit of time.
    #[error("{0:?} is not a duration: expected a number with us, ms, s, m or h, such as 10ms or 150s")]
    Duration(String),
    /// Not a number followed by a unit of size.
    #[error("{0:?} is not a size: expected a number of bytes with an optional KiB, MiB or GiB, such as 16MiB")]
    Bytes(String),
    /// Not what a field of a scenario takes.
    #[error("expected {expected}, found {found:?}")]
    Quantity {
        /// Kind of quantity, with an example.
        expected: &'static str,
        /// As written.
        found: String,
    },
}

/// Splits `"10ms"` into `"10"` and `"ms"`; the number may have decimals.
#[must_use]
pub fn split(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len()))
}

/// Size of a unit, in the smallest one of its table.
fn factor(units: &[Unit], name: &str) -> Option<u64> {
    units.iter().find(|(unit, _)| *unit == name).map(|(_, factor)| *factor)
}

/// The micro sign of a keyboard is as good as its stand-in.
fn without_micro_sign(name: &str) -> &str {
    if name == "µs" { "us" } else { name }
}

/// Size of a unit of time in ns, by any of its names; `m` is a minute.
fn time_factor(name: &str) -> Option<u64> {
    let name = if name == "m" { "min" } else { without_micro_sign(name) };
    factor(TIMES, name)
}

/// A limit in MiB where it is a whole number of them, else in bytes.
#[must_use]
pub fn limit_text(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) { format!("{} MiB", bytes >> 20) } else { format!("{bytes} bytes") }
}

fn known(value: Option<f64>, scale: f64, text: fn(f64) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| text(value / scale))
}

/// Bytes with a decimal prefix, each of which begins at `first` of the one before it.
fn prefixed(bytes: f64, first: f64, text: fn(f64) -> String) -> String {
    match bytes {
        b if b >= first * 1e6 => format!("{} GB", text(b / 1e9)),
        b if b >= first * 1e3 => format!("{} MB", text(b / 1e6)),
        b if b >= first => format!("{} kB", text(b / 1e3)),
        b => format!("{b:.0} B"),
    }
}
