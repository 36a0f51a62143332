//! `queue = …`

use crate::fields::{Field, Kind};
use crate::reader::Fields;
use crate::spec::DISCIPLINES;
use crate::{Parameter, QueueSpec, ScenarioError};
use std::collections::BTreeMap;

pub(super) fn queue(fields: &Fields<'_, '_>) -> Result<QueueSpec, ScenarioError> {
    if !fields.is_table("queue") {
        let name: Option<String> = fields.optional("queue")?;
        let Some(name) = name else { return Ok(QueueSpec::drop_tail()) };
        let row =
            DISCIPLINES.iter().find(|row| row.name == name).ok_or_else(|| fields.error("queue", unknown(&name)))?;
        return Ok(QueueSpec { discipline: row.name, parameters: BTreeMap::new() });
    }
    let table = fields.table("queue")?;
    // Which fields there may be depends on one of them.
    let name: String = table.required("discipline")?;
    let row =
        DISCIPLINES.iter().find(|row| row.name == name).ok_or_else(|| table.error("discipline", unknown(&name)))?;
    let table = table.only(&row.table)?;
    let set = row.table.fields.iter().filter_map(|field| parameter(&table, field).transpose());
    Ok(QueueSpec { discipline: row.name, parameters: set.collect::<Result<_, _>>()? })
}

fn unknown(found: &str) -> String {
    let names: Vec<&str> = DISCIPLINES.iter().map(|row| row.name).collect();
    format!("expected a queue discipline ({}), found {found:?}", names.join(", "))
}

fn parameter(table: &Fields<'_, '_>, field: &Field) -> Result<Option<(&'static str, Parameter)>, ScenarioError> {
    let name = field.name;
    let value = match field.kind {
        Kind::Span => table.optional(name)?.map(Parameter::Span),
        Kind::Size => table.optional(name)?.map(Parameter::Size),
        Kind::Number(..) => table.optional(name)?.map(Parameter::Number),
        Kind::Count(..) => table.optional(name)?.map(Parameter::Count),
        Kind::Flag => table.optional(name)?.map(Parameter::Flag),
        // The discipline itself.
        _ => None,
    };
    Ok(value.map(|value| (name, value)))
}
