//! How many connections the file descriptors of this process are enough for.

use crate::error::{Error, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Of one connection: two sockets, and two pipes of two ends while both directions have data in them.
const FILES_PER_CONNECTION: u64 = 6;
/// For everything else: listener, epoll, spare pipes, BPF, what is open for a moment.
const OTHER_FILES: u64 = 256;

/// What the process may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// `RLIMIT_NOFILE`.
    pub(crate) files: u64,
    /// Connections at a time, one at least.
    pub(crate) connections: usize,
}

impl Limits {
    /// Raises the soft limit to the hard one, which takes no rights.
    pub(crate) fn raise() -> Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(Error::system("read RLIMIT_NOFILE"))?;
        let raised = soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
        Ok(Self::within(if raised { hard } else { soft }))
    }

    fn within(files: u64) -> Self {
        let connections = files.saturating_sub(OTHER_FILES) / FILES_PER_CONNECTION;
        Self { files, connections: usize::try_from(connections.max(1)).unwrap_or(usize::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_shared_among_connections_and_leaves_room_for_the_rest() {
        for (files, connections) in [(0, 1), (256, 1), (1024, 128), (20_000, 3290), (65_536, 10_880)] {
            assert_eq!(Limits::within(files), Limits { files, connections });
        }
    }
}
