//! Dimensions of metrics, and the units in which a person writes and reads them.

use super::{NS_PER_S, RATES, TIMES, factor, without_micro_sign};
use serde::Serialize;

/// What a metric measures; a guard compares only like with like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// A share of something, 0 … 1. Written as `0.01` or `1%`.
    Ratio,
    /// Kept in µs. Written as `50ms`.
    Time,
    /// Kept in bit/s. Written as `10Mbit/s`.
    Rate,
    /// Kept in packets. Written as `20pkts`.
    Packets,
}

/// Units as they are written behind a number, in the order in which messages list them.
const UNITS: &[(&str, Dimension)] = &[
    ("%", Dimension::Ratio),
    ("us", Dimension::Time),
    ("ms", Dimension::Time),
    ("s", Dimension::Time),
    ("bit/s", Dimension::Rate),
    ("kbit/s", Dimension::Rate),
    ("Mbit/s", Dimension::Rate),
    ("Gbit/s", Dimension::Rate),
    ("pkts", Dimension::Packets),
];

/// Size of a unit, in what its dimension is kept in.
fn size(name: &str, dimension: Dimension) -> f64 {
    const NS_PER_US: f64 = (NS_PER_S / 1_000_000) as f64;
    let of = |units| factor(units, name).expect("it is in the table of its dimension") as f64;
    match dimension {
        Dimension::Ratio => 0.01,
        Dimension::Time => of(TIMES) / NS_PER_US,
        Dimension::Rate => of(RATES),
        Dimension::Packets => 1.0,
    }
}

/// Dimension of a unit, and its size in what that dimension is kept in.
#[must_use]
pub fn find_unit(name: &str) -> Option<(Dimension, f64)> {
    let name = without_micro_sign(name);
    let (_, dimension) = UNITS.iter().find(|(unit, _)| *unit == name)?;
    Some((*dimension, size(name, *dimension)))
}

/// Every unit, for messages.
#[must_use]
pub fn unit_names() -> String {
    UNITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

/// The shortest text that is read back as exactly this value.
#[must_use]
pub fn written(dimension: Dimension, value: f64) -> String {
    let plain = if dimension == Dimension::Ratio { "" } else { dimension.unit() };
    let in_unit = |(name, _): &(&str, Dimension)| {
        let factor = size(name, dimension);
        let number = value / factor;
        (number * factor == value).then(|| format!("{number}{name}"))
    };
    let others = UNITS.iter().filter(|(_, of)| *of == dimension).filter_map(in_unit);
    // In the plain unit every value is exact.
    others.chain([format!("{value}{plain}")]).min_by_key(|text| text.len()).expect("one at least")
}

impl Dimension {
    /// What the values are kept in, as JSON names it.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Dimension::Ratio => "ratio",
            Dimension::Time => "us",
            Dimension::Rate => "bit/s",
            Dimension::Packets => "pkts",
        }
    }

    /// How a value of this dimension is written, for messages.
    #[must_use]
    pub fn example(self) -> &'static str {
        match self {
            Dimension::Ratio => "a share such as 1% or 0.01",
            Dimension::Time => "a time such as 50ms",
            Dimension::Rate => "a rate such as 10Mbit/s",
            Dimension::Packets => "a number of packets such as 20pkts",
        }
    }

    /// A value for a person, in a unit of a handy size.
    #[must_use]
    pub fn display(self, value: f64) -> String {
        match self {
            Dimension::Ratio => format!("{:.3} %", value * 100.0),
            Dimension::Time if value < 1e3 => format!("{value:.0} us"),
            Dimension::Time if value < 1e6 => format!("{:.2} ms", value / 1e3),
            Dimension::Time => format!("{:.2} s", value / 1e6),
            Dimension::Rate if value < 1e6 => format!("{:.1} kbit/s", value / 1e3),
            Dimension::Rate if value < 1e9 => format!("{:.2} Mbit/s", value / 1e6),
            Dimension::Rate => format!("{:.2} Gbit/s", value / 1e9),
            Dimension::Packets => format!("{value:.1} pkts"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_in_the_unit_that_makes_it_short() {
        for (dimension, value, text) in [
            (Dimension::Ratio, 0.03, "3%"),
            (Dimension::Ratio, 0.001, "0.1%"),
            (Dimension::Time, 10_000_000.0, "10s"),
            (Dimension::Time, 1_500.0, "1.5ms"),
            (Dimension::Time, 20.0, "20us"),
            (Dimension::Rate, 1_500_000.0, "1.5Mbit/s"),
            (Dimension::Packets, 4.0, "4pkts"),
        ] {
            assert_eq!(written(dimension, value), text);
        }
    }

    #[test]
    fn values_are_shown_in_a_unit_of_a_handy_size() {
        for (dimension, value, text) in [
            (Dimension::Ratio, 0.0123, "1.230 %"),
            (Dimension::Time, 900.0, "900 us"),
            (Dimension::Time, 45_678.0, "45.68 ms"),
            (Dimension::Time, 1_500_000.0, "1.50 s"),
            (Dimension::Rate, 5e5, "500.0 kbit/s"),
            (Dimension::Rate, 9.5e6, "9.50 Mbit/s"),
            (Dimension::Rate, 2.5e9, "2.50 Gbit/s"),
            (Dimension::Packets, 12.34, "12.3 pkts"),
        ] {
            assert_eq!(dimension.display(value), text);
        }
    }
}
