//! Settings of hosts.

use serde::Serialize;
use std::collections::BTreeMap;

/// Name of the common server.
pub const SERVER: &str = "server";
/// Stands for every host.
pub const ALL_HOSTS: &str = "all";

/// Settings of one host; a host is a network namespace of its own.
///
/// The limits are those of the buffers that tune themselves, `tcp_rmem` and `tcp_wmem`. The kernel's `net.core.rmem_max`
/// and `wmem_max` belong to the whole machine, not to a namespace, and only bound `SO_RCVBUF` and `SO_SNDBUF`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct HostSpec {
    /// Third value of `net.ipv4.tcp_rmem`, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rcvbuf_max: Option<u64>,
    /// Third value of `net.ipv4.tcp_wmem`, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sndbuf_max: Option<u64>,
    /// Most segments that a sender of the host hands to its device at once (`gso_max_segs`); 1 = as without segmentation offload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_max_segs: Option<u32>,
    /// By path below `/proc/sys/net`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
}
