//! The way to a field: `flow[0].set.alpha`, `flow[cubic].start`, `hop[wifi].rate`, `host.server.rcvbuf_max`.

use crate::OverrideError;
use toml::{Table, Value};

/// One step down.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The field of a table.
    Field(String),
    /// The entry of an array, by its `name` or by index; of a table, by key.
    Entry(String),
}

/// A path that is well formed; whether it leads somewhere depends on the document.
#[derive(Debug, Clone)]
pub(crate) struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

impl FieldPath {
    pub(crate) fn parse(text: &str) -> Result<FieldPath, OverrideError> {
        let not_a_path = || OverrideError::NotAPath(text.to_owned());
        let mut steps = Vec::new();
        let mut rest = text;
        loop {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err(not_a_path());
            }
            steps.push(Step::Field(rest[..end].to_owned()));
            rest = &rest[end..];
            while let Some(inside) = rest.strip_prefix('[') {
                let (entry, after) = inside.split_once(']').ok_or_else(not_a_path)?;
                steps.push(Step::Entry(entry.to_owned()));
                rest = after;
            }
            if rest.is_empty() {
                return Ok(FieldPath { text: text.to_owned(), steps });
            }
            rest = rest.strip_prefix('.').ok_or_else(not_a_path)?;
        }
    }

    /// Puts a value there; tables on the way that are missing are made.
    pub(crate) fn set(&self, document: &mut Table, value: Value) -> Result<(), OverrideError> {
        let mut root = Value::Table(std::mem::take(document));
        let done = self.slot(&mut root).map(|slot| *slot = value);
        *document = root.as_table_mut().map(std::mem::take).expect("the root stays a table");
        done
    }

    /// The place of the value.
    fn slot<'v>(&self, root: &'v mut Value) -> Result<&'v mut Value, OverrideError> {
        let mut value = root;
        let mut walked = "the scenario";
        for step in &self.steps {
            let not_a_table = || OverrideError::NotATable { field: self.text.clone(), part: walked.to_owned() };
            value = match (step, value) {
                (Step::Field(name) | Step::Entry(name), Value::Table(table)) => {
                    table.entry(name.clone()).or_insert_with(|| Value::Table(Table::new()))
                }
                (Step::Entry(key), Value::Array(entries)) => match index_of(entries, key) {
                    Some(index) => &mut entries[index],
                    None => return Err(self.no_such(walked, entries, key)),
                },
                _ => return Err(not_a_table()),
            };
            let (Step::Field(name) | Step::Entry(name)) = step;
            walked = name;
        }
        Ok(value)
    }

    fn no_such(&self, array: &str, entries: &[Value], key: &str) -> OverrideError {
        let names: Vec<&str> = entries.iter().filter_map(name_of).collect();
        let there = match (entries.len().checked_sub(1), names.is_empty()) {
            (None, _) => "there is none".to_owned(),
            (Some(last), true) => format!("0 to {last}"),
            (Some(last), false) => format!("0 to {last}, or one of {}", names.join(", ")),
        };
        OverrideError::NoSuchEntry { field: self.text.clone(), of: array.to_owned(), there, found: key.to_owned() }
    }

    /// The same for every way to write the path to one field of a document.
    pub(crate) fn canonical(&self, document: &Table) -> Vec<String> {
        let mut value = None;
        let mut out = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            let (Step::Field(name) | Step::Entry(name)) = step;
            let index = value.and_then(Value::as_array).and_then(|entries| index_of(entries, name));
            value = match (i, index) {
                (0, _) => document.get(name),
                (_, Some(index)) => value.and_then(|value| value.get(index)),
                (_, None) => value.and_then(|value| value.get(name)),
            };
            out.push(index.map_or_else(|| name.clone(), |index| index.to_string()));
        }
        out
    }
}

/// What a document has there.
pub(crate) fn value_at<'d>(document: &'d Table, field: &str) -> Option<&'d Value> {
    let steps = FieldPath::parse(field).ok()?.canonical(document);
    let (first, rest) = steps.split_first()?;
    rest.iter().try_fold(document.get(first)?, |value, step| match step.parse::<usize>() {
        Ok(index) if value.is_array() => value.get(index),
        _ => value.get(step),
    })
}

/// Whether to set one is to set a part of the other; both canonical.
pub(crate) fn overlap(one: &[String], other: &[String]) -> bool {
    one.iter().zip(other).all(|(a, b)| a == b)
}

fn name_of(entry: &Value) -> Option<&str> {
    entry.get("name").and_then(Value::as_str)
}

/// A name goes before a number, as a flow may be called `1`.
fn index_of(entries: &[Value], key: &str) -> Option<usize> {
    let by_name = entries.iter().position(|entry| name_of(entry) == Some(key));
    by_name.or_else(|| key.parse().ok().filter(|index| *index < entries.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Table {
        "duration = \"1s\"\n[[flow]]\nname = \"a.b\"\npath = [\"x\", \"link\"]\n[[flow]]\nname = \"1\"\n"
            .parse()
            .unwrap()
    }

    fn set(path: &str) -> Result<Table, OverrideError> {
        let mut document = document();
        FieldPath::parse(path)?.set(&mut document, Value::Integer(7))?;
        Ok(document)
    }

    #[test]
    fn a_value_is_put_where_the_path_leads() {
        assert_eq!(set("link.loss").unwrap()["link"]["loss"], Value::Integer(7));
        assert_eq!(set("flow[a.b].start").unwrap()["flow"][0]["start"], Value::Integer(7));
        assert_eq!(set("flow[0].path[1]").unwrap()["flow"][0]["path"][1], Value::Integer(7));
        assert_eq!(set("host[a.b].rcvbuf_max").unwrap()["host"]["a.b"]["rcvbuf_max"], Value::Integer(7));
        assert_eq!(set("host.server.rcvbuf_max").unwrap()["host"]["server"]["rcvbuf_max"], Value::Integer(7));
        // A name goes before a number.
        assert_eq!(set("flow[1].bytes").unwrap()["flow"][1]["bytes"], Value::Integer(7));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_told() {
        for (path, words) in [
            ("", "expected a field"),
            ("flow[0", "expected a field"),
            ("flow[0]x", "expected a field"),
            ("a..b", "expected a field"),
            ("flow[2].start", "expected a flow of this scenario (0 to 1, or one of a.b, 1), found \"2\""),
            ("flow[0].path[2]", "expected a path of this scenario (0 to 1), found \"2\""),
            ("duration.x", "\"duration\" is not a table"),
            ("flow.x", "\"flow\" is not a table"),
        ] {
            let error = set(path).expect_err(path).to_string();
            assert!(error.contains(words), "{path}: {error}");
        }
    }

    #[test]
    fn one_field_has_one_canonical_path() {
        let canonical = |path: &str| FieldPath::parse(path).unwrap().canonical(&document());
        assert_eq!(canonical("flow[a.b].path[0]"), ["flow", "0", "path", "0"]);
        assert_eq!(canonical("flow[0].path"), ["flow", "0", "path"]);
        assert_eq!(canonical("host[x].y"), canonical("host.x.y"));
        assert!(overlap(&canonical("flow[a.b].path"), &canonical("flow[0].path[0]")));
        assert!(!overlap(&canonical("flow[0].path"), &canonical("flow[1].path")));
    }
}
