//! `[[proxy]]`

use crate::fields::PROXY;
use crate::reader::Fields;
use crate::{ProxySpec, ScenarioError};

pub(super) fn proxy(fields: Fields<'_, '_>) -> Result<ProxySpec, ScenarioError> {
    let fields = fields.only(&PROXY)?;
    Ok(ProxySpec {
        name: fields.or("name", "proxy".to_owned())?,
        after: fields.required("after")?,
        client_algorithm: fields.required("client_algorithm")?,
        server_algorithm: fields.required("server_algorithm")?,
        upload_target: fields.optional("upload_target")?,
    })
}
