//! `[[matrix]]`: axes whose cross product are the cells of a sweep. A cell is the document with the changes of one point of every
//! axis, parsed like any other document, so that every check holds for every cell.

mod read;

use crate::field_path::{FieldPath, overlap};
use crate::{Override, Scenario};
use std::collections::BTreeMap;
use toml::{Table, Value};

pub(crate) use read::{axes, changes, exchanges, labels};

/// More runs than anybody waits for; a mistake in an axis is told before the memory is full.
const MAX_CELLS: usize = 1000;

/// One axis of a sweep.
#[derive(Debug, Clone)]
pub struct Axis {
    /// Name.
    pub name: String,
    pub(crate) points: Vec<Point>,
    /// Where it stands in the document, bytes.
    offset: usize,
}

/// One point of an axis.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub label: String,
    pub changes: Vec<Override>,
    /// Where it stands in the document, bytes.
    offset: usize,
}

/// One experiment of a sweep.
#[derive(Debug, Clone)]
pub struct Cell {
    /// `buffer=5bdp,pair=reno+cubic`, in the order of the axes, [`WHOLE`] where there is none; unique, and a name for a folder.
    pub id: String,
    /// Label of the cell's point by the name of the axis.
    pub labels: BTreeMap<String, String>,
    /// What to run.
    pub scenario: Scenario,
}

/// Id of the only cell of a scenario without a matrix.
pub const WHOLE: &str = "whole";

/// Values of an axis with what takes their place.
pub(crate) type Exchanges = Vec<(String, Value)>;

/// What is wrong with a matrix: where in the document, field, and in words.
#[derive(Debug)]
pub(crate) struct Fault {
    pub offset: usize,
    pub field: String,
    pub message: String,
}

impl Axis {
    /// Labels of its points, in their order.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.points.iter().map(|point| point.label.as_str())
    }

    /// Whether one of its points sets a field to this value, as it is written.
    fn has_value(&self, written: &str) -> bool {
        self.points.iter().flat_map(|point| &point.changes).any(|change| text(&change.value) == written)
    }

    /// Puts values in the place of others; the labels stay.
    pub(crate) fn exchange(&mut self, exchanges: &[(String, Value)]) {
        for change in self.points.iter_mut().flat_map(|point| &mut point.changes) {
            if let Some((_, new)) = exchanges.iter().find(|(old, _)| *old == text(&change.value)) {
                change.value = new.clone();
            }
        }
    }
}

/// A value as it is written, text without its quotes.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The axis of a name, or what is wrong with the name.
pub(crate) fn named<'a>(axes: &'a [Axis], name: &str) -> Result<&'a Axis, String> {
    axes.iter().find(|axis| axis.name == name).ok_or_else(|| {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        format!("expected an axis of the matrix ({}), found {name:?}", names.join(", "))
    })
}

/// No field is set by two axes: the later one would hide the other.
pub(crate) fn check_fields(axes: &[Axis], document: &Table) -> Result<(), Fault> {
    for (i, axis) in axes.iter().enumerate() {
        for other in &axes[..i] {
            let clash =
                axis.points.iter().flat_map(|point| &point.changes).find(|change| sets(other, change, document));
            if let Some(change) = clash {
                let message = format!(
                    "expected a field that no other axis sets, found {} in the axis {:?} too",
                    change.field, other.name
                );
                return Err(Fault { offset: axis.offset, field: format!("matrix[{i}]"), message });
            }
        }
    }
    Ok(())
}

/// Whether a point of the axis sets the field of a change, or a part of it.
pub(crate) fn sets(axis: &Axis, change: &Override, document: &Table) -> bool {
    let mut others = axis.points.iter().flat_map(|point| &point.changes);
    others.any(|other| same_field(&other.field, &change.field, document))
}

fn same_field(one: &str, other: &str, document: &Table) -> bool {
    match (FieldPath::parse(one), FieldPath::parse(other)) {
        (Ok(one), Ok(other)) => overlap(&one.canonical(document), &other.canonical(document)),
        _ => false,
    }
}

/// All cells, the last axis changing fastest. `document` has no matrix any more.
pub(crate) fn cells(origin: &str, document: &Table, axes: &[Axis]) -> Result<Vec<Cell>, Fault> {
    let count = axes.iter().try_fold(1usize, |product, axis| product.checked_mul(axis.points.len()));
    if count.is_none_or(|count| count > MAX_CELLS) {
        let sizes: Vec<String> = axes.iter().map(|axis| axis.points.len().to_string()).collect();
        let message = format!("expected at most {MAX_CELLS} cells, found {}", sizes.join(" × "));
        return Err(Fault { offset: axes[0].offset, field: "matrix".to_owned(), message });
    }
    let mut combinations: Vec<Vec<&Point>> = vec![Vec::new()];
    for axis in axes {
        let mut longer = Vec::with_capacity(combinations.len() * axis.points.len());
        for chosen in &combinations {
            longer.extend(axis.points.iter().map(|point| [chosen.as_slice(), &[point]].concat()));
        }
        combinations = longer;
    }
    combinations.into_iter().map(|points| cell(origin, document, axes, &points)).collect()
}

fn cell(origin: &str, document: &Table, axes: &[Axis], points: &[&Point]) -> Result<Cell, Fault> {
    let labels: BTreeMap<String, String> =
        axes.iter().zip(points).map(|(axis, point)| (axis.name.clone(), point.label.clone())).collect();
    let parts = axes.iter().zip(points).map(|(axis, point)| format!("{}={}", axis.name, folder_name(&point.label)));
    let id = if axes.is_empty() { WHOLE.to_owned() } else { parts.collect::<Vec<_>>().join(",") };
    let fault = |index: usize, field: &str, message: &dyn std::fmt::Display| Fault {
        offset: points.get(index).map_or(0, |point| point.offset),
        field: format!("matrix[{index}]"),
        message: if field.is_empty() {
            format!("cell {id}: {message}")
        } else {
            format!("cell {id}: {field}: {message}")
        },
    };
    let mut document = document.clone();
    for (i, point) in points.iter().enumerate() {
        crate::overrides::apply(&mut document, &point.changes).map_err(|error| fault(i, "", &error))?;
    }
    let scenario = crate::overrides::parse_changed(origin, &document).map_err(|(field, message)| {
        // The point that sets the field is where its author has to look, else the one that made the cell what it is.
        let sets_it = |point: &&Point| point.changes.iter().any(|change| same_field(&change.field, &field, &document));
        fault(points.iter().position(sets_it).unwrap_or(points.len().saturating_sub(1)), &field, &message)
    })?;
    Ok(Cell { id, labels, scenario })
}

/// A label as a part of a folder's name: `50Mbit/s` becomes `50Mbit-s`.
fn folder_name(label: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+%:".contains(c);
    label.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}
