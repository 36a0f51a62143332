//! What can go wrong on the testbed, each with the exit code of the binary.

use ccactl_abi::exit;
use ccactl_scenario::{OverrideError, ScenarioError};
use std::io;
use std::path::PathBuf;

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scenario was not taken.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A change of the scenario was not taken.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// A system call was refused.
    #[error("{action}: {cause}{}", remedy(.cause))]
    System {
        /// What was tried, with the object in it.
        action: String,
        /// What the kernel answered.
        cause: io::Error,
    },
    /// Results cannot be written.
    #[error("output folder {}: expected a folder that can be written, found: {cause}; choose another with -o", path.display())]
    Output {
        /// The folder.
        path: PathBuf,
        /// What the system answered.
        cause: io::Error,
    },
    /// A file of results is not as it was written.
    #[error("{}: expected a file of results of ccactl, found: {reason}; run the bench again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// An algorithm or a policy was refused.
    #[error(transparent)]
    Loader(#[from] ccactl_loader::Error),
    /// The recording failed.
    #[error(transparent)]
    Collector(#[from] ccactl_collector::Error),
    /// A recording could not be evaluated.
    #[error(transparent)]
    Report(#[from] ccactl_report::Error),
    /// A flow ended in a way that makes its figures worthless.
    #[error("flow {flow}: {message}")]
    Flow {
        /// Name of the flow.
        flow: String,
        /// Expected and found.
        message: String,
    },
    /// The recording ended before the run, without an error of its own.
    #[error("recording {}: expected it to last as long as the run, found that it has ended; this is a fault of ccactl", file.display())]
    RecorderEnded {
        /// The recording.
        file: PathBuf,
    },
    /// SIGINT or SIGTERM.
    #[error("interrupted; everything that was made has been removed")]
    Interrupted,
    /// The scenario asks for what this back end of links cannot do.
    #[error(transparent)]
    Unsupported(#[from] crate::unsupported::Unsupported),
    /// More hosts than this machine makes.
    #[error(
        "flow: expected {most} flows, UDP sources and further paths at the most, as each has a namespace of its own, found {found}; \
         run it with --sim"
    )]
    TooManyHosts {
        /// Of one scenario.
        most: usize,
        /// What it asks for.
        found: usize,
    },
    /// A C file that does not compile for this host.
    #[error(transparent)]
    Native(#[from] ccactl_native::BuildError),
    /// The kernel lacks a queue discipline.
    #[error(
        "--link netem: {field} needs the queue discipline {kind} of the kernel, found: {found}; load the module {module} \
         ({config}), or run it with --link emulator"
    )]
    NoDiscipline {
        /// Field of the scenario.
        field: &'static str,
        /// Name of the discipline.
        kind: &'static str,
        /// Module that has it.
        module: &'static str,
        /// Option of the kernel's configuration.
        config: String,
        /// What `tc` says.
        found: String,
    },
    /// The kernel has no MPTCP, or it is switched off.
    #[error(
        "flows with paths: expected a kernel with MPTCP (CONFIG_MPTCP, sysctl net.mptcp.enabled = 1), found: {cause}; give \
         these flows a path in place of paths"
    )]
    NoMptcp {
        /// What it answers to a socket of it.
        cause: io::Error,
    },
    /// A program of iproute2 is not there.
    #[error("expected the program {program}, found none; install iproute2")]
    NoProgram {
        /// `ip` or `tc`.
        program: &'static str,
    },
    /// A program of iproute2 refused.
    #[error("{line}: expected {expected}, found {found}")]
    Command {
        /// The whole command.
        line: String,
        /// What it was to do.
        expected: &'static str,
        /// What it said.
        found: String,
    },
    /// There is no place for a calibration.
    #[error("{0}")]
    Calibration(String),
    /// A thread of the testbed panicked.
    #[error("{0} ended with a panic; this is a fault of ccactl")]
    Panicked(&'static str),
}

/// What to do about an errno, where there is something.
fn remedy(cause: &io::Error) -> &'static str {
    match cause.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; run as root (CAP_NET_ADMIN and CAP_SYS_ADMIN are needed)",
        Some(libc::ENODEV | libc::ENXIO) => "; load the kernel module: modprobe tun",
        Some(libc::ENOSPC) => "; free some space or choose another folder with -o",
        _ => "",
    }
}

impl Error {
    /// Wraps a system error with what was tried.
    pub(crate) fn system(action: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let action = action.into();
        move |cause| Error::System { action, cause }
    }

    /// Exit code of the binary.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Output { cause, .. } if cause.kind() == io::ErrorKind::StorageFull => exit::FAILURE,
            Error::Scenario(_)
            | Error::Override(_)
            | Error::Unsupported(_)
            | Error::TooManyHosts { .. }
            | Error::Output { .. } => exit::USAGE,
            Error::NoDiscipline { .. } | Error::NoMptcp { .. } => exit::KERNEL,
            Error::System { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::Loader(error) => error.exit_code(),
            Error::Collector(error) => error.exit_code(),
            Error::Interrupted => exit::INTERRUPTED,
            Error::Report(error) => error.exit_code(),
            Error::System { .. }
            | Error::Native(_)
            | Error::Flow { .. }
            | Error::RecorderEnded { .. }
            | Error::NoProgram { .. }
            | Error::Command { .. }
            | Error::Calibration(_)
            | Error::Unreadable { .. }
            | Error::Panicked(_) => exit::FAILURE,
        }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
