//! Fault injection: where a test may have the process killed. Compiled in only with the feature `fault-injection`, which
//! nothing but the tests of this workspace turns on.

/// Every point, in the order in which operations pass them.
#[cfg(feature = "fault-injection")]
pub const POINTS: &[&str] = &[
    "registered",
    "replacing",
    "replaced",
    "attached",
    "history",
    "policy",
    "moving",
    "moved",
    "settled",
    "canary-moved",
    "leaving",
    "given-back",
    "detached",
    "policy-removed",
    "history-dropped",
    "collected",
    "receiver-recorded",
    "receiver-replacing",
    "receiver-replaced",
    "receiver-detached",
];

/// Kills this process with SIGKILL when `CCACTL_FAULT` names the point, or names it with a count: `moving:3` is the
/// third time that it is passed. With `CCACTL_FAULT_STOPS` it is stopped there (SIGSTOP) and goes on with SIGCONT.
#[cfg(feature = "fault-injection")]
pub(crate) fn point(name: &'static str) {
    use nix::sys::signal::{Signal, raise};
    use std::sync::atomic::{AtomicU32, Ordering};

    static PASSED: AtomicU32 = AtomicU32::new(0);
    assert!(POINTS.contains(&name), "{name} is missing in POINTS");
    let Ok(wanted) = std::env::var("CCACTL_FAULT") else { return };
    let (wanted, count) = wanted.split_once(':').map_or((wanted.as_str(), 1), |(wanted, count)| {
        (wanted, count.parse().expect("CCACTL_FAULT is NAME or NAME:COUNT"))
    });
    if wanted == name && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == count {
        let stops = std::env::var_os("CCACTL_FAULT_STOPS").is_some();
        let _ = raise(if stops { Signal::SIGSTOP } else { Signal::SIGKILL });
    }
}

/// Nothing.
#[cfg(not(feature = "fault-injection"))]
pub(crate) fn point(_name: &'static str) {}
