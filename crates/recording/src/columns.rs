//! The columns of a recording, each declared once: for those who write one, those who read one, and `docs/schema.md`.

use std::fmt::Write;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// Nanoseconds since the epoch, UTC.
    Time,
    /// Whole numbers of 16 bits.
    U16,
    /// Whole numbers of 32 bits.
    U32,
    /// Whole numbers of 64 bits.
    U64,
    /// Whole numbers of 64 bits that may be negative.
    I64,
    /// Numbers of 32 bits with a fraction.
    F32,
    /// UTF-8.
    Text,
    /// Yes or no.
    Flag,
}

impl Type {
    /// As `docs/schema.md` has it.
    fn arrow_name(self) -> &'static str {
        match self {
            Type::Time => "timestamp[ns, UTC]",
            Type::U16 => "uint16",
            Type::U32 => "uint32",
            Type::U64 => "uint64",
            Type::I64 => "int64",
            Type::F32 => "float32",
            Type::Text => "utf8_view",
            Type::Flag => "boolean",
        }
    }
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A name, an id, a factor, a count of something that the column names itself.
    None,
    /// Microseconds.
    Us,
    /// Bytes of payload.
    Bytes,
    /// Segments.
    Packets,
    /// Bits per second.
    BitPerS,
}

impl Unit {
    /// How it is written; empty for [`Unit::None`].
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Us => "µs",
            Unit::Bytes => "bytes",
            Unit::Packets => "packets",
            Unit::BitPerS => "bit/s",
        }
    }
}

/// How the values of a column lie in a Parquet file, under zstd. All were measured on recordings, with the rows of a flow side
/// by side: docs/performance.md has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Few values that repeat: their numbers in a dictionary.
    Dictionary,
    /// What grows or changes by small steps: differences (DELTA_BINARY_PACKED) take half of what a dictionary does, or less.
    Delta,
    /// Upper bytes that hardly change while the lowest one does: the bytes of each place are stored together
    /// (BYTE_STREAM_SPLIT).
    ByteStreamSplit,
    /// Many values that come in bunches: zstd finds those in plain values, which a dictionary's numbers hide from it.
    Plain,
}

/// Everything that is said of a column.
#[derive(Debug)]
pub struct Facts {
    /// Its name in the file.
    pub name: &'static str,
    /// What its values are.
    pub kind: Type,
    /// Whether a value can be missing.
    pub is_nullable: bool,
    /// What its numbers count.
    pub unit: Unit,
    /// Version of the schema that brought it.
    pub since: u32,
    /// How it lies in a Parquet file.
    pub encoding: Encoding,
    /// What it means, for `docs/schema.md`.
    pub meaning: &'static str,
}

macro_rules! columns {
    ($(#[doc = $meaning:literal]
       $column:ident $name:literal: $kind:ident $nullable:ident, $unit:ident, since $since:literal, $encoding:ident;)*) => {
        /// A column of a recording.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Column {
            $(#[doc = $meaning] $column,)*
        }

        impl Column {
            /// All of them, in the order of a file that the recorder writes.
            pub const ALL: &'static [Column] = &[$(Column::$column,)*];
        }

        /// In the order of [`Column`].
        static FACTS: &[Facts] = &[$(Facts {
            name: $name,
            kind: Type::$kind,
            is_nullable: columns!(@ $nullable),
            unit: Unit::$unit,
            since: $since,
            encoding: Encoding::$encoding,
            meaning: $meaning,
        },)*];
    };
    (@ required) => { false };
    (@ optional) => { true };
}

#[rustfmt::skip]
columns! {
    /// wall clock
    Time                "time":                   Time required, None,    since 1, Delta;
    /// since the start of the recording, by the monotonic clock
    TUs                 "t_us":                   U64  required, Us,      since 1, Delta;
    /// `sample`, or what has happened: `open`, `close` (final totals), `retrans`, `ca_state`, `algorithm`, `rto`, `ecn`
    Event               "event":                  Text required, None,    since 1, Dictionary;
    /// socket cookie; with `netns` it names a flow
    FlowId              "flow_id":                U64  required, None,    since 1, Dictionary;
    /// cgroup2 id of the socket
    CgroupId            "cgroup_id":              U64  required, None,    since 1, Dictionary;
    /// inode number of the network namespace
    Netns               "netns":                  U32  required, None,    since 1, Dictionary;
    /// local address
    Src                 "src":                    Text required, None,    since 1, Dictionary;
    /// remote address
    Dst                 "dst":                    Text required, None,    since 1, Dictionary;
    /// local port
    Sport               "sport":                  U16  required, None,    since 1, Dictionary;
    /// remote port
    Dport               "dport":                  U16  required, None,    since 1, Dictionary;
    /// kernel name
    Algorithm           "algorithm":              Text required, None,    since 1, Dictionary;
    /// congestion state: `open`, `disorder`, `cwr`, `recovery`, `loss`
    CaState             "ca_state":               Text required, None,    since 1, Dictionary;
    /// in `ca_state` rows the state before, in `algorithm` rows the kernel name before; none in others
    Previous            "previous":               Text optional, None,    since 2, Dictionary;
    /// congestion window
    CwndPkts            "cwnd_pkts":              U32  required, Packets, since 1, ByteStreamSplit;
    /// slow-start threshold; none = infinite
    SsthreshPkts        "ssthresh_pkts":          U32  optional, Packets, since 1, Dictionary;
    /// `tcp_packets_in_flight()`
    InflightPkts        "inflight_pkts":          U32  required, Packets, since 1, ByteStreamSplit;
    /// window that the receiver offers
    SndWndBytes         "snd_wnd_bytes":          U32  required, Bytes,   since 2, ByteStreamSplit;
    /// window that this socket has offered last
    RcvWndBytes         "rcv_wnd_bytes":          U32  required, Bytes,   since 3, ByteStreamSplit;
    /// largest window that the receiving algorithm of the socket allows. The other `rcv_` columns, too, have none without one
    RcvLimitBytes       "rcv_limit_bytes":        U32  optional, Bytes,   since 3, Dictionary;
    /// smoothed RTT as the receiving algorithm measures it; none before the first sample
    RcvRttUs            "rcv_rtt_us":             U32  optional, Us,      since 3, Dictionary;
    /// least RTT that the receiving algorithm has measured
    RcvMinRttUs         "rcv_min_rtt_us":         U32  optional, Us,      since 3, Dictionary;
    /// smoothed RTT; none before the first sample
    SrttUs              "srtt_us":                U32  optional, Us,      since 1, Delta;
    /// latest RTT sample; none before the first
    RttUs               "rtt_us":                 U32  optional, Us,      since 1, ByteStreamSplit;
    /// the kernel's windowed minimum; none before the first sample
    MinRttUs            "min_rtt_us":             U32  optional, Us,      since 1, Dictionary;
    /// payload of a full segment
    MssBytes            "mss_bytes":              U32  required, Bytes,   since 1, Dictionary;
    /// none = unlimited
    PacingRateBps       "pacing_rate_bps":        U64  optional, BitPerS, since 1, Plain;
    /// last rate sample; none before the first
    DeliveryRateBps     "delivery_rate_bps":      U64  optional, BitPerS, since 1, Plain;
    /// payload acknowledged, cumulative
    BytesAcked          "bytes_acked":            U64  required, Bytes,   since 1, Delta;
    /// payload sent, cumulative, retransmissions included
    BytesSent           "bytes_sent":             U64  required, Bytes,   since 1, Delta;
    /// payload sent again, cumulative
    BytesRetrans        "bytes_retrans":          U64  required, Bytes,   since 1, Delta;
    /// payload received, cumulative
    BytesReceived       "bytes_received":         U64  required, Bytes,   since 2, Dictionary;
    /// segments sent again, cumulative
    RetransPkts         "retrans_pkts":           U32  required, Packets, since 1, Delta;
    /// retransmission timeouts so far
    RtoCount            "rto_count":              U32  required, None,    since 2, Dictionary;
    /// segments marked lost, cumulative
    LostPkts            "lost_pkts":              U32  required, Packets, since 1, Delta;
    /// segments delivered, cumulative
    DeliveredPkts       "delivered_pkts":         U32  required, Packets, since 1, Delta;
    /// segments delivered with a congestion mark, cumulative
    DeliveredCePkts     "delivered_ce_pkts":      U32  required, Packets, since 1, Dictionary;
    /// payload delivered with a congestion mark as the AccECN option reports it, cumulative; none without accurate ECN
    DeliveredCeBytes    "delivered_ce_bytes":     U64  optional, Bytes,   since 4, Dictionary;
    /// what the two ends agreed on: `off`, `classic` (RFC 3168), `accecn` (RFC 9768)
    EcnMode             "ecn_mode":               Text required, None,    since 4, Dictionary;
    /// the last rate sample was limited by the application
    AppLimited          "app_limited":            Flag required, None,    since 1, Dictionary;
    /// the window is what limits the flow
    CwndLimited         "cwnd_limited":           Flag required, None,    since 1, Dictionary;
    /// in `close` rows: from the end of the handshake to the close; none when the recording began later
    DurationUs          "duration_us":            U64  optional, Us,      since 2, Dictionary;
    /// in `close` rows: from the end of the handshake to the last ACK that delivered payload; none as above, and without payload
    CompletionUs        "completion_us":          U64  optional, Us,      since 2, Dictionary;
    /// in `close` rows: mean over the RTT samples of the connection, whatever `--every` is
    RttMeanUs           "rtt_mean_us":            U32  optional, Us,      since 2, Dictionary;
    /// in `close` rows: smallest of them
    RttMinUs            "rtt_min_us":             U32  optional, Us,      since 2, Dictionary;
    /// rows that the recording had lost so far
    DroppedRows         "dropped_rows":           U64  required, None,    since 2, Dictionary;
    /// phase of the algorithm. All `trace_` columns: none when the algorithm does not publish it
    TraceMode           "trace_mode":             Text optional, None,    since 1, Dictionary;
    /// bandwidth that the model believes in
    TraceBwBps          "trace_bw_bps":           U64  optional, BitPerS, since 1, Dictionary;
    /// its short-term bound
    TraceBwLoBps        "trace_bw_lo_bps":        U64  optional, BitPerS, since 1, Dictionary;
    /// its long-term bound
    TraceBwHiBps        "trace_bw_hi_bps":        U64  optional, BitPerS, since 1, Dictionary;
    /// the model's minimum RTT
    TraceMinRttUs       "trace_min_rtt_us":       U32  optional, Us,      since 1, Dictionary;
    /// short-term bound of what may be in flight
    TraceInflightLoPkts "trace_inflight_lo_pkts": U32  optional, Packets, since 1, Dictionary;
    /// long-term bound of what may be in flight
    TraceInflightHiPkts "trace_inflight_hi_pkts": U32  optional, Packets, since 1, Dictionary;
    /// factor on the bandwidth
    TracePacingGain     "trace_pacing_gain":      F32  optional, None,    since 1, Dictionary;
    /// factor on the BDP
    TraceCwndGain       "trace_cwnd_gain":        F32  optional, None,    since 1, Dictionary;
    /// named by `ccactl.algorithms` in the metadata
    TraceV0             "trace_v0":               I64  optional, None,    since 1, Dictionary;
    /// the same
    TraceV1             "trace_v1":               I64  optional, None,    since 1, Dictionary;
}

impl Column {
    /// Everything that is said of it.
    #[must_use]
    pub fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// Its name in the file.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The column of this name, if a recording has one.
    #[must_use]
    pub fn named(name: &str) -> Option<Column> {
        Column::ALL.iter().copied().find(|column| column.name() == name)
    }
}

/// The columns as lines of a Markdown table.
#[must_use]
pub fn columns_table() -> String {
    let mut table =
        String::from("| column | Arrow type | unit | none | since | meaning |\n|---|---|---|---|---|---|\n");
    for Facts { name, kind, is_nullable, unit, since, meaning, .. } in FACTS {
        let (kind, unit) = (kind.arrow_name(), unit.symbol());
        let none = if *is_nullable { "yes" } else { "" };
        writeln!(table, "| `{name}` | {kind} | {unit} | {none} | {since} | {} |", meaning.trim())
            .expect("writing into memory");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_ends_or_begins_with_its_unit() {
        for column in Column::ALL {
            let Facts { name, unit, kind, .. } = column.facts();
            let named = match name.rsplit('_').next() {
                Some("us") => Unit::Us,
                Some("pkts") => Unit::Packets,
                Some("bps") => Unit::BitPerS,
                Some("bytes") => Unit::Bytes,
                _ if name.starts_with("bytes_") => Unit::Bytes,
                _ => Unit::None,
            };
            assert_eq!(*unit, named, "{name}");
            assert!(*unit == Unit::None || matches!(kind, Type::U32 | Type::U64), "{name}");
        }
    }

    #[test]
    fn names_are_found_and_none_is_there_twice() {
        for &column in Column::ALL {
            assert_eq!(Column::named(column.name()), Some(column));
        }
        assert_eq!(Column::named("rtt"), None);
    }
}
