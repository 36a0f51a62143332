//! One row, and what happened to a flow between two of them.

use super::Name;
use ccactl_recording::Column;

/// Bounds that an algorithm may set to what is in flight.
pub const BOUNDS: [Column; 2] = [Column::TraceInflightHiPkts, Column::TraceInflightLoPkts];

/// A cumulative column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// `bytes_acked`
    BytesAcked,
    /// `bytes_sent`
    BytesSent,
    /// `bytes_retrans`
    BytesRetrans,
    /// `retrans_pkts`
    RetransPkts,
    /// `lost_pkts`
    LostPkts,
    /// `delivered_pkts`
    DeliveredPkts,
    /// `delivered_ce_pkts`
    DeliveredCePkts,
    /// `rto_count`; 0 in a recording of schema version 1.
    RtoCount,
}

impl Counter {
    /// All, in order.
    pub const ALL: [Counter; COUNTERS.len()] = [
        Counter::BytesAcked,
        Counter::BytesSent,
        Counter::BytesRetrans,
        Counter::RetransPkts,
        Counter::LostPkts,
        Counter::DeliveredPkts,
        Counter::DeliveredCePkts,
        Counter::RtoCount,
    ];

    /// The same as a column of the recording.
    pub const fn column(self) -> Column {
        COUNTERS[self as usize]
    }
}

/// The columns in the order of [`Counter`].
pub const COUNTERS: [Column; 8] = [
    Column::BytesAcked,
    Column::BytesSent,
    Column::BytesRetrans,
    Column::RetransPkts,
    Column::LostPkts,
    Column::DeliveredPkts,
    Column::DeliveredCePkts,
    Column::RtoCount,
];

/// Why there is a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Event {
    /// The connection was established.
    Open,
    /// It was closed; the row has its totals.
    Close,
    /// A sample, or something that happened in between.
    #[default]
    Other,
}

impl Event {
    pub(super) fn of(text: &str) -> Event {
        match text {
            "open" => Event::Open,
            "close" => Event::Close,
            _ => Event::Other,
        }
    }
}

/// State and counters of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Row {
    /// µs since the start of the recording.
    pub t_us: u64,
    /// Kernel name of the algorithm.
    pub algorithm: Name,
    /// Its phase.
    pub mode: Option<Name>,
    /// Congestion window.
    pub cwnd_pkts: Option<u32>,
    /// Slow-start threshold; `None` is infinite.
    pub ssthresh_pkts: Option<u32>,
    /// Latest RTT sample.
    pub rtt_us: Option<u32>,
    /// Pacing rate; `None` is unlimited.
    pub pacing_rate_bps: Option<u64>,
    /// Inner state of the algorithm, in the order of [`crate::measure::inner::COLUMNS`].
    pub inner: [Option<i64>; 4],
    pub(super) counters: [u64; COUNTERS.len()],
}

impl Row {
    /// The value of a cumulative column.
    pub fn counter(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// All cumulative columns, in the order of [`COUNTERS`].
    pub fn counters(&self) -> &[u64; COUNTERS.len()] {
        &self.counters
    }

    /// The algorithm that ran until the flow's next row. What was set before the first data (the host's default, say) sent
    /// nothing and so ran nothing: the next row then says what runs.
    pub fn running_after(self) -> Option<Name> {
        (self.counter(Counter::BytesSent) > 0).then_some(self.algorithm)
    }

    /// A row of which only the time and the packets delivered matter.
    #[cfg(test)]
    pub fn delivered(t_us: u64, delivered_pkts: u64) -> Row {
        let mut row = Row { t_us, ..Row::default() };
        row.counters[Counter::DeliveredPkts as usize] = delivered_pkts;
        row
    }
}

/// Where in the stream a flow stands, from the beginning of the connection. A recording has no sequence numbers: what was sent once
/// is all that was sent less what was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// Everything before is acknowledged.
    pub acked_bytes: u64,
    /// Everything before was sent once.
    pub sent_bytes: u64,
    /// Payload sent again so far.
    pub retrans_bytes: u64,
    /// Congestion window, from what is acknowledged on.
    pub cwnd_bytes: u64,
    /// The receiver's window, from there as well.
    pub window_bytes: u64,
}

/// From one row of a flow to the next.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The row before; `None` for the flow's first.
    pub previous: Option<&'a Row>,
    /// The row after.
    pub row: &'a Row,
}

impl Step<'_> {
    /// By how much a counter grew.
    pub fn increase(&self, counter: Counter) -> u64 {
        let Some(previous) = self.previous else { return 0 };
        increase(previous.counter(counter), self.row.counter(counter))
    }

    /// The RTT sample that the row brings. `rtt_us` is the *latest* sample, which a row after a duplicate ACK repeats, so it
    /// is a new one only when packets were delivered since the row before.
    pub fn rtt_sample_us(&self) -> Option<u32> {
        self.row.rtt_us.filter(|_| self.increase(Counter::DeliveredPkts) > 0)
    }

    /// The algorithm before, where the row after shows another one.
    pub fn changed_from(&self) -> Option<Name> {
        self.previous.copied().and_then(Row::running_after).filter(|before| *before != self.row.algorithm)
    }
}

/// By how much a counter grew. One that went down was reset (the socket was connected anew): it has counted from zero since.
pub fn increase(before: u64, now: u64) -> u64 {
    if now < before { now } else { now - before }
}

/// What only the row of a `close` says; none as `docs/schema.md` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Closing {
    /// When it was.
    pub t_us: u64,
    /// From the handshake to the close.
    pub duration_us: Option<u64>,
    /// Flow completion time.
    pub completion_us: Option<u64>,
    /// Mean over all RTT samples.
    pub rtt_mean_us: Option<u64>,
    /// Smallest RTT sample.
    pub rtt_min_us: Option<u64>,
}
