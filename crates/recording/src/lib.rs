//! What a recording is, once: its files, its columns and its metadata, for those who write and those who read one.
//!
//! What both sides share is in the crate itself: names of files, the frames of an Arrow stream, the checksum of a Parquet
//! file. Frames and checksum stand between a damaged file and libraries that were not made for one.
//!
//! [`mod@write`] turns rows of the ABI into batches, streams and Parquet files by way of arrow and parquet; [`read`] turns files
//! into batches of Polars. They are one crate, so that a column or a key cannot mean one thing here and another there. They
//! are two features, so that a recorder is built without Polars and a report without clang and the BPF objects.

pub mod checksum;
pub mod columns;
pub mod frames;
pub mod layout;
pub mod metadata;
pub mod names;
#[cfg(feature = "read")]
pub mod read;
mod thrift;
#[cfg(feature = "write")]
pub mod write;

pub use checksum::{CHECKSUM_KEY, SEALED_BY, SealedFile, UNSEALED, Verdict, pairs, verify};
pub use columns::{Column, columns_table};
pub use frames::{Frame, Frames, Problem};
pub use metadata::{DropReasons, Key, Metadata, keys_table};

/// Version of the columns and keys; a reader refuses what it does not know.
pub const SCHEMA_VERSION: u32 = 4;
/// The oldest version that is still read.
pub const OLDEST_VERSION: u32 = 1;
