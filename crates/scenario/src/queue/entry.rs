//! Parameters that are lists of tables, such as `classes = [{ … }]`.

use super::parameter::{Parameter, Read, Sizes, Written};
use super::{CBQ_CLASS, CBQ_GROUP, CLASS};
use crate::ScenarioError;
use crate::fields::{Field, Table};
use crate::reader::Fields;
use ccactl_link::queue::{CbqClass, CbqGroup, Class};
use toml::Value;

/// One table of such a list.
trait Entry: Sized {
    /// Its fields.
    const TABLE: &'static Table;
    fn read(fields: &Fields<'_, '_>) -> Result<Self, ScenarioError>;
    /// Every field that is set, by name.
    fn write(&self) -> Vec<(&'static str, Value)>;
}

impl<T: Entry> Parameter for Vec<T> {
    fn read(&mut self, field: &'static Field, fields: &Fields<'_, '_>, _: &Sizes<'_>) -> Read {
        let entry = |fields: Fields<'_, '_>| T::read(&fields.only(T::TABLE)?);
        *self = fields.optional_tables(field.name)?.into_iter().map(entry).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn write(&self, _: &Field) -> Written {
        let table = |entry: &T| entry.write().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Value::Array(self.iter().map(|entry| Value::Table(table(entry))).collect()))
    }
}

impl Entry for Class {
    const TABLE: &'static Table = &CLASS;

    fn read(fields: &Fields<'_, '_>) -> Result<Self, ScenarioError> {
        Ok(Class { share_permille: fields.required("share_permille")?, borrow: fields.or("borrow", true)? })
    }

    fn write(&self) -> Vec<(&'static str, Value)> {
        share(self.share_permille, self.borrow).into()
    }
}

impl Entry for CbqGroup {
    const TABLE: &'static Table = &CBQ_GROUP;

    fn read(fields: &Fields<'_, '_>) -> Result<Self, ScenarioError> {
        let Class { share_permille, borrow } = Class::read(fields)?;
        Ok(CbqGroup { group: fields.optional("group")?, share_permille, borrow })
    }

    fn write(&self) -> Vec<(&'static str, Value)> {
        group(self.group).chain(share(self.share_permille, self.borrow)).collect()
    }
}

impl Entry for CbqClass {
    const TABLE: &'static Table = &CBQ_CLASS;

    fn read(fields: &Fields<'_, '_>) -> Result<Self, ScenarioError> {
        let CbqGroup { group, share_permille, borrow } = CbqGroup::read(fields)?;
        Ok(CbqClass { group, share_permille, borrow, priority: fields.or("priority", 0)? })
    }

    fn write(&self) -> Vec<(&'static str, Value)> {
        let priority = ("priority", Value::from(self.priority));
        group(self.group).chain(share(self.share_permille, self.borrow)).chain([priority]).collect()
    }
}

fn share(share_permille: u32, borrow: bool) -> [(&'static str, Value); 2] {
    [("share_permille", Value::from(share_permille)), ("borrow", Value::from(borrow))]
}

fn group(group: Option<u32>) -> impl Iterator<Item = (&'static str, Value)> {
    group.into_iter().map(|group| ("group", Value::from(group)))
}
