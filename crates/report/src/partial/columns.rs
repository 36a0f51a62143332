//! The columns of a summary file beside those of the tables (`tables::columns`).

/// Which table a line belongs to.
pub const TABLE: &str = "table";
/// Which segment.
pub const SEGMENT: &str = "segment";
/// The tables, in the order in which they stand in the file. The first one has the first row of each flow, and what is known of the
/// flow as a whole. The second one has the rows at its ends. The others are those of a recording.
pub const TABLES: [&str; 8] = ["heads", "edges", "stretches", "rtts", "phases", "intervals", "swaps", "drops"];

/// Whether the first row is that of the flow's opening.
pub const BEGINS: &str = "begins";
/// Values that occurred, such as RTTs of a stretch …
pub const VALUES: &str = "values";
/// … and how often each did.
pub const VALUE_TIMES: &str = "value_times";
/// When it was closed.
pub const CLOSED_US: &str = "closed_us";
/// Algorithm and phase of its first and of its last step.
pub const PHASES: [[&str; 2]; 2] = [["first_algorithm", "first_mode"], ["final_algorithm", "final_mode"]];
/// Rows in which a receiving algorithm decided.
pub const OFFER_ROWS: &str = "offer_rows";
/// When the first and the last of these were, and the payload received by then.
pub const RECEIVED: [[&str; 2]; 2] =
    [["received_from_us", "received_from_bytes"], ["received_to_us", "received_to_bytes"]];
/// Whether a row is at the end of its flow, or else at its beginning.
pub const IS_LAST: &str = "is_last";

/// A column of the recording, as a row at an end of a flow has it.
pub fn of_row(column: &str) -> String {
    format!("row_{column}")
}

/// The first and the last value of a column, and when they were seen.
pub fn ends(of: &str) -> [[String; 2]; 2] {
    ["first", "last"].map(|end| [format!("{of}_{end}_at_us"), format!("{of}_{end}")])
}
