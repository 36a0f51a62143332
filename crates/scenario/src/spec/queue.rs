//! Queue disciplines: which there are, with their parameters.

use crate::fields::{Field, Kind, Table, required};
use crate::units::{Buffer, Span};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A discipline with the parameters that the scenario sets; the others have the values of the discipline's source.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSpec {
    /// Name.
    pub discipline: &'static str,
    /// By name.
    pub parameters: BTreeMap<&'static str, Parameter>,
}

/// Value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Parameter {
    /// A time.
    Span(Span),
    /// A queue length.
    Size(Buffer),
    /// A dimensionless number.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// On or off.
    Flag(bool),
}

/// A discipline of the link model.
#[derive(Debug)]
pub(crate) struct Discipline {
    pub name: &'static str,
    pub doc: &'static str,
    /// Its parameters, after the field `discipline`.
    pub table: Table,
}

const DISCIPLINE: Field = required("discipline", Kind::Discipline, "name");

/// The disciplines, in the order of the reference.
pub(crate) const DISCIPLINES: &[Discipline] = &[
    Discipline {
        name: "drop-tail",
        doc: "first come, first served; a packet without room is dropped",
        table: Table { title: "drop-tail", fields: &[DISCIPLINE] },
    },
    Discipline {
        name: "drop-head",
        doc: "the oldest waiting packet makes room for the new one",
        table: Table { title: "drop-head", fields: &[DISCIPLINE] },
    },
];

impl QueueSpec {
    /// First come, first served.
    #[must_use]
    pub fn drop_tail() -> Self {
        QueueSpec { discipline: "drop-tail", parameters: BTreeMap::new() }
    }
}

impl Serialize for QueueSpec {
    /// The name alone where no parameter is set.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.parameters.is_empty() {
            return serializer.serialize_str(self.discipline);
        }
        let mut map = serializer.serialize_map(Some(self.parameters.len() + 1))?;
        map.serialize_entry("discipline", self.discipline)?;
        self.parameters.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Parameter::Span(span) => span.serialize(serializer),
            Parameter::Size(size) => size.serialize(serializer),
            Parameter::Number(number) => serializer.serialize_f64(*number),
            Parameter::Count(count) => serializer.serialize_u64(*count),
            Parameter::Flag(flag) => serializer.serialize_bool(*flag),
        }
    }
}
