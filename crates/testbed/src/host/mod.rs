//! What a bench makes on the host: namespaces, devices, cgroups, processes. Each has a guard that removes it,
//! and a name with the run id, by which `bench clean` finds what a killed run left.

pub mod cgroup;
pub mod clean;
pub mod cpu;
pub mod entry;
pub(crate) mod iproute;
pub(crate) mod mptcp;
mod netlink;
pub mod netns;
pub(crate) mod offload;
pub mod priority;
pub mod process;
pub mod qdisc;
pub mod run_id;
pub(crate) mod talker;
pub mod tun;
pub mod veth;
