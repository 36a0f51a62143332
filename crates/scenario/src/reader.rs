//! Reads a TOML document field by field, so that every complaint names the file, the line and the field, and
//! so that a field nobody asked for is an error.

use crate::fields::{ANY, Field, Kind, Table};
use crate::spec::UNTIL_STOP;
use crate::units::{Buffer, Rate, Span};
use crate::{Direction, Distribution, Repeat, ScenarioError};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A document and where it came from.
pub(super) struct Source<'a> {
    /// File name, or name of the embedded scenario.
    pub origin: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub(super) fn error(&self, offset: usize, field: &str, message: impl Into<String>) -> ScenarioError {
        let line = self.text[..offset.min(self.text.len())].matches('\n').count() + 1;
        ScenarioError::Field { origin: self.origin.to_owned(), line, field: field.to_owned(), message: message.into() }
    }

    /// Parses the document as a whole; syntax errors have no field.
    pub(super) fn parse(&self) -> Result<Spanned<DeTable<'_>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let line = self.text[..offset].matches('\n').count() + 1;
            // One line, whatever the parser writes.
            let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            ScenarioError::Syntax { origin: self.origin.to_owned(), line, message }
        })
    }
}

/// A value that a field may hold.
pub(super) trait FromValue: Sized {
    /// The error is a sentence "expected …, found …".
    fn from_value(value: &DeValue<'_>) -> Result<Self, String>;
}

/// One table of the document.
pub(super) struct Fields<'s, 'd> {
    source: &'s Source<'s>,
    table: &'s DeTable<'d>,
    /// `""` for the document itself, else such as `flow[1]`.
    path: String,
    /// Where the table starts, for errors about what is missing.
    offset: usize,
    known: Option<&'static Table>,
}

impl<'s, 'd> Fields<'s, 'd> {
    pub(super) fn new(source: &'s Source<'s>, document: &'s Spanned<DeTable<'d>>) -> Self {
        Fields { source, table: document.get_ref(), path: String::new(), offset: 0, known: None }
    }

    /// Names the fields that the table may have and refuses all others. Comes first: a misspelt field explains
    /// why another one is missing.
    pub(super) fn only(mut self, known: &'static Table) -> Result<Self, ScenarioError> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.has(name) {
                let message = format!("unknown field, expected one of {}", known.names());
                return Err(self.source.error(key.span().start, &self.path_of(name), message));
            }
        }
        self.known = Some(known);
        Ok(self)
    }

    /// The folder of the scenario's file.
    pub(super) fn folder(&self) -> &Path {
        Path::new(self.source.origin).parent().unwrap_or(Path::new(""))
    }

    /// A complaint about a field that is there.
    pub(super) fn error(&self, name: &str, message: String) -> ScenarioError {
        let offset = self.table.get(name).map_or(self.offset, |value| value.span().start);
        self.source.error(offset, &self.path_of(name), message)
    }

    pub(super) fn is_text(&self, name: &'static str) -> bool {
        self.get(name).is_some_and(|value| value.get_ref().is_str())
    }

    pub(super) fn is_table(&self, name: &'static str) -> bool {
        self.get(name).is_some_and(|value| value.get_ref().is_table())
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn get(&self, name: &str) -> Option<&'s Spanned<DeValue<'d>>> {
        debug_assert!(self.known.is_none_or(|known| known.has(name)), "{name} is not a field of {:?}", self.path);
        self.table.get(name)
    }

    fn field(&self, name: &str) -> Option<&'static Field> {
        self.known?.fields.iter().find(|field| field.name == name)
    }

    /// A field that may be absent.
    pub(super) fn optional<T: FromValue>(&self, name: &'static str) -> Result<Option<T>, ScenarioError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let kind = self.field(name).map(|field| field.kind);
        T::from_value(value.get_ref())
            .and_then(|read| check_range(kind, value.get_ref()).map(|()| Some(read)))
            .map_err(|message| self.source.error(value.span().start, &self.path_of(name), message))
    }

    /// A field with a default.
    pub(super) fn or<T: FromValue>(&self, name: &'static str, default: T) -> Result<T, ScenarioError> {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    /// A field that must be there.
    pub(super) fn required<T: FromValue>(&self, name: &'static str) -> Result<T, ScenarioError> {
        self.optional(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn missing(&self, name: &str) -> ScenarioError {
        self.source.error(self.offset, &self.path_of(name), "missing field")
    }

    fn sub(&self, path: String, value: &'s Spanned<DeValue<'d>>) -> Result<Self, ScenarioError> {
        let Some(table) = value.get_ref().as_table() else {
            let message = format!("expected a table, found {}", value.get_ref().type_str());
            return Err(self.source.error(value.span().start, &path, message));
        };
        Ok(Fields { source: self.source, table, path, offset: value.span().start, known: None })
    }

    /// A sub-table that may be absent.
    pub(super) fn optional_table(&self, name: &'static str) -> Result<Option<Self>, ScenarioError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        self.sub(self.path_of(name), value).map(Some)
    }

    /// A sub-table that must be there.
    pub(super) fn table(&self, name: &'static str) -> Result<Self, ScenarioError> {
        self.optional_table(name)?.ok_or_else(|| self.missing(name))
    }

    /// All entries of a table whose keys the author chooses, each a table.
    pub(super) fn tables_by_key(&self) -> Result<Vec<(String, Self)>, ScenarioError> {
        self.table
            .iter()
            .map(|(key, value)| {
                let name: &str = key.get_ref();
                Ok((name.to_owned(), self.sub(self.path_of(name), value)?))
            })
            .collect()
    }

    /// An array of tables (`[[name]]`) with at least one entry.
    pub(super) fn tables(&self, name: &'static str) -> Result<Vec<Self>, ScenarioError> {
        self.get(name).ok_or_else(|| self.missing(name))?;
        self.optional_tables(name)
    }

    /// An array of tables (`[[name]]` or `name = [{ … }]`) that may be absent or empty.
    pub(super) fn optional_tables(&self, name: &'static str) -> Result<Vec<Self>, ScenarioError> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let Some(array) = value.get_ref().as_array() else {
            let message = format!("expected one [[{name}]] table or more, found {}", value.get_ref().type_str());
            return Err(self.source.error(value.span().start, &self.path_of(name), message));
        };
        array.iter().enumerate().map(|(i, entry)| self.sub(format!("{}[{i}]", self.path_of(name)), entry)).collect()
    }
}

/// Offset of the value of a path such as `flow[1].stop`, or of the nearest table above it.
pub(super) fn offset_of(document: &Spanned<DeTable<'_>>, path: &str) -> usize {
    let mut offset = 0;
    let mut table = document.get_ref();
    for part in path.split('.') {
        let (name, index) = match part.split_once('[') {
            Some((name, rest)) => (name, rest.trim_end_matches(']').parse::<usize>().ok()),
            None => (part, None),
        };
        let Some(mut value) = table.get(name) else { return offset };
        if let Some(entry) = index.and_then(|i| value.get_ref().as_array().and_then(|array| array.get(i))) {
            value = entry;
        }
        offset = value.span().start;
        match value.get_ref().as_table() {
            Some(inner) => table = inner,
            None => return offset,
        }
    }
    offset
}

/// Whether a number lies in the range that the table of fields gives it.
fn check_range(kind: Option<Kind>, value: &DeValue<'_>) -> Result<(), String> {
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

fn expected<T>(what: &str, value: &DeValue<'_>) -> Result<T, String> {
    Err(format!("expected {what}, found {}", found(value)))
}

impl FromValue for String {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_str().map_or_else(|| expected("a string", value), |text| Ok(text.to_owned()))
    }
}

/// An integer in decimal digits, whatever the radix in which it is written: `0x10` is 16.
fn integer_text(number: &DeInteger<'_>) -> String {
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

impl FromValue for Distribution {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some("uniform") => Ok(Distribution::Uniform),
            Some("normal") => Ok(Distribution::Normal),
            _ => expected("\"uniform\" or \"normal\"", value),
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

fn quantity<T: FromStr<Err = crate::units::UnitError>>(value: &DeValue<'_>, what: &str) -> Result<T, String> {
    match value.as_str() {
        Some(text) => text.parse().map_err(|error: crate::units::UnitError| error.to_string()),
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
            return text.parse().map_err(|error: crate::units::UnitError| error.to_string());
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
