//! Exit codes of the `ccactl` binary, which library errors choose for themselves.

/// Done.
pub const OK: u8 = 0;
/// Any failure that has no code of its own.
pub const FAILURE: u8 = 1;
/// Bad input: an argument, a scenario, a recording.
pub const USAGE: u8 = 2;
/// The kernel lacks a feature.
pub const KERNEL: u8 = 3;
/// Not root, or a capability is missing.
pub const PERMISSION: u8 = 4;
/// Some sockets could not be moved.
pub const SOCKETS: u8 = 5;
/// A threshold of a scenario was missed.
pub const THRESHOLD: u8 = 6;
/// A cgroup of a policy file does not exist; all else is in force.
pub const WAITING: u8 = 7;
/// Ended by SIGINT.
pub const INTERRUPTED: u8 = 130;

/// A word for an exit code, for those who read errors by program.
#[must_use]
pub const fn kind(code: u8) -> &'static str {
    match code {
        OK => "ok",
        USAGE => "usage",
        KERNEL => "kernel",
        PERMISSION => "permission",
        SOCKETS => "sockets",
        THRESHOLD => "threshold",
        WAITING => "waiting",
        INTERRUPTED => "interrupted",
        _ => "failure",
    }
}
