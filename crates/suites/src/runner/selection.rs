//! `--only buffer=5bdp,pair=reno+cubic`: which cells of a matrix are run.

use crate::{Cell, Error};
use std::collections::BTreeSet;
use std::str::FromStr;

/// Labels that a cell must have, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Only(Vec<(String, String)>);

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let condition = |part: &str| match part.split_once('=') {
            Some((axis, value)) if !axis.trim().is_empty() && !value.trim().is_empty() => {
                Ok((axis.trim().to_owned(), value.trim().to_owned()))
            }
            _ => Err(format!("expected AXIS=VALUE, as in a cell's name, found {part:?}")),
        };
        text.split(',').map(condition).collect::<Result<_, _>>().map(Only)
    }
}

impl Only {
    fn takes(&self, cell: &Cell) -> bool {
        self.0.iter().all(|(axis, value)| cell.labels.get(axis) == Some(value))
    }
}

/// The cells that one of `only` takes, in their order; all of them without any.
///
/// # Errors
/// When a condition names an axis or a value that the matrix does not have, or no cell has all labels of one.
pub fn select(cells: &[Cell], only: &[Only]) -> Result<Vec<Cell>, Error> {
    for wanted in only {
        check(cells, wanted)?;
    }
    let taken = |cell: &&Cell| only.is_empty() || only.iter().any(|wanted| wanted.takes(cell));
    Ok(cells.iter().filter(taken).cloned().collect())
}

fn check(cells: &[Cell], wanted: &Only) -> Result<(), Error> {
    for (axis, value) in &wanted.0 {
        let values: BTreeSet<&str> =
            cells.iter().filter_map(|cell| cell.labels.get(axis)).map(String::as_str).collect();
        let refuse = |expected: String, found: &str| Err(Error::Selection { expected, found: found.to_owned() });
        if values.is_empty() {
            let axes: BTreeSet<&str> = cells.iter().flat_map(|cell| cell.labels.keys()).map(String::as_str).collect();
            return refuse(format!("an axis of the matrix ({})", listed(&axes)), axis);
        }
        if !values.contains(value.as_str()) {
            return refuse(format!("a value of {axis} ({})", listed(&values)), value);
        }
    }
    if !cells.iter().any(|cell| wanted.takes(cell)) {
        let text: Vec<String> = wanted.0.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        return Err(Error::Selection {
            expected: "labels that one cell has together".to_owned(),
            found: text.join(","),
        });
    }
    Ok(())
}

fn listed(values: &BTreeSet<&str>) -> String {
    values.iter().copied().collect::<Vec<_>>().join(", ")
}
