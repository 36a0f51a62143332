//! Reads a TOML document field by field, so that every complaint names the file, the line and the field, and
//! so that a field nobody asked for is an error.

mod values;
mod written;

pub(crate) use written::Written;

use crate::ScenarioError;
use crate::fields::{Field, Table};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
pub(crate) use values::FromValue;
use values::check_range;

/// A document and where it came from.
pub(crate) struct Source<'a> {
    /// File name, or name of the embedded scenario.
    pub origin: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// Line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }

    pub(crate) fn error(&self, offset: usize, field: &str, message: impl Into<String>) -> ScenarioError {
        let line = self.line(offset);
        ScenarioError::Field { origin: self.origin.to_owned(), line, field: field.to_owned(), message: message.into() }
    }

    /// Parses the document as a whole; syntax errors have no field.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'_>>, ScenarioError> {
        DeTable::parse(self.text).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            // One line, whatever the parser writes.
            let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            ScenarioError::Syntax { origin: self.origin.to_owned(), line, message }
        })
    }
}

/// One table of the document.
pub(crate) struct Fields<'s, 'd> {
    source: &'s Source<'s>,
    table: &'s DeTable<'d>,
    /// `""` for the document itself, else such as `flow[1]`.
    path: String,
    /// Where the table starts, for errors about what is missing.
    offset: usize,
    known: Option<&'static Table>,
}

impl<'s, 'd> Fields<'s, 'd> {
    pub(crate) fn new(source: &'s Source<'s>, document: &'s Spanned<DeTable<'d>>) -> Self {
        Fields { source, table: document.get_ref(), path: String::new(), offset: 0, known: None }
    }

    /// Names the fields that the table may have and refuses all others. Comes first: a misspelt field explains
    /// why another one is missing.
    pub(crate) fn only(mut self, known: &'static Table) -> Result<Self, ScenarioError> {
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
    pub(crate) fn folder(&self) -> &Path {
        Path::new(self.source.origin).parent().unwrap_or(Path::new(""))
    }

    /// A complaint about a field that is there.
    pub(crate) fn error(&self, name: &str, message: String) -> ScenarioError {
        self.source.error(self.offset_of(name), &self.path_of(name), message)
    }

    /// Where the table starts, bytes.
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// Where a field starts, or else the table, bytes.
    pub(crate) fn offset_of(&self, name: &str) -> usize {
        self.table.get(name).map_or(self.offset, |value| value.span().start)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.table.contains_key(name)
    }

    /// All fields of a table whose keys the author chooses, of one type.
    pub(crate) fn by_key<T: FromValue>(&self) -> Result<Vec<(String, T)>, ScenarioError> {
        self.table
            .iter()
            .map(|(key, value)| {
                let name: &str = key.get_ref();
                let read = T::from_value(value.get_ref()).map_err(|message| self.error(name, message))?;
                Ok((name.to_owned(), read))
            })
            .collect()
    }

    pub(crate) fn is_text(&self, name: &'static str) -> bool {
        self.get(name).is_some_and(|value| value.get_ref().is_str())
    }

    pub(crate) fn is_table(&self, name: &'static str) -> bool {
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
    pub(crate) fn optional<T: FromValue>(&self, name: &'static str) -> Result<Option<T>, ScenarioError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let kind = self.field(name).map(|field| field.kind);
        T::from_value(value.get_ref())
            .and_then(|read| check_range(kind, value.get_ref()).map(|()| Some(read)))
            .map_err(|message| self.source.error(value.span().start, &self.path_of(name), message))
    }

    /// A field with a default.
    pub(crate) fn or<T: FromValue>(&self, name: &'static str, default: T) -> Result<T, ScenarioError> {
        Ok(self.optional(name)?.unwrap_or(default))
    }

    /// A field that must be there.
    pub(crate) fn required<T: FromValue>(&self, name: &'static str) -> Result<T, ScenarioError> {
        self.optional(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn missing(&self, name: &str) -> ScenarioError {
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
    pub(crate) fn optional_table(&self, name: &'static str) -> Result<Option<Self>, ScenarioError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        self.sub(self.path_of(name), value).map(Some)
    }

    /// A sub-table that must be there.
    pub(crate) fn table(&self, name: &'static str) -> Result<Self, ScenarioError> {
        self.optional_table(name)?.ok_or_else(|| self.missing(name))
    }

    /// All entries of a table whose keys the author chooses, each a table.
    pub(crate) fn tables_by_key(&self) -> Result<Vec<(String, Self)>, ScenarioError> {
        self.table
            .iter()
            .map(|(key, value)| {
                let name: &str = key.get_ref();
                Ok((name.to_owned(), self.sub(self.path_of(name), value)?))
            })
            .collect()
    }

    /// An array of tables (`[[name]]`) with at least one entry.
    pub(crate) fn tables(&self, name: &'static str) -> Result<Vec<Self>, ScenarioError> {
        self.get(name).ok_or_else(|| self.missing(name))?;
        self.optional_tables(name)
    }

    /// An array of tables (`[[name]]` or `name = [{ … }]`) that may be absent or empty.
    pub(crate) fn optional_tables(&self, name: &'static str) -> Result<Vec<Self>, ScenarioError> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let Some(array) = value.get_ref().as_array() else {
            let message = format!("expected one [[{name}]] table or more, found {}", value.get_ref().type_str());
            return Err(self.source.error(value.span().start, &self.path_of(name), message));
        };
        array.iter().enumerate().map(|(i, entry)| self.sub(format!("{}[{i}]", self.path_of(name)), entry)).collect()
    }
}

/// Offset of the value of a path such as `flow[1].stop`, or of the nearest table above it.
pub(crate) fn offset_of(document: &Spanned<DeTable<'_>>, path: &str) -> usize {
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
