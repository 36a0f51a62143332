//! `--label KEY=VALUE` of a recording.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::str::FromStr;

/// A value is a name, not a document.
const MAX_VALUE_BYTES: usize = 256;
const MAX_KEY_BYTES: usize = 63;

/// One label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    key: String,
    value: String,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Label, String> {
        let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as site=fra1")?;
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let is_key = key.len() <= MAX_KEY_BYTES
            && key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.chars().all(is_inner);
        if !is_key {
            return Err(format!(
                "expected a key of at most {MAX_KEY_BYTES} letters, digits, '_', '-' and '.' that begins with a letter, found {key:?}"
            ));
        }
        if value.is_empty() || value.len() > MAX_VALUE_BYTES || value.chars().any(char::is_control) {
            return Err(format!("expected a value of 1 to {MAX_VALUE_BYTES} bytes without control characters"));
        }
        Ok(Label { key: key.to_owned(), value: value.to_owned() })
    }
}

/// All of them; `None` when there are none.
pub fn together(labels: &[Label]) -> Result<Option<BTreeMap<String, String>>> {
    let mut all = BTreeMap::new();
    for Label { key, value } in labels {
        if let Some(other) = all.insert(key.clone(), value.clone()) {
            return Err(Error::Argument(format!("--label: {key} is given twice, as {other:?} and as {value:?}")));
        }
    }
    Ok((!all.is_empty()).then_some(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_a_plain_key_and_a_short_value() {
        let label = |key: &str, value: &str| Ok(Label { key: key.to_owned(), value: value.to_owned() });
        assert_eq!("site=fra1".parse(), label("site", "fra1"));
        assert_eq!("a.b-c_d=x = y".parse(), label("a.b-c_d", "x = y"));
        for text in ["site", "=x", "1a=x", "a b=x", "ä=x", "site=", "site=a\nb", &format!("site={}", "x".repeat(257))]
        {
            assert!(text.parse::<Label>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_key_stands_once() {
        let labels: Vec<Label> = ["a=1", "b=2"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(together(&labels).unwrap().unwrap().len(), 2);
        assert_eq!(together(&[]).unwrap(), None);
        let twice: Vec<Label> = ["a=1", "a=2"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(together(&twice).unwrap_err().to_string(), "--label: a is given twice, as \"1\" and as \"2\"");
    }
}
