//! Rust mirrors of the structs of `bpf/include/ccactl_abi.h`.
//!
//! The sizes asserted below stand in the header as well, so a change of size on one side alone does not compile. A test
//! compares name, offset and size of every field.

use bytemuck::{Pod, Zeroable};
use std::mem::offset_of;

/// Length of a kernel congestion-control name with its terminating NUL (`TCP_CA_NAME_MAX`).
pub const NAME_LEN: usize = 16;
/// "No bound" in a 32-bit field of [`Trace`].
pub const UNBOUNDED_U32: u32 = u32::MAX;
/// "No bound" in a 64-bit field of [`Trace`].
pub const UNBOUNDED_U64: u64 = u64::MAX;
/// Values of ssthresh from here on mean "infinite" (`TCP_INFINITE_SSTHRESH`).
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// `event` of a [`Sample`]: a periodic or per-ACK row.
pub const EVENT_SAMPLE: u8 = 0;
/// `event` of a [`Sample`]: the connection was established.
pub const EVENT_OPEN: u8 = 1;
/// `event` of a [`Sample`]: the connection was closed; the row carries the final totals.
pub const EVENT_CLOSE: u8 = 2;
/// `event` of a [`Sample`]: a segment was sent again.
pub const EVENT_RETRANS: u8 = 3;
/// `event` of a [`Sample`]: the congestion state changed.
pub const EVENT_CA_STATE: u8 = 4;
/// `event` of a [`Sample`]: the socket has another algorithm than at the last look.
pub const EVENT_ALGORITHM: u8 = 5;
/// `event` of a [`Sample`]: a segment was sent again because the retransmission timer ran out.
pub const EVENT_RTO: u8 = 6;
/// `event` of a [`Sample`]: the receiver has reported congestion marks.
pub const EVENT_ECN: u8 = 7;
/// Number of the `EVENT_` constants.
pub const EVENTS: usize = 8;

/// Bit of [`Sample::flags`]: the sender was application-limited.
pub const FLAG_APP_LIMITED: u8 = 1;
/// Bit of [`Sample::flags`]: the sender was limited by cwnd.
pub const FLAG_CWND_LIMITED: u8 = 2;
/// Bit of [`Sample::flags`]: [`Sample::trace`] is filled.
pub const FLAG_TRACE: u8 = 4;

/// [`Sample::ecn_mode`]: no ECN.
pub const ECN_OFF: u8 = 0;
/// [`Sample::ecn_mode`]: RFC 3168.
pub const ECN_CLASSIC: u8 = 1;
/// [`Sample::ecn_mode`]: accurate ECN (RFC 9768).
pub const ECN_ACCURATE: u8 = 2;

/// [`RecordConfig::every`]: one row per ACK.
pub const EVERY_ACK: u32 = 0;
/// [`RecordConfig::every`]: one row per smoothed RTT.
pub const EVERY_RTT: u32 = 1;
/// [`RecordConfig::every`]: one row per [`RecordConfig::interval_ns`].
pub const EVERY_INTERVAL: u32 = 2;

/// Why a row is missing: user space did not keep up, and what was left of the ring is kept for events.
pub const DROP_RING_FULL_SAMPLES: usize = 0;
/// Why a row is missing: not even an event found room in the ring.
pub const DROP_RING_FULL_EVENTS: usize = 1;
/// Why a row is missing: no memory for what a recorder remembers of a socket.
pub const DROP_NO_STORAGE: usize = 2;
/// Number of the `DROP_` constants.
pub const DROP_REASONS: usize = 3;

/// First index of the per-CPU array of counts: rows submitted, by event.
pub const COUNT_ROWS: usize = 0;
/// First index of the rows lost, by reason.
pub const COUNT_DROPS: usize = COUNT_ROWS + EVENTS;
/// Index of the number of sockets of which there is a row.
pub const COUNT_FLOWS: usize = COUNT_DROPS + DROP_REASONS;
/// Length of the array.
pub const COUNTS: usize = COUNT_FLOWS + 1;

/// Inner state of an algorithm (`struct cca_trace`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Trace {
    /// Bandwidth estimate in bit/s of payload.
    pub bw_bps: u64,
    /// Short-term bound in bit/s, [`UNBOUNDED_U64`] when there is none.
    pub bw_lo_bps: u64,
    /// Long-term bound in bit/s, [`UNBOUNDED_U64`] when there is none.
    pub bw_hi_bps: u64,
    /// Free value, named by the registry.
    pub v0: i64,
    /// Free value, named by the registry.
    pub v1: i64,
    /// Phase: index into [`crate::Algorithm::modes`].
    pub mode: u32,
    /// The algorithm's own propagation-delay estimate in µs.
    pub min_rtt_us: u32,
    /// Short-term inflight bound in packets.
    pub inflight_lo_pkts: u32,
    /// Long-term inflight bound in packets.
    pub inflight_hi_pkts: u32,
    /// Pacing gain × 1000.
    pub pacing_gain_milli: u32,
    /// Window gain × 1000.
    pub cwnd_gain_milli: u32,
    /// How often the algorithm has published; 0 = never.
    pub updates: u32,
    /// Which algorithm has published: the low half of the address of its ops table. For the recorder alone.
    pub publisher: u32,
}

/// One row of a recording as it comes from the ring buffer (`struct cca_sample`).
///
/// Without [`FLAG_TRACE`] a record of the ring ends before [`Sample::trace`]: [`SAMPLE_BYTES_WITHOUT_TRACE`].
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Sample {
    /// `CLOCK_MONOTONIC` in ns.
    pub time_ns: u64,
    /// Socket cookie.
    pub flow_id: u64,
    /// cgroup2 id of the socket.
    pub cgroup_id: u64,
    /// Pacing rate in **bytes**/s; `u64::MAX` = unlimited.
    pub pacing_rate_bytes_per_s: u64,
    /// Interval of the kernel's last delivery-rate sample in µs.
    pub delivery_interval_us: u64,
    /// Payload bytes cumulatively acknowledged.
    pub bytes_acked: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes retransmitted.
    pub bytes_retrans: u64,
    /// Payload bytes received.
    pub bytes_received: u64,
    /// End of the handshake (`CLOCK_MONOTONIC`, ns), 0 = before the recording.
    pub opened_ns: u64,
    /// Arrival of the last ACK known to have delivered payload (`CLOCK_MONOTONIC`, ns), 0 = none.
    pub progress_ns: u64,
    /// Sum of [`Sample::rtt_samples`] RTT samples in µs.
    pub rtt_sum_us: u64,
    /// Rows that the recording had lost when this one was taken from the ring; 0 in the ring itself.
    pub dropped_rows: u64,
    /// Payload bytes that the AccECN option has reported as marked.
    pub delivered_ce_bytes: u64,
    /// Packets delivered over `delivery_interval_us`.
    pub delivery_pkts: u32,
    /// Inode number of the network namespace.
    pub netns: u32,
    /// Congestion window in packets.
    pub cwnd_pkts: u32,
    /// Slow-start threshold in packets, [`INFINITE_SSTHRESH`] and above = infinite.
    pub ssthresh_pkts: u32,
    /// Packets in flight (`tcp_packets_in_flight`).
    pub inflight_pkts: u32,
    /// Window that the receiver offers in bytes.
    pub snd_wnd_bytes: u32,
    /// Smoothed RTT in µs.
    pub srtt_us: u32,
    /// Latest RTT sample in µs, 0 = none yet.
    pub rtt_us: u32,
    /// The kernel's windowed minimum RTT in µs, `u32::MAX` = none yet.
    pub min_rtt_us: u32,
    /// Sender MSS in bytes.
    pub mss_bytes: u32,
    /// Packets retransmitted over the life of the connection.
    pub retrans_pkts: u32,
    /// Retransmission timeouts over the life of the connection.
    pub rto_count: u32,
    /// Packets ever marked lost.
    pub lost_pkts: u32,
    /// Packets ever delivered.
    pub delivered_pkts: u32,
    /// Packets ever delivered with an ECE mark.
    pub delivered_ce_pkts: u32,
    /// RTT samples since the recorder has known the socket.
    pub rtt_samples: u32,
    /// Least RTT in that time in µs, 0 = none.
    pub rtt_min_us: u32,
    /// Window that this socket has offered last, in bytes.
    pub rcv_wnd_bytes: u32,
    /// Largest window in bytes that its receiving algorithm allows, 0 = it has none.
    pub rcv_limit_bytes: u32,
    /// That algorithm's smoothed RTT in µs, 0 = none.
    pub rcv_rtt_us: u32,
    /// That algorithm's least RTT in µs, 0 = none.
    pub rcv_min_rtt_us: u32,
    /// Local port.
    pub sport: u16,
    /// Remote port.
    pub dport: u16,
    /// One of the `EVENT_` constants.
    pub event: u8,
    /// 4 or 6.
    pub family: u8,
    /// `icsk_ca_state`: 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// `FLAG_` bits.
    pub flags: u8,
    /// With [`EVENT_CA_STATE`]: the state before.
    pub previous_ca_state: u8,
    /// One of the `ECN_` constants.
    pub ecn_mode: u8,
    /// Explicit padding.
    pub pad: [u8; 2],
    /// Local address, IPv4 in the first four bytes.
    pub saddr: [u8; 16],
    /// Remote address, IPv4 in the first four bytes.
    pub daddr: [u8; 16],
    /// Kernel name of the algorithm, NUL-padded.
    pub algorithm: [u8; NAME_LEN],
    /// With [`EVENT_ALGORITHM`]: kernel name of the algorithm before, NUL-padded.
    pub previous_algorithm: [u8; NAME_LEN],
    /// Inner state, meaningful with [`FLAG_TRACE`].
    pub trace: Trace,
}

/// Length of a record of the ring that has no [`Sample::trace`].
pub const SAMPLE_BYTES_WITHOUT_TRACE: usize = std::mem::offset_of!(Sample, trace);

/// Filter and rate of a recorder (`struct cca_record_config`); zero means "any".
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct RecordConfig {
    /// This cgroup and its descendants.
    pub cgroup_id: u64,
    /// Interval of [`EVERY_INTERVAL`] in ns.
    pub interval_ns: u64,
    /// Depth of `cgroup_id` below the cgroup2 root.
    pub cgroup_level: u32,
    /// Inode number of a network namespace.
    pub netns: u32,
    /// Local or remote port.
    pub port: u32,
    /// One of the `EVERY_` constants.
    pub every: u32,
    /// Process whose sockets are wanted.
    pub pid: u32,
    /// `1 << EVENT_` of the events wanted, samples aside; zero is none.
    pub events: u32,
    /// NUL-padded kernel name.
    pub algorithm: [u8; NAME_LEN],
}

/// What the sockets of a cgroup are to have (`struct cca_policy`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Policy {
    /// What new sockets get, NUL-padded kernel name.
    pub kernel_name: [u8; NAME_LEN],
    /// With [`POLICY_MOVING`] what live sockets get, with [`POLICY_LEAVING`] what all of them get back; empty: no such
    /// exception.
    pub live_name: [u8; NAME_LEN],
    /// What a share of the sockets gets; empty: no canary.
    pub canary_name: [u8; NAME_LEN],
    /// Wall clock of the attachment in ns since the epoch.
    pub attached_unix_ns: u64,
    /// Wall clock of the start of the canary in ns since the epoch.
    pub canary_unix_ns: u64,
    /// Depth of the cgroup below the cgroup2 root.
    pub level: u32,
    /// `POLICY_` bits.
    pub flags: u32,
    /// Share of the canary, of [`CANARY_ALL`].
    pub canary_share: u32,
    /// Times that `apply --watch` has put it back after another hand changed it; for people, nothing in the kernel reads it.
    pub mended: u32,
}

/// [`Policy::canary_share`] of all sockets.
pub const CANARY_ALL: u32 = 65536;

/// Entries of the maps with a cgroup id for their key.
pub const MAX_POLICIES: u32 = 4096;

/// Bit of [`Policy::flags`]: the algorithm negotiates ECN, so the SYN asks for it.
pub const POLICY_ECN: u32 = 1;
/// Bit of [`Policy::flags`]: so does the algorithm of the canary.
pub const POLICY_CANARY_ECN: u32 = 2;
/// Bit of [`Policy::flags`]: what applications choose themselves is overruled.
pub const POLICY_ENFORCE: u32 = 4;
/// Bit of [`Policy::flags`]: live sockets are being moved.
pub const POLICY_MOVING: u32 = 8;
/// Bit of [`Policy::flags`]: the policy is being taken back.
pub const POLICY_LEAVING: u32 = 16;
/// Bit of [`Policy::flags`]: the algorithm of [`Policy::live_name`] negotiates ECN.
pub const POLICY_LIVE_ECN: u32 = 32;
/// Bit of [`Policy::flags`]: the algorithm needs Accurate ECN. Comes with [`POLICY_ECN`], as its kin with theirs.
pub const POLICY_ACCECN: u32 = 64;
/// Bit of [`Policy::flags`]: so does the algorithm of the canary.
pub const POLICY_CANARY_ACCECN: u32 = 128;
/// Bit of [`Policy::flags`]: so does the algorithm of [`Policy::live_name`].
pub const POLICY_LIVE_ACCECN: u32 = 256;

/// Which policy gave a socket its algorithm (`struct cca_mark`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Mark {
    /// cgroup id of the policy.
    pub cgroup_id: u64,
    /// What the socket had after our choice, NUL-padded kernel name.
    pub kernel_name: [u8; NAME_LEN],
    /// What it had before the first of our choices.
    pub original: [u8; NAME_LEN],
}

/// What one pass over the sockets of a network namespace is to do (`struct cca_migrate_config`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct MigrateConfig {
    /// The cgroup whose policy decides.
    pub cgroup_id: u64,
    /// Its depth below the cgroup2 root.
    pub cgroup_level: u32,
    /// `MIGRATE_` bits.
    pub flags: u32,
}

/// Bit of [`MigrateConfig::flags`]: set what differs; without it only report.
pub const MIGRATE_MOVE: u32 = 1;
/// Bit of [`MigrateConfig::flags`]: every socket of the host that has a policy, a mark or an
/// algorithm in BPF.
pub const MIGRATE_ANY_CGROUP: u32 = 2;

/// [`Socket::result`]: no policy wants anything of the socket.
pub const MOVE_UNCLAIMED: u8 = 0;
/// [`Socket::result`]: has what it is to have.
pub const MOVE_THERE: u8 = 1;
/// [`Socket::result`]: has it now.
pub const MOVE_MOVED: u8 = 2;
/// [`Socket::result`]: differs, and only a report was wanted.
pub const MOVE_DUE: u8 = 3;
/// [`Socket::result`]: has what its application chose.
pub const MOVE_APPLICATION: u8 = 4;
/// [`Socket::result`]: its route fixes the algorithm.
pub const MOVE_LOCKED: u8 = 5;
/// [`Socket::result`]: the algorithm does not serve this socket: it needs ECN, and the connection has none.
pub const MOVE_REFUSED: u8 = 6;
/// [`Socket::result`]: the kernel refused, see [`Socket::error`].
pub const MOVE_FAILED: u8 = 7;

/// Bit of [`Socket::flags`]: ccactl chose its algorithm.
pub const SOCKET_MARKED: u8 = 1;
/// Bit of [`Socket::flags`]: belongs to the share of a canary.
pub const SOCKET_CANARY: u8 = 2;

/// One socket as a pass has left it (`struct cca_socket`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Socket {
    /// Socket cookie.
    pub flow_id: u64,
    /// cgroup2 id of the socket.
    pub cgroup_id: u64,
    /// cgroup whose policy decides, 0 = none.
    pub policy_id: u64,
    /// Pacing rate in **bytes**/s; `u64::MAX` = unlimited.
    pub pacing_rate_bytes_per_s: u64,
    /// Inode number of the network namespace.
    pub netns: u32,
    /// errno of a failed move, positive.
    pub error: i32,
    /// Congestion window in packets.
    pub cwnd_pkts: u32,
    /// Slow-start threshold in packets, [`INFINITE_SSTHRESH`] and above = infinite.
    pub ssthresh_pkts: u32,
    /// struct_ops map of the algorithm it has now, 0 = not in BPF.
    pub table_id: u32,
    /// Local port.
    pub sport: u16,
    /// Remote port.
    pub dport: u16,
    /// One of the `MOVE_` constants.
    pub result: u8,
    /// `TCP_ESTABLISHED` = 1 and so on (include/net/tcp_states.h).
    pub tcp_state: u8,
    /// 4 or 6.
    pub family: u8,
    /// `SOCKET_` bits.
    pub flags: u8,
    /// Local address, IPv4 in the first four bytes.
    pub saddr: [u8; 16],
    /// Remote address, IPv4 in the first four bytes.
    pub daddr: [u8; 16],
    /// Kernel name before the pass.
    pub before: [u8; NAME_LEN],
    /// Kernel name after it.
    pub after: [u8; NAME_LEN],
    /// What the socket is to have; empty with [`MOVE_UNCLAIMED`].
    pub wanted: [u8; NAME_LEN],
    /// Explicit padding.
    pub pad: u32,
}

/// What a socket offers because a receiving algorithm says so (`struct cca_offer`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Offer {
    /// Whose algorithm it is.
    pub cgroup_id: u64,
    /// Largest window that may be offered.
    pub limit_bytes: u32,
    /// The receiver's smoothed RTT.
    pub rtt_us: u32,
    /// Its shortest RTT of the connection.
    pub min_rtt_us: u32,
    /// Explicit padding.
    pub pad: u32,
}

/// One live socket that a receiving algorithm was brought to, or taken from (`struct cca_receiver_row`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct ReceiverRow {
    /// Socket cookie.
    pub flow_id: u64,
    /// errno, 0 = done.
    pub error: u32,
    /// Explicit padding.
    pub pad: u32,
}

/// Where a socket of a network namespace can be taken from, to get at that namespace (`struct cca_socket_holder`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct SocketHolder {
    /// Inode number of the namespace.
    pub netns: u32,
    /// A process that has the socket open.
    pub pid: u32,
    /// Its descriptor there.
    pub fd: u32,
    /// Explicit padding.
    pub pad: u32,
}

/// Most tunables that one load may set.
pub const MAX_TUNABLES: usize = 64;
/// Length of a tunable's or registry name with its terminating NUL.
pub const TUNABLE_NAME_LEN: usize = 32;

/// One value set by the user (`struct cca_tunable_value`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct TunableValue {
    /// NUL-padded name.
    pub name: [u8; TUNABLE_NAME_LEN],
    /// Value as stored in `.rodata`.
    pub raw: i64,
}

/// What was loaded under a kernel name (`struct cca_loaded`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Loaded {
    /// Registry name, NUL-padded.
    pub algorithm: [u8; TUNABLE_NAME_LEN],
    /// Kernel name, NUL-padded.
    pub kernel_name: [u8; NAME_LEN],
    /// Wall clock of the load in ns since the epoch.
    pub loaded_unix_ns: u64,
    /// Kernel id of the struct_ops map.
    pub struct_ops_map_id: u32,
    /// How many of `tunables` are used.
    pub n_tunables: u32,
    /// Hash of the ELF object: the same name and tunables may be other code.
    pub object_hash: u64,
    /// Values set by the user.
    pub tunables: [TunableValue; MAX_TUNABLES],
}

/// How many former policies of a cgroup are kept.
pub const HISTORY_SLOTS: u32 = 16;

/// A former policy of a cgroup (`struct cca_past`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct Past {
    /// Counts from 1; 0 is an unused slot.
    pub seq: u64,
    /// Wall clock of the change that replaced it in ns since the epoch.
    pub replaced_unix_ns: u64,
    /// `POLICY_` bits.
    pub flags: u32,
    /// Explicit padding.
    pub pad: u32,
    /// What it had. An empty [`Loaded::algorithm`]: a native one; an empty [`Loaded::kernel_name`] as well: there was no
    /// policy.
    pub loaded: Loaded,
}

/// Our side of the kernel's table of callbacks (`struct tcp_congestion_ops` of `kernel_types.h`); a test compares.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the names are the kernel's")]
pub struct CongestionOps {
    pub ssthresh: u64,
    pub cong_avoid: u64,
    pub set_state: u64,
    pub cwnd_event: u64,
    pub in_ack_event: u64,
    pub pkts_acked: u64,
    pub min_tso_segs: u64,
    pub cong_control: u64,
    pub undo_cwnd: u64,
    pub sndbuf_expand: u64,
    pub name: [u8; NAME_LEN],
    pub init: u64,
    pub release: u64,
    pub flags: u32,
}

impl CongestionOps {
    /// The callbacks with their offsets in bytes, in the order in which they are shown.
    pub const HOOKS: [(&str, usize); 12] = [
        ("init", offset_of!(Self, init)),
        ("release", offset_of!(Self, release)),
        ("ssthresh", offset_of!(Self, ssthresh)),
        ("cong_avoid", offset_of!(Self, cong_avoid)),
        ("cong_control", offset_of!(Self, cong_control)),
        ("set_state", offset_of!(Self, set_state)),
        ("cwnd_event", offset_of!(Self, cwnd_event)),
        ("in_ack_event", offset_of!(Self, in_ack_event)),
        ("pkts_acked", offset_of!(Self, pkts_acked)),
        ("undo_cwnd", offset_of!(Self, undo_cwnd)),
        ("min_tso_segs", offset_of!(Self, min_tso_segs)),
        ("sndbuf_expand", offset_of!(Self, sndbuf_expand)),
    ];
}

const _: () = {
    assert!(size_of::<CongestionOps>() == 120);
    assert!(size_of::<Trace>() == 72);
    assert!(size_of::<Sample>() == 344);
    assert!(size_of::<RecordConfig>() == 56);
    assert!(size_of::<Policy>() == 80);
    assert!(size_of::<Mark>() == 40);
    assert!(size_of::<MigrateConfig>() == 16);
    assert!(size_of::<Socket>() == 144);
    assert!(size_of::<SocketHolder>() == 16);
    assert!(size_of::<Offer>() == 24);
    assert!(size_of::<ReceiverRow>() == 16);
    assert!(size_of::<Loaded>() == 2632);
    assert!(size_of::<Past>() == 2656);
    assert!(SAMPLE_BYTES_WITHOUT_TRACE == 272);
    assert!(COUNTS == 12);
};

/// A NUL-padded name as text; bytes that are not UTF-8 end it.
#[must_use]
pub fn name_str(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).unwrap_or("")
}

/// Text as a NUL-padded name, or `None` when it does not fit with its terminating NUL.
#[must_use]
pub fn name_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() >= N {
        return None;
    }
    let mut out = [0; N];
    out[..text.len()].copy_from_slice(text.as_bytes());
    Some(out)
}
