//! How much a black box may write.

use serde::Serialize;
use std::collections::VecDeque;
use std::time::Duration;

/// Bounds of a black box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files that begin within any minute.
    pub per_minute: u32,
    /// Of all files together, in bytes.
    pub disk_bytes: u64,
    /// Of the rows in memory, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { per_minute: 10, disk_bytes: 1 << 30, memory_bytes: 32 << 20 }
    }
}

/// Triggers that have no file of their own, by reason, and rows that were forgotten too early.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Suppressed {
    /// More than `--max-per-minute`.
    pub per_minute: u64,
    /// More than `--max-disk`.
    pub disk: u64,
    /// The file could not be written.
    pub failed: u64,
    /// Within the file of an earlier one of the same socket.
    pub within: u64,
    /// Rows that went before their time, as `--ring-memory` was full.
    pub evicted_rows: u64,
}

impl Suppressed {
    /// Triggers of which nothing was kept.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.per_minute + self.disk + self.failed
    }
}

/// When files began in the last minute.
#[derive(Debug)]
pub struct Pace {
    per_minute: usize,
    begun_ns: VecDeque<u64>,
}

impl Pace {
    /// None yet.
    #[must_use]
    pub fn new(limits: &Limits) -> Pace {
        Pace { per_minute: limits.per_minute as usize, begun_ns: VecDeque::new() }
    }

    /// Whether one more may begin now; then it counts.
    pub fn takes(&mut self, now_ns: u64) -> bool {
        const MINUTE_NS: u64 = Duration::from_secs(60).as_nanos() as u64;
        while self.begun_ns.front().is_some_and(|begun| begun + MINUTE_NS <= now_ns) {
            self.begun_ns.pop_front();
        }
        let takes = self.begun_ns.len() < self.per_minute;
        if takes {
            self.begun_ns.push_back(now_ns);
        }
        takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_minute_has_as_many_as_allowed() {
        let mut pace = Pace::new(&Limits { per_minute: 2, ..Limits::default() });
        let second = |s: u64| s * 1_000_000_000;
        assert_eq!(
            [0, 30, 59, 60, 61, 89, 90].map(|s| pace.takes(second(s))),
            [true, true, false, true, false, false, true]
        );
    }
}
