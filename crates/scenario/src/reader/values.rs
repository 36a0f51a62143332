//! Values of fields, each from the form that `docs/scenarios.md` gives it.

use crate::fields::{ANY, Kind};
use crate::spec::UNTIL_STOP;
use crate::units::{Buffer, Rate, Span, UnitError};
use crate::{Direction, Repeat};
use std::collections::BTreeMap;
use std::str::FromStr;
use toml::de::{DeInteger, DeValue};

/// A value that a field may hold.
pub(crate) trait FromValue: Sized {
    /// The error is a sentence "expected …, found …".
    fn from_value(value: &DeValue<'_>) -> Result<Self, String>;
}

/// Whether a number lies in the range that the table of fields gives it.
pub(super) fn check_range(kind: Option<Kind>, value: &DeValue<'_>) -> Result<(), String> {
    let range = match kind {
        Some(Kind::Count(min, max)) if !(min..=max).contains(&u64::from_value(value)?) => match max {
            ANY => format!("at least {min}"),
            _ => format!("{min} to {max}"),
        },
        Some(Kind::Number(min, max)) if !(min..=max).contains(&f64::from_value(value)?) => format!("{min} to {max}"),
        _ => return Ok(()),
    };
    expected(&range, value)
}

fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => integer_text(number),
        DeValue::Float(number) => number.as_str().to_owned(),
        other => other.type_str().to_owned(),
    }
}

pub(super) fn expected<T>(what: &str, value: &DeValue<'_>) -> Result<T, String> {
    Err(format!("expected {what}, found {}", found(value)))
}

impl FromValue for String {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_str().map_or_else(|| expected("a string", value), |text| Ok(text.to_owned()))
    }
}

/// An integer in decimal digits, whatever the radix in which it is written: `0x10` is 16.
pub(super) fn integer_text(number: &DeInteger<'_>) -> String {
    match number.radix() {
        10 => number.as_str().to_owned(),
        // TOML's integers are those of i64; a reader that takes more gives the digits back as they are.
        radix => {
            i128::from_str_radix(number.as_str(), radix).map_or_else(|_| number.as_str().to_owned(), |n| n.to_string())
        }
    }
}

impl FromValue for bool {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_bool().map_or_else(|| expected("true or false", value), Ok)
    }
}

impl FromValue for u64 {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let DeValue::Integer(number) = value else { return expected("a whole number", value) };
        u64::from_str_radix(number.as_str(), number.radix()).or_else(|_| expected("a whole number from 0", value))
    }
}

impl FromValue for u32 {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        u32::try_from(u64::from_value(value)?).or_else(|_| expected("a whole number below 4294967296", value))
    }
}

impl FromValue for u8 {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        u8::try_from(u64::from_value(value)?).or_else(|_| expected("a whole number below 256", value))
    }
}

impl FromValue for f64 {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let text = match value {
            DeValue::Integer(number) => integer_text(number),
            DeValue::Float(number) => number.as_str().to_owned(),
            _ => return expected("a number", value),
        };
        text.parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
            .map_or_else(|| expected("a finite number", value), Ok)
    }
}

impl FromValue for Vec<u32> {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(array) = value.as_array() else { return expected("an array of whole numbers", value) };
        array.iter().map(|entry| u32::from_value(entry.get_ref())).collect()
    }
}

impl FromValue for Vec<String> {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(array) = value.as_array() else { return expected("an array of strings", value) };
        array.iter().map(|entry| String::from_value(entry.get_ref())).collect()
    }
}

/// Tunables: numbers keep the text that the user wrote, so that decimals stay exact.
impl FromValue for BTreeMap<String, String> {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(table) = value.as_table() else { return expected("a table such as { alpha = 1.3 }", value) };
        table
            .iter()
            .map(|(key, value)| match value.get_ref() {
                DeValue::Integer(number) => Ok((key.get_ref().to_string(), integer_text(number))),
                DeValue::Float(number) => Ok((key.get_ref().to_string(), number.as_str().to_owned())),
                DeValue::String(text) => Ok((key.get_ref().to_string(), text.to_string())),
                other => expected("a number", other),
            })
            .collect()
    }
}

impl FromValue for Direction {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some("upload") => Ok(Direction::Upload),
            Some("download") => Ok(Direction::Download),
            _ => expected("\"upload\" or \"download\"", value),
        }
    }
}

impl FromValue for Repeat {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        const FORMS: &str = "a number of transfers from 1, or \"until-stop\"";
        match value.as_str() {
            Some(UNTIL_STOP) => Ok(Repeat::UntilStop),
            Some(_) => expected(FORMS, value),
            None => match u32::from_value(value) {
                Ok(times) if times > 0 => Ok(Repeat::Times(times)),
                _ => expected(FORMS, value),
            },
        }
    }
}

fn quantity<T: FromStr<Err = UnitError>>(value: &DeValue<'_>, what: &str) -> Result<T, String> {
    match value.as_str() {
        Some(text) => text.parse().map_err(|error: UnitError| error.to_string()),
        None => expected(what, value),
    }
}

impl FromValue for Rate {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        quantity(value, "a rate with its unit, such as \"50Mbit/s\"")
    }
}

impl FromValue for Span {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        quantity(value, "a time span with its unit, such as \"40ms\"")
    }
}

impl FromValue for Buffer {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        const FORMS: &str = "{ bdp = 4 }, { bytes = 625000 }, { packets = 412 } or \"4bdp\"";
        if let Some(text) = value.as_str() {
            return text.parse().map_err(|error: UnitError| error.to_string());
        }
        let Some(table) = value.as_table() else { return expected(FORMS, value) };
        let mut entries = table.iter();
        let (Some((key, size)), None) = (entries.next(), entries.next()) else {
            return Err(format!("expected {FORMS}, found a table with {} keys", table.len()));
        };
        let name: &str = key.get_ref();
        match name {
            "bdp" => f64::from_value(size.get_ref()).map(Buffer::Bdp),
            "bytes" => u64::from_value(size.get_ref()).map(Buffer::Bytes),
            "packets" => u64::from_value(size.get_ref()).map(Buffer::Packets),
            other => Err(format!("expected {FORMS}, found the key {other:?}")),
        }
    }
}
