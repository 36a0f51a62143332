//! Records TCP sockets: a BPF ring buffer becomes an Arrow IPC stream while it runs and a Parquet file at the end.
//!
//! ```text
//! collect.bpf.c ──ring buffer──▶ recorder (async) ──bounded channel──▶ writer thread ──▶ FILE.partial.arrows ──▶ FILE
//! ```
//!
//! Columns, metadata and files are those of `ccactl_recording` and `docs/schema.md`. A recording is
//! [`record`] (async, on the caller's runtime) or [`Recorder`] (a thread of its own).

mod counts;
mod deadline;
mod error;
mod feed;
mod host;
mod kept;
mod metadata;
mod netns;
mod options;
mod output;
mod owner;
mod probe;
mod progress;
mod recorder;
mod recover;
mod rotate;
mod sorter;
mod thread;
mod writer;

pub use ccactl_recording::metadata::{Canary, DropReasons as Drops, FlowInfo, Link, Metadata, TriggerInfo};
pub use ccactl_recording::names::{partial_path, recovered_path};
pub use ccactl_recording::write::{
    Clock, EventSet, EventSetError, KnownAlgorithm, Resolver, StreamFile, convert_stream, rows, utc_compact,
};
pub use error::{Error, Result};
pub use kept::write_rows;
pub use netns::netns_inode;
pub use options::{CgroupFilter, Every, Output, RecordOptions, Tap};
pub use progress::{Phase, Progress};
pub use recorder::{Summary, record};
pub use recover::{Recovered, recover, streams_in};
pub use rotate::{Rotation, RotationError};
pub use thread::Recorder;
