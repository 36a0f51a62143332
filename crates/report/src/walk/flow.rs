//! Which flow a row belongs to.

/// Identity of a flow: socket cookies are unique within a network namespace only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FlowKey {
    /// Inode number of the network namespace.
    pub netns: u64,
    /// Socket cookie.
    pub flow_id: u64,
}

/// Addresses and cgroup of a flow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Endpoints {
    /// Local address.
    pub src: String,
    /// Remote address.
    pub dst: String,
    /// Local port.
    pub sport: u64,
    /// Remote port.
    pub dport: u64,
    /// cgroup2 id.
    pub cgroup_id: u64,
}

impl Endpoints {
    /// Local address and port.
    pub fn local(&self) -> String {
        socket(&self.src, self.sport)
    }

    /// Remote address and port.
    pub fn remote(&self) -> String {
        socket(&self.dst, self.dport)
    }
}

/// Address and port, with brackets around IPv6.
fn socket(address: &str, port: u64) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}
