//! Which cells of a matrix are run: `--only buffer=5bdp,pair=reno+cubic`, `--cell ID`, `--shard 2/8`.

use crate::{Cell, Error};
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Cells that are asked for; all of them by default.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Those with one of these; all without any.
    pub only: Vec<Only>,
    /// Those of these names; all without any.
    pub cells: Vec<String>,
    /// A part of what the others leave.
    pub shard: Option<Shard>,
}

/// One of several parts of a matrix, whose cells are dealt out in turns, so that long ones do not all fall to one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    number: usize,
    of: NonZeroUsize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shard = || {
            let (number, of) = text.split_once('/')?;
            let shard = Shard { number: number.parse().ok()?, of: of.parse().ok()? };
            (1..=shard.of.get()).contains(&shard.number).then_some(shard)
        };
        shard().ok_or_else(|| format!("expected PART/PARTS from 1/1 on, such as 2/8, found {text:?}"))
    }
}

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

impl Selection {
    /// Whether it is one part of what several processes run together.
    #[must_use]
    pub fn is_a_part(&self) -> bool {
        self.shard.is_some() || !self.cells.is_empty()
    }

    /// The cells that are asked for, in their order.
    ///
    /// # Errors
    /// When a condition names an axis or a value that the matrix does not have, no cell has all labels of one, or no cell has a name.
    pub fn of(&self, matrix: &[Cell]) -> Result<Vec<Cell>, Error> {
        self.only.iter().try_for_each(|wanted| check(matrix, wanted))?;
        for id in &self.cells {
            if matrix.iter().all(|cell| cell.id != *id) {
                let nearest = ccactl_loader::nearest(id, matrix.iter().map(|cell| cell.id.as_str()));
                return Err(Error::Cell { nearest: nearest.into_iter().next(), found: id.clone() });
            }
        }
        let has_labels = |cell: &Cell| self.only.is_empty() || self.only.iter().any(|wanted| wanted.takes(cell));
        let has_name = |cell: &Cell| self.cells.is_empty() || self.cells.contains(&cell.id);
        let taken = matrix.iter().filter(|cell| has_labels(cell) && has_name(cell));
        Ok(match self.shard {
            None => taken.cloned().collect(),
            Some(Shard { number, of }) => taken.skip(number - 1).step_by(of.get()).cloned().collect(),
        })
    }
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
