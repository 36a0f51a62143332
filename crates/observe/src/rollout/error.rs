//! What can go wrong with a roll-out, each with the object, what was expected and what to do.

use crate::rollout::guard::GuardError;
use crate::rollout::share::Share;
use ccactl_abi::exit;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of a roll-out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A guard that means nothing.
    #[error("cannot read the guard '{text}': {reason}")]
    Guard {
        /// As written.
        text: String,
        /// What is wrong with it.
        reason: GuardError,
    },
    /// A canary that nothing would take back.
    #[error("a canary needs at least one guard, such as --revert-if 'retransmit_rate > 2 * baseline + 0.1%'")]
    NoGuard,
    /// A watch in which nothing could be seen.
    #[error("{option} {} s is too short: expected {} s or more", found.as_secs_f64(), needed.as_secs())]
    WatchTooShort {
        /// `--watch` or `--aa`.
        option: &'static str,
        /// As asked.
        found: Duration,
        /// The shortest.
        needed: Duration,
    },
    /// A guard that takes back what is no different.
    #[error(
        "the guard '{guard}' held while both groups had {algorithm}: {canary} in the share, {baseline} outside of it. \
         Nothing was moved; widen the guard, or wait until the flows are alike"
    )]
    HoldsAnyway {
        /// Which.
        guard: String,
        /// What both had.
        algorithm: String,
        /// Value of the sockets in the share, with its unit.
        canary: String,
        /// Of the others.
        baseline: String,
    },
    /// A guard of which the watch before the canary could say nothing.
    #[error("the guard '{guard}' could not be tried: {missing}. Nothing was moved; give --aa more time")]
    NotTried {
        /// Which.
        guard: String,
        /// What is missing.
        missing: String,
    },
    /// The watch before the canary was ended by a signal.
    #[error("interrupted before anything was moved")]
    Interrupted,
    /// A lease that is none.
    #[error("--lease {} s is out of range: expected {} s to {} s", found.as_secs_f64(), expected.start().as_secs(), expected.end().as_secs())]
    Lease {
        /// As asked.
        found: Duration,
        /// What can be.
        expected: std::ops::RangeInclusive<Duration>,
    },
    /// Figures of a handful of sockets say nothing.
    #[error(
        "canary with too few sockets: of {live} live ones that may move, {share} are {canary} for the canary and \
         {baseline} for the baseline, needed are {needed} in each; {remedy}"
    )]
    TooFewSockets {
        /// Sockets of the cgroup that a swap may move.
        live: u64,
        /// Of the canary.
        share: Share,
        /// Of those, in the share.
        canary: u64,
        /// And outside of it.
        baseline: u64,
        /// `--min-flows`.
        needed: u64,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The folder of the evidence, or a file in it.
    #[error("cannot write {}: {cause}; --evidence names another folder", path.display())]
    Evidence {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The canary could not be taken back.
    #[error("the canary was to be taken back ({why}), but that failed: {source}; `ccactl rollback` does it")]
    NotReverted {
        /// Why it was to be.
        why: String,
        /// What failed.
        source: ccactl_loader::Error,
    },
    /// Policies, sockets, the kernel.
    #[error(transparent)]
    Loader(#[from] ccactl_loader::Error),
    /// The recorder.
    #[error(transparent)]
    Collector(#[from] ccactl_collector::Error),
}

impl Error {
    /// Exit code of the binary for this error (`ccactl_abi::exit`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Guard { .. }
            | Error::NoGuard
            | Error::WatchTooShort { .. }
            | Error::Lease { .. }
            | Error::TooFewSockets { .. } => exit::USAGE,
            Error::Evidence { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::Evidence { .. } | Error::HoldsAnyway { .. } | Error::NotTried { .. } => exit::FAILURE,
            Error::Interrupted => exit::INTERRUPTED,
            Error::NotReverted { source, .. } => source.exit_code(),
            Error::Loader(error) => error.exit_code(),
            Error::Collector(error) => error.exit_code(),
        }
    }
}
