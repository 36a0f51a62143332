//! The columns of the tables. Units are in their names; what is said after a name is how two rows of one key become one.

use crate::walk::Counter;

/// Number of a flow, in the order of the report: key.
pub const FLOW: &str = "flow";
/// Number of a flow under one algorithm: key.
pub const STRETCH: &str = "stretch";
/// Kernel name of the algorithm: key.
pub const ALGORITHM: &str = "algorithm";
/// Inode number of the network namespace: key.
pub const NETNS: &str = "netns";
/// Socket cookie: key.
pub const FLOW_ID: &str = "flow_id";

/// cgroup2 id: equal in all rows of a flow, as are the addresses.
pub const CGROUP_ID: &str = "cgroup_id";
/// Local address and port.
pub const LOCAL: &str = "local";
/// Remote address and port.
pub const REMOTE: &str = "remote";
/// Whether the addresses are of IPv6.
pub const IPV6: &str = "ipv6";

/// Whether the flow ran this algorithm first; its inner state has the names that this one gives it.
pub const IS_FIRST: &str = "is_first";
/// Kernel name of the algorithm with which the flow ended.
pub const LAST_ALGORITHM: &str = "last_algorithm";

/// First row: minimum.
pub const FIRST_US: &str = "first_us";
/// Last row that shows progress, or the first row where none does: maximum.
pub const PROGRESS_US: &str = "progress_us";
/// Whether any row shows progress: maximum.
pub const HAS_PROGRESS: &str = "has_progress";
/// Payload sent since the connection began: maximum.
pub const SENT_SO_FAR_BYTES: &str = "sent_so_far_bytes";
/// Since when the flow was open, as far as the recording or its window knows.
pub const OPEN_FROM_US: &str = "open_from_us";
/// Until when: to its close, else to the end of the recording or its window.
pub const OPEN_TO_US: &str = "open_to_us";
/// Number of rows: sum.
pub const ROWS: &str = "rows";
/// Length of the steps: sum.
pub const TIME_US: &str = "time_us";
/// Time for which the window is known: sum.
pub const CWND_TIME_US: &str = "cwnd_time_us";
/// Largest window: maximum.
pub const CWND_MAX_PKTS: &str = "cwnd_max_pkts";
/// ∫ cwnd dt, a [wide sum](wide).
pub const CWND_PKTS_US: &str = "cwnd_pkts_us";

/// Whether the opening was recorded: maximum.
pub const OPENED: &str = "opened";
/// Whether the end was recorded: maximum.
pub const CLOSED: &str = "closed";
/// What the end said, of the flow as a whole: maximum.
pub const CLOSING: [&str; 4] = ["duration_us", "completion_us", "closed_rtt_mean_us", "closed_rtt_min_us"];

/// Value of an RTT sample: key.
pub const RTT_US: &str = "rtt_us";
/// How often it occurred: sum.
pub const TIMES: &str = "times";

/// Phase: key.
pub const MODE: &str = "mode";
/// How often it was entered: sum.
pub const VISITS: &str = "visits";

/// Number of an interval since the start of the recording: key.
pub const INTERVAL: &str = "interval";
/// Payload acknowledged in it, a step over its edge in proportion to time, in whole bytes: sum.
pub const ACKED_BYTES: &str = "acked_bytes";

/// Last row before rows were lost: key.
pub const FROM_US: &str = "from_us";
/// First row that knew of some of it.
pub const KNOWN_US: &str = "known_us";
/// First row that knew of all of it: key.
pub const TO_US: &str = "to_us";

/// When an algorithm was changed: key.
pub const AT_US: &str = "at_us";
/// Kernel names before and after the change.
pub const FROM: &str = "from";
/// See [`FROM`].
pub const TO: &str = "to";
/// Packets delivered in the slowest window after the change: minimum.
pub const LOWEST_PKTS: &str = "lowest_pkts";

/// The two sides of a change, before [`SPAN_US`], [`ROWS`] and the sums that follow here.
pub const SIDES: [&str; 2] = ["before", "after"];
/// Length of a side: sum.
pub const SPAN_US: &str = "span_us";
/// Packets delivered on a side, a step over its edge in proportion to time: sum.
pub const DELIVERED_PKTS: &str = "delivered_pkts";
/// Packets retransmitted on a side: sum.
pub const RETRANS_PKTS: &str = "retrans_pkts";
/// Sum of the RTT samples of a side: sum.
pub const RTT_SUM_US: &str = "rtt_sum_us";
/// Their number: sum.
pub const RTT_SAMPLES: &str = "rtt_samples";
/// The three states around a change, before a column of [`STATE`].
pub const STATES: [&str; 3] = ["state_before", "state_after", "state_later"];
/// What a socket is allowed to send.
pub const STATE: [&str; 3] = ["cwnd_pkts", "ssthresh_pkts", "pacing_rate_bps"];
/// Whether there was a row one RTT after the change.
pub const HAS_LATER: &str = "has_later";

/// The columns of a sum of 128 bits, which no table format has: the sum is `high × 2³² + low`, and each is a sum by itself.
pub fn wide(of: &str) -> [String; 2] {
    [format!("{of}_high"), format!("{of}_low")]
}

/// A column of inner state: value × time ([wide]), time (sum), smallest value (minimum), largest value (maximum).
pub fn inner(of: &str) -> Inner {
    let named = |what: &str| format!("{of}_{what}");
    Inner { value_us: named("value_us"), time_us: named("time_us"), least: named("least"), most: named("most") }
}

/// The names of [`inner`].
pub struct Inner {
    pub value_us: String,
    pub time_us: String,
    pub least: String,
    pub most: String,
}

/// The column of a counter's growth: sum.
pub fn grown(counter: Counter) -> &'static str {
    counter.column().name()
}

/// A column of a side or a state of a change.
pub fn around(which: &str, what: &str) -> String {
    format!("{which}_{what}")
}
