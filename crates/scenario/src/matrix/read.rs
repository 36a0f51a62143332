//! Reads `[[matrix]]` and the tables of `[quick]`.

use super::{Axis, Exchanges, Point, folder_name, named};
use crate::check::check_name;
use crate::fields::{CELL, MATRIX};
use crate::reader::{Fields, Written};
use crate::{Override, ScenarioError};
use std::collections::HashSet;

const MAX_LABEL_BYTES: usize = 60;

/// The axes, in their order.
pub(crate) fn axes(tables: Vec<Fields<'_, '_>>) -> Result<Vec<Axis>, ScenarioError> {
    let mut axes: Vec<Axis> = Vec::new();
    for table in tables {
        let axis = axis(table.only(&MATRIX)?, &axes)?;
        axes.push(axis);
    }
    Ok(axes)
}

fn axis(fields: Fields<'_, '_>, before: &[Axis]) -> Result<Axis, ScenarioError> {
    let name: String = fields.required("name")?;
    check_name("name", &name).map_err(|problem| fields.error("name", problem.message))?;
    if before.iter().any(|axis| axis.name == name) {
        return Err(fields.error("name", format!("expected a name that no other axis has, found {name:?} twice")));
    }
    let given: Vec<&str> = ["values", "pairs", "cells"].into_iter().filter(|field| fields.has(field)).collect();
    let points = match given.as_slice() {
        ["values"] => values(&fields)?,
        ["pairs"] => pairs(&fields)?,
        ["cells"] => written_out(&fields)?,
        _ => {
            let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
            return Err(fields.error("name", format!("expected one of values, pairs and cells, found {found}")));
        }
    };
    check_labels(&fields, given[0], &points)?;
    Ok(Axis { name, points, offset: fields.offset() })
}

/// The fields that `values` or `pairs` set.
fn targets(fields: &Fields<'_, '_>) -> Result<Vec<String>, ScenarioError> {
    match (fields.optional::<String>("field")?, fields.optional::<Vec<String>>("fields")?) {
        (Some(field), None) => Ok(vec![field]),
        (None, Some(several)) => match several.iter().collect::<HashSet<_>>().len() {
            0 => Err(fields.error("fields", "expected at least one field, found none".to_owned())),
            distinct if distinct < several.len() => {
                Err(fields.error("fields", "expected each field once, found one twice".to_owned()))
            }
            _ => Ok(several),
        },
        (None, None) => Err(fields.missing("field")),
        (Some(_), Some(_)) => Err(fields.error("fields", "expected either field or fields, found both".to_owned())),
    }
}

fn values(fields: &Fields<'_, '_>) -> Result<Vec<Point>, ScenarioError> {
    let targets = targets(fields)?;
    let written: Vec<Written> = fields.required("values")?;
    let change = |field: &String, written: &Written| Override { field: field.clone(), value: written.value.clone() };
    let point = |written: Written| Point {
        changes: targets.iter().map(|field| change(field, &written)).collect(),
        label: written.text,
        offset: fields.offset_of("values"),
    };
    Ok(written.into_iter().map(point).collect())
}

/// All unordered pairs with repetition: n (n + 1) / 2.
fn pairs(fields: &Fields<'_, '_>) -> Result<Vec<Point>, ScenarioError> {
    let targets = targets(fields)?;
    let [first, second] = targets.as_slice() else {
        return Err(fields.error("pairs", format!("expected two fields beside pairs, found {}", targets.len())));
    };
    let written: Vec<Written> = fields.required("pairs")?;
    let pair = |one: &Written, other: &Written| Point {
        label: format!("{}+{}", one.text, other.text),
        changes: [(first, one), (second, other)]
            .map(|(field, written)| Override { field: field.clone(), value: written.value.clone() })
            .into(),
        offset: fields.offset_of("pairs"),
    };
    let from = |i: usize| written[i..].iter().map(move |other| (i, other));
    Ok((0..written.len()).flat_map(from).map(|(i, other)| pair(&written[i], other)).collect())
}

fn written_out(fields: &Fields<'_, '_>) -> Result<Vec<Point>, ScenarioError> {
    for field in ["field", "fields"] {
        if fields.has(field) {
            return Err(fields.error(field, "expected no such field beside cells: each cell names its own".to_owned()));
        }
    }
    let cells = fields.optional_tables("cells")?;
    let cell = |cell: Fields<'_, '_>| {
        let cell = cell.only(&CELL)?;
        Ok(Point { label: cell.required("label")?, changes: changes(&cell, "set")?, offset: cell.offset() })
    };
    cells.into_iter().map(cell).collect()
}

fn check_labels(fields: &Fields<'_, '_>, source: &'static str, points: &[Point]) -> Result<(), ScenarioError> {
    if points.is_empty() {
        return Err(fields.error(source, "expected at least one point, found none".to_owned()));
    }
    let mut seen = HashSet::new();
    for point in points {
        let label = &point.label;
        if label.is_empty() || label.len() > MAX_LABEL_BYTES || label.chars().any(char::is_control) {
            let message = format!("expected labels of 1 to {MAX_LABEL_BYTES} printable bytes, found {label:?}");
            return Err(fields.error(source, message));
        }
        // As the folder's name has it, since two points must not share a folder.
        if !seen.insert(folder_name(label)) {
            return Err(fields.error(source, format!("expected each point once, found {label:?} twice")));
        }
    }
    Ok(())
}

/// A table from fields to values.
pub(crate) fn changes(fields: &Fields<'_, '_>, name: &'static str) -> Result<Vec<Override>, ScenarioError> {
    let Some(table) = fields.optional_table(name)? else { return Ok(Vec::new()) };
    Ok(table.by_key()?.into_iter().map(|(field, value)| Override { field, value }).collect())
}

/// A table from names of axes to labels.
pub(crate) fn labels(fields: &Fields<'_, '_>, name: &'static str) -> Result<Vec<(String, Vec<String>)>, ScenarioError> {
    let Some(table) = fields.optional_table(name)? else { return Ok(Vec::new()) };
    let by_axis = table.by_key::<Vec<Written>>()?;
    Ok(by_axis.into_iter().map(|(axis, labels)| (axis, labels.into_iter().map(|w| w.text).collect())).collect())
}

/// `instead`: by axis, values by those that they replace.
pub(crate) fn exchanges(fields: &Fields<'_, '_>, axes: &[Axis]) -> Result<Vec<(String, Exchanges)>, ScenarioError> {
    let Some(table) = fields.optional_table("instead")? else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for (name, exchanges) in table.tables_by_key()? {
        let axis = named(axes, &name).map_err(|message| fields.error("instead", message))?;
        let exchanges: Exchanges = exchanges.by_key()?;
        if let Some((old, _)) = exchanges.iter().find(|(old, _)| !axis.has_value(old)) {
            let message =
                format!("expected values of the axis {name:?} to replace, found {old:?} that it does not have");
            return Err(fields.error("instead", message));
        }
        all.push((name, exchanges));
    }
    Ok(all)
}
