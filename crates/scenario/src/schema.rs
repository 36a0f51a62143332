//! The JSON schema of a scenario, from the tables of fields: for editors that complete and check while one writes. The reader
//! knows more, as fields depend on each other.

use crate::check::NAME_PATTERN;
use crate::fields::{ANY, DOCUMENT, Field, Kind, Table};
use crate::queue::{DISCIPLINES, Row};
use crate::spec::UNTIL_STOP;
use crate::units::{rate_units, span_units};
use serde_json::{Map, Value, json};

/// The JSON schema (draft 2020-12) of a scenario's document.
#[must_use]
pub fn schema() -> Value {
    let mut schema = table(&DOCUMENT, &[]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("ccactl scenario");
    schema["$defs"] = json!({
        "rate": quantity(&mut rate_units(), "a rate such as 50Mbit/s"),
        "span": quantity(&mut span_units(), "a time span such as 40ms"),
        "size": size(),
        "queue": queue(),
    });
    schema
}

fn table(table: &Table, constants: &[(&str, &str)]) -> Value {
    let property = |field: &Field| {
        let constant = constants.iter().find(|(name, _)| *name == field.name).map(|(_, value)| *value);
        let mut schema = constant.map_or_else(|| kind(field.kind), |value| json!({ "const": value }));
        let default = field.default.map_or_else(String::new, |default| format!("; default: {default}"));
        schema["description"] = json!(format!("{}{default}", field.doc));
        (field.name.to_owned(), schema)
    };
    let required: Vec<&str> = table.fields.iter().filter(|f| f.default.is_none()).map(|f| f.name).collect();
    let mut schema = json!({
        "type": "object",
        "properties": table.fields.iter().map(property).collect::<Map<_, _>>(),
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Text | Kind::Discipline => json!({ "type": "string" }),
        Kind::Name => json!({ "type": "string", "pattern": NAME_PATTERN }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(min, ANY) => json!({ "type": "integer", "minimum": min }),
        Kind::Count(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Rate => reference("rate"),
        Kind::Span => reference("span"),
        Kind::Size => reference("size"),
        Kind::Queue => reference("queue"),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Sampling => json!({ "anyOf": [{ "enum": ["ack", "rtt"] }, reference("span")] }),
        Kind::Strings => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Counts => json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } }),
        Kind::Settings => json!({ "type": "object", "additionalProperties": { "type": ["string", "number"] } }),
        Kind::Repeat => json!({ "anyOf": [{ "const": UNTIL_STOP }, { "type": "integer", "minimum": 1 }] }),
        Kind::Through => {
            json!({ "anyOf": [{ "const": "all" }, { "type": "array", "items": { "type": "string" }, "minItems": 1 }] })
        }
        Kind::Loss => json!({ "anyOf": [
            { "type": "number", "minimum": 0, "exclusiveMaximum": 1 },
            table(&crate::fields::LOSS, &[]),
        ] }),
        Kind::SpanOr(inner) => json!({ "anyOf": [reference("span"), table(inner, &[])] }),
        Kind::TextOr(inner) => json!({ "anyOf": [{ "type": "string" }, table(inner, &[])] }),
        Kind::Changes => json!({ "type": "object" }),
        Kind::Values => values(),
        Kind::Labels => json!({ "type": "object", "additionalProperties": values() }),
        Kind::Exchanges => json!({ "type": "object", "additionalProperties": { "type": "object" } }),
        Kind::Table(inner) => table(inner, &[]),
        Kind::Tables(inner) => json!({ "type": "array", "items": table(inner, &[]) }),
        Kind::Map(inner) => json!({ "type": "object", "additionalProperties": table(inner, &[]) }),
    }
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn values() -> Value {
    json!({ "type": "array", "items": { "type": ["string", "number", "boolean"] }, "minItems": 1 })
}

fn quantity(units: &mut dyn Iterator<Item = &str>, description: &str) -> Value {
    let units = units.collect::<Vec<_>>().join("|");
    json!({ "type": "string", "pattern": format!("^[0-9]+(\\.[0-9]*)?\\s*({units})$"), "description": description })
}

fn size() -> Value {
    let of = |unit: &str, number: Value| json!({ "type": "object", "properties": { unit: number }, "required": [unit], "additionalProperties": false });
    let whole = || json!({ "type": "integer", "minimum": 0 });
    json!({ "anyOf": [
        { "type": "string", "pattern": "^([0-9]+(\\.[0-9]*)?bdp|[0-9]+(B|p))$" },
        of("bdp", json!({ "type": "number", "minimum": 0 })),
        of("bytes", whole()),
        of("packets", whole()),
    ] })
}

fn queue() -> Value {
    let names: Vec<&str> = DISCIPLINES.iter().map(|row| row.name).collect();
    let form = |row: &Row| {
        let mut schema = table(&row.table, &[("discipline", row.name)]);
        schema["description"] = json!(row.doc);
        schema
    };
    let forms = std::iter::once(json!({ "enum": names })).chain(DISCIPLINES.iter().map(form));
    json!({ "anyOf": forms.collect::<Vec<_>>() })
}
