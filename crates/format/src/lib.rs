//! What a recording is on disk, for those who write and those who read one: the frames of its Arrow stream, the checksum of
//! its Parquet file, and how rows and columns lie in that.
//!
//! Frames and checksum stand between a damaged file and libraries that were not made for one. Nothing here knows a column
//! by its meaning.

pub mod checksum;
pub mod frames;
pub mod layout;
mod thrift;

pub use checksum::{CHECKSUM_KEY, SEALED_BY, SealedFile, UNSEALED, Verdict, verify};
pub use frames::{Frame, Frames, Problem};
