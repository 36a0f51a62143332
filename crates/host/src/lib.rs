//! How ccactl behaves on a host that others use too.
//!
//! - [`lock`]: folders of our own, and locks that nobody else can take or hold.
//! - [`interrupt`]: whether this process is asked to end; whatever waits looks here.
//! - [`input`]: files that are read as a whole, without waiting and without end.
//! - [`output`]: files that are never written through somebody else's.
//! - [`capabilities`]: rights that are given up once they have been used.
//! - [`state`]: who may change the folder of pins, and who is recording.
//! - [`terminal`]: names of others, fit for a terminal.
//! - [`table`]: rows of cells as lines.
//! - [`units`]: times, rates and sizes as people write them and read them.
//! - [`quantiles`]: histograms for percentiles.
//! - [`name`]: paths as text from which the path can be made again.

pub mod capabilities;
pub mod input;
pub mod interrupt;
pub mod lock;
pub mod name;
pub mod output;
pub mod quantiles;
pub mod state;
pub mod table;
pub mod terminal;
pub mod units;
