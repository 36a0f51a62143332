//! Names of everything that one bench makes.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Prefix of every name.
pub const PREFIX: &str = "ccactl";

/// Owner of a bench: its process, by pid *and* start time, as pids are used again, and a counter for several
/// benches of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunId {
    pid: u32,
    start_ticks: u64,
    serial: u32,
}

impl RunId {
    /// A new id of this process.
    #[must_use]
    pub fn new() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        RunId { pid, start_ticks: start_ticks(pid).unwrap_or(0), serial: SERIAL.fetch_add(1, Ordering::Relaxed) }
    }

    /// For names of at most 15 bytes: those of processes that live at the same time differ.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{:06x}{:03x}", self.pid, self.serial & 0xfff)
    }

    /// Whether the process that made it is still there.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }

    /// The id in a name such as `ccactl-12-345-0-rx` or `ccactl-bench-12-345-0`.
    #[must_use]
    pub fn in_name(name: &str) -> Option<RunId> {
        let rest = name.strip_prefix(PREFIX)?.strip_prefix('-')?;
        let rest = rest.strip_prefix("bench-").unwrap_or(rest);
        let mut parts = rest.splitn(4, '-');
        let id = [parts.next()?, parts.next()?, parts.next()?].join("-");
        id.parse().ok()
    }
}

impl Default for RunId {
    fn default() -> Self {
        RunId::new()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.pid, self.start_ticks, self.serial)
    }
}

impl FromStr for RunId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('-');
        let mut next = || parts.next().unwrap_or("");
        Ok(RunId { pid: next().parse()?, start_ticks: next().parse()?, serial: next().parse()? })
    }
}

/// Start time of a process in clock ticks since boot (field 22 of `/proc/PID/stat`).
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name may hold spaces and brackets; fields are counted from its closing bracket.
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_again_in_the_names_made_with_it() {
        let id = RunId::new();
        assert_eq!(RunId::in_name(&format!("ccactl-{id}-rx")), Some(id));
        assert_eq!(RunId::in_name(&format!("ccactl-bench-{id}")), Some(id));
        assert!(id.is_alive());
    }

    #[test]
    fn names_of_others_and_dead_processes_are_told_apart() {
        for name in ["", "ccactl", "ccactl-", "ccactl-web", "ccactl-bench-x", "other-1-2-3", "ccactl-1-2"] {
            assert_eq!(RunId::in_name(name), None, "{name:?}");
        }
        let reused_pid = RunId { start_ticks: 1, ..RunId::new() };
        assert!(!reused_pid.is_alive());
    }
}
