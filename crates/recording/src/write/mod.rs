//! From rows of the ABI to the files of a recording.

mod clock;
mod error;
mod events;
mod known;
pub mod parquet;
pub mod rows;
mod stream;
mod text;

pub use clock::{Clock, rfc3339, utc_compact};
pub use error::NotAStream;
pub use events::{EVENT_NAMES, EventSet, EventSetError, by_event_name};
pub use known::{KnownAlgorithm, Resolver};
pub use parquet::convert_stream;
pub use stream::{StreamEncoder, StreamFile};
