//! Records TCP sockets: a BPF ring buffer becomes an Arrow IPC stream while it runs and a Parquet file at the end.
//!
//! ```text
//! collect.bpf.c ──ring buffer──▶ recorder (async) ──bounded channel──▶ writer thread ──▶ FILE.partial.arrows ──▶ FILE
//! ```
//!
//! The columns are those of `docs/schema.md` and stand in [`schema`], one row of a table each. A recording is
//! [`record`] (async, on the caller's runtime) or [`Recorder`] (a thread of its own).

mod clock;
mod counts;
mod deadline;
mod error;
mod events;
mod feed;
mod flow_order;
mod host;
mod metadata;
mod netns;
mod options;
mod output;
mod owner;
mod parquet_file;
mod probe;
mod recorder;
mod recover;
mod rotate;
pub mod schema;
mod sorter;
mod stream;
mod text;
mod thread;
mod units;
mod writer;

pub use clock::{Clock, utc_compact};
pub use counts::Drops;
pub use error::{Error, Result};
pub use events::{EventSet, EventSetError};
pub use metadata::{KnownAlgorithm, SCHEMA_VERSION, keys_table};
pub use netns::netns_inode;
pub use options::{CgroupFilter, Every, Output, RecordOptions, Resolver, Tap};
pub use output::partial_path;
pub use parquet_file::convert_stream;
pub use recorder::{Phase, Progress, Summary, record};
pub use recover::{Recovered, recover, recovered_path, streams_in};
pub use rotate::{Rotation, RotationError};
pub use stream::StreamFile;
pub use thread::Recorder;
pub use units::{UnitError, parse_bytes, parse_duration};
