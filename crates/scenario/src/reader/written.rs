//! Values that are handed on as they are: the points of an axis, and changes of any field.

use super::values::FromValue;
use super::values::{expected, integer_text};
use toml::Value;
use toml::de::DeValue;

/// A value with its text as the author wrote it: `1e-7` is not `0.0000001` to a reader of tables.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub text: String,
    pub value: Value,
}

impl FromValue for Vec<Written> {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        let Some(array) = value.as_array() else { return expected("an array", value) };
        array.iter().map(|entry| written(entry.get_ref())).collect()
    }
}

impl FromValue for Value {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        self::value(value)
    }
}

fn written(value: &DeValue<'_>) -> Result<Written, String> {
    let text = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => integer_text(number),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(flag) => flag.to_string(),
        other => return expected("text, numbers, true or false (tables have a place in cells)", other),
    };
    Ok(Written { text, value: self::value(value)? })
}

/// Any value of TOML but a date.
fn value(value: &DeValue<'_>) -> Result<Value, String> {
    match value {
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix()).map(Value::Integer);
            read.or_else(|_| expected("a whole number of 64 bits", value))
        }
        DeValue::Float(number) => number.as_str().parse().map(Value::Float).or_else(|_| expected("a number", value)),
        DeValue::Boolean(flag) => Ok(Value::Boolean(*flag)),
        DeValue::Array(entries) => {
            entries.iter().map(|entry| self::value(entry.get_ref())).collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Table(table) => table
            .iter()
            .map(|(key, entry)| Ok((key.get_ref().to_string(), self::value(entry.get_ref())?)))
            .collect::<Result<_, _>>()
            .map(Value::Table),
        DeValue::Datetime(_) => expected("a value that a field can have", value),
    }
}
