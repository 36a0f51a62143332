//! Tables of what the board has: rows with names and figures, columns, sorting, filtering, plain text. No terminal.

mod columns;
mod fit;
mod flow_row;
mod format;
mod group_row;
mod inner;
mod plain;
mod snapshot;

pub use columns::{ALGORITHMS, CGROUPS, Column, FLOWS, Key, Row, RowId};
pub use fit::{Fitted, MARK_WIDTH, cells, fit};
pub use flow_row::FlowRow;
pub use format::{elide, spark};
pub use group_row::GroupRow;
pub use inner::InnerValue;
pub use plain::plain;
pub use snapshot::{Snapshot, Status};
