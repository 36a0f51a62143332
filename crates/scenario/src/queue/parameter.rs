//! From the form of a scenario to a discipline of the link model and back, by the table of disciplines.

use super::{DISCIPLINES, Row};
use crate::ScenarioError;
use crate::fields::{Field, Kind};
use crate::reader::Fields;
use crate::units::{Buffer, Span};
use ccactl_link::queue::Discipline;
use ccactl_link::{Capacity, Nanos};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use toml::{Table, Value};

/// What sizes of a link are counted with.
pub(crate) struct Sizes<'a> {
    /// From the form of a scenario to bytes or packets.
    pub capacity: &'a dyn Fn(Buffer) -> Capacity,
    /// A full packet on the wire.
    pub frame_bytes: u32,
}

/// The discipline of the field `queue` of a link.
pub(crate) fn queue(fields: &Fields<'_, '_>, sizes: &Sizes<'_>) -> Result<Discipline, ScenarioError> {
    let row = |name: &str| DISCIPLINES.iter().find(|row| row.name == name);
    if !fields.is_table("queue") {
        let name: Option<String> = fields.optional("queue")?;
        let name = name.as_deref().unwrap_or(DISCIPLINES[0].name);
        let row = row(name).ok_or_else(|| fields.error("queue", unknown(name)))?;
        return Ok((row.default)(sizes.frame_bytes));
    }
    let table = fields.table("queue")?;
    // Which fields there may be depends on one of them.
    let name: String = table.required("discipline")?;
    let row = row(&name).ok_or_else(|| table.error("discipline", unknown(&name)))?;
    let table = table.only(&row.table)?;
    let mut discipline = (row.default)(sizes.frame_bytes);
    for (field, place) in row.parameters().filter(|(field, _)| table.has(field.name)) {
        place(&mut discipline).read(field, &table, sizes)?;
    }
    Ok(discipline)
}

fn unknown(found: &str) -> String {
    let names: Vec<&str> = DISCIPLINES.iter().map(|row| row.name).collect();
    format!("expected a queue discipline ({}), found {found:?}", names.join(", "))
}

/// A discipline in the form of a scenario, with every parameter; the name alone where there is none.
pub(crate) fn serialize<S: Serializer>(discipline: &Discipline, serializer: S) -> Result<S::Ok, S::Error> {
    let is_same = |row: &&Row| std::mem::discriminant(&(row.default)(0)) == std::mem::discriminant(discipline);
    let row = DISCIPLINES.iter().find(is_same).expect("every discipline has a row");
    if row.places.is_empty() {
        return serializer.serialize_str(row.name);
    }
    let mut table = Table::from_iter([("discipline".to_owned(), Value::from(row.name))]);
    let mut discipline = discipline.clone();
    for (field, place) in row.parameters() {
        table.insert(field.name.to_owned(), place(&mut discipline).write(field).map_err(S::Error::custom)?);
    }
    table.serialize(serializer)
}

pub(super) type Read = Result<(), ScenarioError>;
pub(super) type Written = Result<Value, toml::ser::Error>;

/// A parameter in its place in the link model.
pub(super) trait Parameter {
    /// Takes over what the scenario sets.
    fn read(&mut self, field: &'static Field, fields: &Fields<'_, '_>, sizes: &Sizes<'_>) -> Read;
    fn write(&self, field: &Field) -> Written;
}

macro_rules! plain {
    ($($of:ty),*) => { $(
        impl Parameter for $of {
            fn read(&mut self, field: &'static Field, fields: &Fields<'_, '_>, _: &Sizes<'_>) -> Read {
                *self = fields.required(field.name)?;
                Ok(())
            }

            fn write(&self, _: &Field) -> Written {
                Value::try_from(self)
            }
        }
    )* };
}
plain!(bool, u32, f64, Vec<u32>);

/// A whole number, or a time.
impl Parameter for u64 {
    fn read(&mut self, field: &'static Field, fields: &Fields<'_, '_>, _: &Sizes<'_>) -> Read {
        *self = match field.kind {
            Kind::Span => fields.required::<Span>(field.name)?.ns,
            _ => fields.required(field.name)?,
        };
        Ok(())
    }

    fn write(&self, field: &Field) -> Written {
        match field.kind {
            Kind::Span => Value::try_from(Span { ns: *self }),
            _ => Value::try_from(self),
        }
    }
}

/// A time of which 0 is never.
impl Parameter for Option<Nanos> {
    fn read(&mut self, field: &'static Field, fields: &Fields<'_, '_>, sizes: &Sizes<'_>) -> Read {
        let mut ns = 0;
        ns.read(field, fields, sizes)?;
        *self = (ns > 0).then_some(ns);
        Ok(())
    }

    fn write(&self, field: &Field) -> Written {
        self.unwrap_or(0).write(field)
    }
}

impl Parameter for Capacity {
    fn read(&mut self, field: &'static Field, fields: &Fields<'_, '_>, sizes: &Sizes<'_>) -> Read {
        *self = (sizes.capacity)(fields.required(field.name)?);
        Ok(())
    }

    fn write(&self, _: &Field) -> Written {
        Value::try_from(Buffer::from(*self))
    }
}
