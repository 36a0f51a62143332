//! Proxies on the path.

use crate::units::Span;
use serde::Serialize;

/// A proxy that splits every flow which passes its node, unseen by both ends: `ccactl split --transparent`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProxySpec {
    /// Name of its host.
    pub name: String,
    /// The link behind which it stands, as the flows' hosts see it: their legs end here.
    pub after: String,
    /// Algorithm towards the flows' hosts.
    pub client_algorithm: String,
    /// Algorithm towards the server.
    pub server_algorithm: String,
    /// Delay that uploads of the flows' hosts may cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upload_target: Option<Span>,
}

impl ProxySpec {
    /// The links of a path on either side of it; `None` when it is not on the path.
    #[must_use]
    pub fn split<'a>(&self, path: &'a [String]) -> Option<(&'a [String], &'a [String])> {
        let place = path.iter().position(|link| *link == self.after)?;
        Some(path.split_at(place + 1))
    }
}
