//! `[host.NAME]`

use crate::fields::HOST;
use crate::reader::Fields;
use crate::{HostSpec, ScenarioError};
use std::collections::BTreeMap;

pub(super) fn hosts(fields: Option<Fields<'_, '_>>) -> Result<BTreeMap<String, HostSpec>, ScenarioError> {
    let Some(fields) = fields else { return Ok(BTreeMap::new()) };
    fields.tables_by_key()?.into_iter().map(|(name, table)| Ok((name, host(table)?))).collect()
}

fn host(fields: Fields<'_, '_>) -> Result<HostSpec, ScenarioError> {
    let fields = fields.only(&HOST)?;
    Ok(HostSpec {
        rcvbuf_max: fields.optional("rcvbuf_max")?,
        sndbuf_max: fields.optional("sndbuf_max")?,
        gso_max_segs: fields.optional("gso_max_segs")?,
        sysctl: fields.optional("sysctl")?.unwrap_or_default(),
    })
}
