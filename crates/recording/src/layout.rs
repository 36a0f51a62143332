//! How the rows of a recording lie in its Parquet file; how the values of a column do is said with the columns.

use crate::Column;

/// Rows of a row group: what the conversion holds in memory, some 100 MB of rows and 10 MB encoded, and what a reader can
/// skip.
pub const ROW_GROUP_ROWS: usize = 256 * 1024;

/// The columns that name a flow, in the order by which the rows of a row group are sorted; within a flow they are in order of
/// [`TIME`].
pub const FLOW: [Column; 2] = [Column::Netns, Column::FlowId];

/// The column of time.
pub const TIME: Column = Column::Time;
