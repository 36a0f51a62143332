//! Why a recording did not start or did not end well.
//!
//! A message holds its cause, so the field is not called `source`: whoever prints the chain would print it twice.

use ccactl_abi::exit;
use ccactl_host::{lock, output};
use ccactl_recording::write::NotAStream;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Every error names the object, what was found, and what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// The target exists and `force` was not given.
    #[error("{} exists: choose another file, or --force to replace it at the end of the recording", path.display())]
    Exists {
        /// The target.
        path: PathBuf,
    },
    /// Another process records to the same file.
    #[error("{} is being written by another recording: choose another file, or end that recording", path.display())]
    Busy {
        /// The target.
        path: PathBuf,
    },
    /// A killed recording left its stream behind.
    #[error(
        "{} is what a killed recording left: `ccactl recover` makes a file of it; move it away, or --force to discard it",
        path.display()
    )]
    Leftover {
        /// The stream.
        path: PathBuf,
    },
    /// The target cannot be made, before anything was recorded.
    #[error("cannot write {}: {cause}; choose a file in an existing, writable folder", path.display())]
    Target {
        /// The target or the stream beside it.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// What stands under the name, or leads to its folder, is not ours.
    #[error("cannot write {}: {cause}", path.display())]
    Unfit {
        /// The target, the stream beside it, or the folder.
        path: PathBuf,
        /// What it is, and what to do.
        cause: output::Error,
    },
    /// Standard output is asked for and cannot have the stream.
    #[error("-o - {reason}")]
    Stdout {
        /// Why not, and what to do.
        reason: &'static str,
    },
    /// Writing failed during the recording; the stream is kept.
    #[error("writing {} failed after {rows} rows: {cause}; these rows are kept in it and `ccactl report` reads them", path.display())]
    Write {
        /// The stream.
        path: PathBuf,
        /// Rows that are safe in it.
        rows: u64,
        /// What the system said, such as "No space left on device".
        cause: io::Error,
    },
    /// The Parquet file could not be made; the stream is kept.
    #[error("cannot write {}: {reason}; the {rows} rows are kept in {}: `ccactl recover` makes the file of it", path.display(), stream.display())]
    Convert {
        /// The target.
        path: PathBuf,
        /// The stream that is kept.
        stream: PathBuf,
        /// Rows in the stream.
        rows: u64,
        /// What went wrong.
        reason: String,
    },
    /// A stream whose recorder is alive.
    #[error("{} is still being written by a recording: end it with Ctrl-C, and it makes the file itself", path.display())]
    StillRecorded {
        /// The stream.
        path: PathBuf,
    },
    /// The Parquet file of a stream could not be made; the stream is as it was.
    #[error("cannot write {}: {reason}; {} is as it was", path.display(), stream.display())]
    Recover {
        /// The target.
        path: PathBuf,
        /// The stream.
        stream: PathBuf,
        /// What went wrong.
        reason: String,
    },
    /// The folder for the parts of a recording has something in it.
    #[error("{} is not an empty folder: with --rotate, name a folder that is new or empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// A stream that cannot be read at all.
    #[error(transparent)]
    NotAStream(#[from] NotAStream),
    /// No such network namespace.
    #[error("no network namespace {name:?}: `ip netns list` has {known}")]
    Netns {
        /// As the user wrote it.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No such process, or its sockets cannot be had.
    #[error("no process {pid} to record: {reason}")]
    NoProcess {
        /// As the user wrote it.
        pid: u32,
        /// What was found instead.
        reason: String,
    },
    /// An option outside its range.
    #[error("{option}: {found} is out of range, expected {expected}")]
    Option {
        /// The option as the user wrote it.
        option: &'static str,
        /// The value found.
        found: String,
        /// The range.
        expected: String,
    },
    /// Not root and a capability is missing.
    #[error("recording needs {missing}: run it as root")]
    Permission {
        /// Names of the missing capabilities.
        missing: String,
    },
    /// What was needed for the start alone could not be given up.
    #[error("{reason}")]
    Rights {
        /// What the kernel said.
        reason: String,
    },
    /// The kernel lacks what the collector needs.
    #[error("this kernel cannot record: {what}; needed are Linux 6.1 or newer with CONFIG_DEBUG_INFO_BTF=y")]
    Kernel {
        /// What is missing.
        what: String,
    },
    /// A BPF call failed.
    #[error("collector: cannot {doing}: {reason}")]
    Bpf {
        /// What was being done.
        doing: &'static str,
        /// What the kernel or the BPF library said.
        reason: String,
    },
    /// The state folders of ccactl could not be used.
    #[error("cannot {doing} {}: {cause}; {remedy}", path.display())]
    State {
        /// What was being done.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The announcement of this recorder.
    #[error(transparent)]
    Lock(#[from] lock::Error),
    /// A pinned map has another layout.
    #[error("{} was made by another version of ccactl ({found}, expected {expected}): unload everything with that version first", path.display())]
    SharedMap {
        /// The pin.
        path: PathBuf,
        /// Type and sizes found.
        found: String,
        /// Type and sizes expected.
        expected: String,
    },
}

impl Error {
    /// A file that cannot be written, or must not be.
    pub(crate) fn output(path: &Path) -> impl Fn(output::Error) -> Error {
        let path = path.to_owned();
        move |cause| match cause {
            output::Error::Exists => Error::Exists { path: path.clone() },
            output::Error::Io(cause) => Error::Target { path: path.clone(), cause },
            cause => Error::Unfit { path: path.clone(), cause },
        }
    }

    /// Exit code of the binary for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Exists { .. }
            | Error::Leftover { .. }
            | Error::Unfit { .. }
            | Error::NotEmpty { .. }
            | Error::Netns { .. }
            | Error::NoProcess { .. }
            | Error::Stdout { .. }
            | Error::Option { .. } => exit::USAGE,
            Error::Target { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Error::Target { .. } | Error::NotAStream(_) => exit::USAGE,
            Error::Permission { .. } | Error::Lock(lock::Error::Foreign { .. }) => exit::PERMISSION,
            Error::Lock(lock::Error::Interrupted { .. }) => exit::INTERRUPTED,
            Error::Kernel { .. } => exit::KERNEL,
            Error::Busy { .. }
            | Error::Write { .. }
            | Error::Convert { .. }
            | Error::Recover { .. }
            | Error::StillRecorded { .. }
            | Error::Bpf { .. }
            | Error::Rights { .. }
            | Error::State { .. }
            | Error::Lock(_)
            | Error::SharedMap { .. } => exit::FAILURE,
        }
    }
}
