//! Recordings in an object store: finished parts go there from a spool on disk, and come back for a report.
//!
//! ```text
//! recorder ──parts──▶ SPOOL/NAME/parts ──uploader──▶ PREFIX/date=…/host=…/DATASET/part-00000.parquet
//! ```
//!
//! The recorder knows nothing of it: it writes parts into a folder. The [`Uploader`] takes every part that is complete,
//! puts it where nothing stands yet, and removes the file once the store has it. While the store does not answer, parts
//! wait; what the [spool](Spool) has no room for is given up, counted and told.

mod clock;
mod error;
mod fault;
mod folder;
mod location;
mod objects;
mod part;
mod queue;
mod spool;
mod store;
mod tally;
mod uploader;

pub use clock::Clock;
pub use error::{Error, Result};
pub use fault::{Fault, Kind};
pub use location::Location;
pub use part::Part;
pub use spool::{Claim, Destination, Spool};
pub use store::{Fetched, Put, Settings, Store};
pub use tally::{Report, Status, Tally};
pub use uploader::{Options, Prepare, Uploader};

#[cfg(test)]
#[path = "../tests/common/parts.rs"]
mod tests;
