//! How the rows of a recording lie in its Parquet file: for the recorder, and for who makes a file like one of its.

/// Rows of a row group: what the conversion holds in memory, some 100 MB of rows and 10 MB encoded, and what a reader can
/// skip.
pub const ROW_GROUP_ROWS: usize = 256 * 1024;

/// The columns that name a flow, in the order by which the rows of a row group are sorted; within a flow they are in order of
/// [`TIME`].
pub const FLOW: [&str; 2] = ["netns", "flow_id"];

/// The column of time.
pub const TIME: &str = "time";

/// Columns that grow or change by small steps: differences (DELTA_BINARY_PACKED) take half of what a dictionary does, or less. All
/// encodings were measured on recordings, with the rows of a flow side by side: docs/performance.md has the table.
pub const GROWING: [&str; 9] = [
    TIME,
    "t_us",
    "srtt_us",
    "bytes_acked",
    "bytes_sent",
    "bytes_retrans",
    "retrans_pkts",
    "lost_pkts",
    "delivered_pkts",
];
/// Columns whose upper bytes hardly change while the lowest one does: the bytes of each place are stored together
/// (BYTE_STREAM_SPLIT).
pub const JITTERING: [&str; 4] = ["cwnd_pkts", "inflight_pkts", "snd_wnd_bytes", "rtt_us"];
/// Columns with many values that come in bunches: zstd finds those in plain values, which a dictionary's numbers hide from it.
pub const BUNCHED: [&str; 2] = ["pacing_rate_bps", "delivery_rate_bps"];
