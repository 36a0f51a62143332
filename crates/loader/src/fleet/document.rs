//! A TOML document whose every complaint names file, line and field.

use crate::fleet::error::FileError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Characters of a message: it quotes the file, where one value may be as long as the file.
const MAX_MESSAGE: usize = 500;
/// Characters of one name in the path of a field.
const MAX_NAME: usize = 100;

/// The text and where it came from.
pub(crate) struct Document<'a> {
    origin: &'a str,
    text: &'a str,
    /// Where each line ends, bytes; found once, as every table has a line.
    ends: Vec<usize>,
}

impl<'a> Document<'a> {
    /// A text; `origin` is the file name that errors show.
    pub(crate) fn new(origin: &'a str, text: &'a str) -> Self {
        Self { origin, text, ends: text.match_indices('\n').map(|(offset, _)| offset).collect() }
    }

    /// Parses the document as a whole; syntax errors have no field.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'a>>, FileError> {
        DeTable::parse(self.text).map_err(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            // One line, whatever the parser writes.
            let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
            FileError::Syntax { origin: self.origin.to_owned(), line, message: shortened(&message, MAX_MESSAGE) }
        })
    }

    /// Line of a byte offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.ends.partition_point(|&end| end < offset) + 1
    }

    fn error(&self, offset: usize, field: &str, message: impl Into<String>) -> FileError {
        let (origin, field) = (self.origin.to_owned(), field.to_owned());
        FileError::Field { origin, line: self.line(offset), field, message: shortened(&message.into(), MAX_MESSAGE) }
    }
}

/// One table of a document.
pub(crate) struct Table<'t, 'a> {
    document: &'t Document<'a>,
    table: &'t DeTable<'a>,
    /// Such as `cgroup."/edge"`; empty for the document itself.
    path: String,
    /// Where it starts in the text.
    offset: usize,
}

impl<'t, 'a> Table<'t, 'a> {
    /// The outermost table.
    pub(crate) fn root(document: &'t Document<'a>, parsed: &'t Spanned<DeTable<'a>>) -> Self {
        Self { document, table: parsed.get_ref(), path: String::new(), offset: 0 }
    }

    /// Line on which the table's name stands.
    pub(crate) fn line(&self) -> usize {
        self.document.line(self.offset)
    }

    /// Refuses every field that is not among `known`. Comes first: a misspelt field explains why another one is missing.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), FileError> {
        match self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => {
                let message = format!("unknown field, expected one of {}", known.join(", "));
                Err(self.document.error(key.span().start, &self.path_of(key.get_ref()), message))
            }
        }
    }

    /// The tables of this one, each with its name, in the order of the file.
    pub(crate) fn tables(&self) -> Result<Vec<(&'t str, Table<'t, 'a>)>, FileError> {
        let mut tables = self
            .table
            .iter()
            .map(|(key, value)| self.sub(key, value).map(|table| (key.get_ref().as_ref(), table)))
            .collect::<Result<Vec<_>, _>>()?;
        tables.sort_by_key(|(_, table)| table.offset);
        Ok(tables)
    }

    /// A table that may be absent.
    pub(crate) fn optional_table(&self, name: &str) -> Result<Option<Table<'t, 'a>>, FileError> {
        self.table.get_key_value(name).map(|(key, value)| self.sub(key, value)).transpose()
    }

    /// A table that must be there.
    pub(crate) fn required_table(&self, name: &str) -> Result<Table<'t, 'a>, FileError> {
        self.optional_table(name)?.ok_or_else(|| self.missing(name))
    }

    /// A string that may be absent.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, FileError> {
        self.value(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A string that must be there.
    pub(crate) fn required_text(&self, name: &str) -> Result<String, FileError> {
        self.text(name)?.ok_or_else(|| self.missing(name))
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, FileError> {
        Ok(self.value(name, "true or false", DeValue::as_bool)?.unwrap_or(default))
    }

    /// Every number with its name. It keeps the text that the user wrote, so that decimals stay exact.
    pub(crate) fn numbers(&self) -> Result<Vec<(String, String)>, FileError> {
        let names = self.table.keys().map(|key| key.get_ref().to_string());
        names
            .map(|name| {
                let number = self.value(&name, "a number", |value| match value {
                    DeValue::Integer(number) => Some(number.to_string()),
                    DeValue::Float(number) => Some(number.to_string()),
                    DeValue::String(text) => Some(text.to_string()),
                    _ => None,
                })?;
                Ok((name, number.expect("the name is a key of this table")))
            })
            .collect()
    }

    /// A complaint about one field of this table, or about the table itself when there is no such field.
    pub(crate) fn error(&self, name: &str, message: impl Into<String>) -> FileError {
        let offset = self.table.get(name).map_or(self.offset, |value| value.span().start);
        self.document.error(offset, &self.path_of(name), message)
    }

    /// A complaint about the table as a whole.
    pub(crate) fn error_here(&self, message: impl Into<String>) -> FileError {
        self.document.error(self.offset, &self.path, message)
    }

    fn value<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'a>) -> Option<T>,
    ) -> Result<Option<T>, FileError> {
        let Some(value) = self.table.get(name) else { return Ok(None) };
        match read(value.get_ref()) {
            Some(read) => Ok(Some(read)),
            None => Err(self.error(name, format!("expected {expected}, found {}", found(value.get_ref())))),
        }
    }

    fn sub(&self, key: &Spanned<toml::de::DeString<'a>>, value: &'t Spanned<DeValue<'a>>) -> Result<Self, FileError> {
        let path = self.path_of(key.get_ref());
        let offset = key.span().start;
        match value.get_ref().as_table() {
            Some(table) => Ok(Self { document: self.document, table, path, offset }),
            None => {
                let message = format!("expected a table, found {}", found(value.get_ref()));
                Err(self.document.error(offset, &path, message))
            }
        }
    }

    fn missing(&self, name: &str) -> FileError {
        self.document.error(self.offset, &self.path_of(name), "missing field")
    }

    /// As TOML writes it: quoted where it is not a bare key.
    fn path_of(&self, name: &str) -> String {
        let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let name = shortened(name, MAX_NAME);
        let name = if bare { name } else { format!("{name:?}") };
        if self.path.is_empty() { name } else { format!("{}.{name}", self.path) }
    }
}

/// The start of a text that is longer than so many characters, with its length.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} characters)", &text[..end], text.chars().count()),
    }
}

fn found(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        other => other.type_str().to_owned(),
    }
}
