//! What can go wrong in the virtual lab, each with the exit code of the binary.

use crate::kernel::BadRequest;
use ccactl_abi::exit;
use ccactl_host::lock;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Any failure of this crate.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages document the variants")]
pub enum Error {
    #[error(transparent)]
    Request(#[from] BadRequest),
    #[error(transparent)]
    Lock(#[from] lock::Error),
    #[error(
        "no QEMU: cannot run {program}: {cause}; install it (Debian: `apt-get install qemu-system-x86`), or name it with \
         CCACTL_QEMU"
    )]
    NoQemu { program: String, cause: io::Error },
    #[error("{program} ended with {status} before the guest did: {words}")]
    Qemu { program: String, status: String, words: String },
    #[error("no kernel '{asked}' for the lab: expected one of Debian's archive, which has {found}")]
    NoKernel { asked: String, found: String },
    #[error(
        "kernels for the lab come from Debian's archive: expected `{command}` to succeed, found: {found}; or give a kernel with \
         --kernel-image FILE --modules DIR"
    )]
    Apt { command: String, found: String },
    #[error("{}: expected an x86-64 Linux kernel image (bzImage), found {found}", path.display())]
    Image { path: PathBuf, found: String },
    #[error("{}: expected the modules of Linux {release}, found {found}", path.display())]
    Modules { path: PathBuf, release: String, found: String },
    #[error("no configuration of Linux {release}: expected its text in one of {}", names(looked))]
    NoConfig { release: String, looked: Vec<PathBuf> },
    #[error(
        "{}: expected the content with SHA-256 {expected}, found {found}; remove {} and it is downloaded again",
        path.display(), folder.display()
    )]
    Checksum { path: PathBuf, folder: PathBuf, expected: String, found: String },
    #[error("{}: expected a folder for kernels and runs of the lab, found: {cause}; CCACTL_CACHE names another", path.display())]
    Cache { path: PathBuf, cause: io::Error },
    #[error(
        "{}: expected {} MiB of space for the lab, found {} MiB; free some, or name another folder with {variable}",
        path.display(), needed >> 20, available >> 20
    )]
    NoSpace { path: PathBuf, needed: u64, available: u64, variable: &'static str },
    #[error("guest image: {what}: {cause}")]
    GuestImage { what: String, cause: io::Error },
    #[error("{}: expected a program for the guest, found {found}", path.display())]
    Program { path: PathBuf, found: String },
    #[error("the guest's kernel {release} panicked; the last lines of its console:\n{console}")]
    Panicked { release: String, console: String },
    #[error("the guest with Linux {release} ended without results; the last lines of its console:\n{console}")]
    NoResults { release: String, console: String },
    #[error(
        "the guest with Linux {release} did not end within {} s of the host's time; the last lines of its console:\n{console}",
        limit.as_secs()
    )]
    Hung { release: String, limit: Duration, console: String },
    #[error("results of the guest: {cause}")]
    Results { cause: io::Error },
    #[error("`ccactl {command}` in the guest {found}{words}")]
    Command { command: String, found: String, words: String, code: u8 },
    #[error(
        "flow {flow}: expected the built-in traffic, found a command; a guest of the lab has no program but ccactl"
    )]
    Unsupported { flow: String },
    #[error("interrupted; the guest has been ended and everything that was made has been removed")]
    Interrupted,
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Error {
    /// Wraps an error of the cache.
    pub(crate) fn cache(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |cause| Error::Cache { path, cause }
    }

    /// Wraps an error that came up while a guest image was made.
    pub(crate) fn image(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |cause| Error::GuestImage { what, cause }
    }

    /// Exit code of the binary.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Request(_)
            | Error::NoKernel { .. }
            | Error::Image { .. }
            | Error::Modules { .. }
            | Error::NoConfig { .. }
            | Error::Program { .. }
            | Error::Unsupported { .. } => exit::USAGE,
            Error::Interrupted | Error::Lock(lock::Error::Interrupted { .. }) => exit::INTERRUPTED,
            Error::Lock(lock::Error::Foreign { .. }) => exit::PERMISSION,
            Error::Command { code, .. } => *code,
            _ => exit::FAILURE,
        }
    }
}

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
