//! Rust mirrors of the structs of `bpf/include/kernel_types.h` and `bpf/include/host/cc_host.h`.
//!
//! Member names are the kernel's. `tests/layout.rs` compares every offset and size with those that the C compiler saw.

use std::ffi::c_void;

use ccactl_abi::layout::Trace;

/// `struct sock_common`: addresses, of no concern here.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct SockCommon {
    pub skc_daddr: u32,
    pub skc_rcv_saddr: u32,
    pub skc_dport: u16,
    pub skc_num: u16,
    pub skc_family: u16,
    pub skc_state: u8,
    pub skc_net: *mut c_void,
    pub skc_v6_daddr: [u32; 4],
    pub skc_v6_rcv_saddr: [u32; 4],
}

/// `struct sock`
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct Sock {
    pub common: SockCommon,
    /// 0 none, 1 needed, 2 done by the fq qdisc.
    pub sk_pacing_status: u32,
    /// Bytes/s.
    pub sk_pacing_rate: u64,
    /// Bytes/s.
    pub sk_max_pacing_rate: u64,
    pub sk_gso_max_size: u32,
    pub sk_pacing_shift: u8,
    pub sk_cgrp_data: *mut c_void,
}

/// `struct inet_connection_sock`
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct InetConnectionSock {
    // struct inet_sock, whose padding at its end the alignment of the next member gives here as well.
    pub sk: Sock,
    pub inet_sport: u16,
    pub icsk_ca_ops: *const c_void,
    /// Low five bits: the congestion state; use [`TcpSock::ca_state`].
    pub icsk_ca_bits: u8,
    pub icsk_ack_pending: u8,
    #[cfg(feature = "asan")]
    pub guard_before: [u64; 4],
    pub icsk_ca_priv: [u64; 13],
    #[cfg(feature = "asan")]
    pub guard_after: [u64; 4],
}

/// `struct minmax_sample`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MinmaxSample {
    pub t: u32,
    pub v: u32,
}

/// `struct tcp_rack`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TcpRack {
    pub mstamp: u64,
    pub rtt_us: u32,
}

/// `struct tcp_options_received`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct TcpOptionsReceived {
    pub rcv_tsval: u32,
    pub rcv_tsecr: u32,
    /// 1 = the last segment had a timestamp, 2 = timestamps were negotiated.
    pub flags: u16,
}

/// `struct tcp_sock`, of it the members that the algorithms use.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(missing_docs)]
pub struct TcpSock {
    pub inet_conn: InetConnectionSock,
    pub rx_opt: TcpOptionsReceived,
    pub snd_una: u32,
    pub snd_nxt: u32,
    pub snd_wnd: u32,
    pub mss_cache: u32,
    pub rcv_nxt: u32,
    /// µs; set by [`crate::Socket::set_time_us`].
    pub tcp_mstamp: u64,
    pub tcp_wstamp_ns: u64,
    pub tcp_clock_cache: u64,
    /// µs << 3.
    pub srtt_us: u32,
    pub rtt_min: [MinmaxSample; 3],
    pub packets_out: u32,
    pub retrans_out: u32,
    pub max_packets_out: u32,
    pub cwnd_usage_seq: u32,
    /// Jiffies.
    pub lsndtime: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub snd_cwnd_cnt: u32,
    pub snd_cwnd_clamp: u32,
    pub snd_cwnd_used: u32,
    pub snd_cwnd_stamp: u32,
    pub prior_cwnd: u32,
    pub prr_delivered: u32,
    pub prr_out: u32,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub lost: u32,
    pub app_limited: u32,
    pub first_tx_mstamp: u64,
    pub delivered_mstamp: u64,
    pub rate_delivered: u32,
    pub rate_interval_us: u32,
    pub lost_out: u32,
    pub sacked_out: u32,
    pub total_retrans: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub data_segs_out: u32,
    pub undo_marker: u32,
    pub high_seq: u32,
    pub ecn_flags: u8,
    /// Bit 0: `is_cwnd_limited`; use [`TcpSock::set_cwnd_limited`]. Bit 1: `tcp_usec_ts`.
    pub flags: u8,
    pub rack: TcpRack,
}

impl TcpSock {
    /// Packets in flight, as `tcp_packets_in_flight()` counts them.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.packets_out.wrapping_sub(self.sacked_out.wrapping_add(self.lost_out)).wrapping_add(self.retrans_out)
    }

    /// Whether the last flight was limited by cwnd rather than by the application.
    pub fn set_cwnd_limited(&mut self, limited: bool) {
        self.flags = (self.flags & !1) | u8::from(limited);
    }

    /// `icsk_ca_state`, one of `ccactl_native::CA_*`.
    #[must_use]
    pub fn ca_state(&self) -> u8 {
        self.inet_conn.icsk_ca_bits & 0x1f
    }

    /// Sets `icsk_ca_state` without telling the algorithm; [`crate::Socket::set_state`] does both.
    pub fn set_ca_state(&mut self, state: u8) {
        self.inet_conn.icsk_ca_bits = (self.inet_conn.icsk_ca_bits & !0x1f) | (state & 0x1f);
    }
}

/// `struct rate_sample`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct RateSample {
    pub prior_mstamp: u64,
    pub prior_delivered: u32,
    pub prior_delivered_ce: u32,
    pub delivered: i32,
    pub delivered_ce: i32,
    pub interval_us: i64,
    pub snd_interval_us: u32,
    pub rcv_interval_us: u32,
    pub rtt_us: i64,
    pub losses: i32,
    pub acked_sacked: u32,
    pub prior_in_flight: u32,
    pub last_end_seq: u32,
    pub is_app_limited: bool,
    pub is_retrans: bool,
    pub is_ack_delayed: bool,
}

impl RateSample {
    /// `delivered` packets over `interval_us`, all acknowledged by this ACK, with that interval as their RTT.
    #[must_use]
    pub fn of(prior_delivered: u32, delivered: i32, interval_us: i64) -> Self {
        Self {
            prior_delivered,
            delivered,
            interval_us,
            rtt_us: interval_us,
            acked_sacked: delivered as u32,
            prior_in_flight: delivered as u32,
            ..Self::default()
        }
    }
}

impl Default for RateSample {
    /// A sample that says nothing: no delivery rate, no RTT.
    fn default() -> Self {
        Self {
            prior_mstamp: 0,
            prior_delivered: 0,
            prior_delivered_ce: 0,
            delivered: -1,
            delivered_ce: 0,
            interval_us: -1,
            snd_interval_us: 0,
            rcv_interval_us: 0,
            rtt_us: -1,
            losses: 0,
            acked_sacked: 0,
            prior_in_flight: 0,
            last_end_seq: 0,
            is_app_limited: false,
            is_retrans: false,
            is_ack_delayed: false,
        }
    }
}

/// `struct ack_sample`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct AckSample {
    pub pkts_acked: u32,
    /// −1 = no sample.
    pub rtt_us: i32,
    pub in_flight: u32,
}

type Op<F> = Option<F>;

/// `struct tcp_congestion_ops`
#[repr(C)]
#[allow(missing_docs)]
pub struct Ops {
    pub ssthresh: Op<unsafe extern "C" fn(*mut HostSock) -> u32>,
    pub cong_avoid: Op<unsafe extern "C" fn(*mut HostSock, u32, u32)>,
    pub set_state: Op<unsafe extern "C" fn(*mut HostSock, u8)>,
    pub cwnd_event: Op<unsafe extern "C" fn(*mut HostSock, u32)>,
    pub in_ack_event: Op<unsafe extern "C" fn(*mut HostSock, u32)>,
    pub pkts_acked: Op<unsafe extern "C" fn(*mut HostSock, *const AckSample)>,
    pub min_tso_segs: Op<unsafe extern "C" fn(*mut HostSock) -> u32>,
    pub cong_control: Op<unsafe extern "C" fn(*mut HostSock, u32, i32, *const RateSample)>,
    pub undo_cwnd: Op<unsafe extern "C" fn(*mut HostSock) -> u32>,
    pub sndbuf_expand: Op<unsafe extern "C" fn(*mut HostSock) -> u32>,
    pub name: [u8; ccactl_abi::layout::NAME_LEN],
    pub init: Op<unsafe extern "C" fn(*mut HostSock)>,
    pub release: Op<unsafe extern "C" fn(*mut HostSock)>,
    pub flags: u32,
}

/// `struct cc_host_sock`: the socket with the world around it.
#[repr(C)]
#[allow(missing_docs)]
pub struct HostSock {
    pub tp: TcpSock,
    pub jiffies: u64,
    pub ktime_ns: u64,
    pub random_state: u64,
    pub storage: *mut c_void,
    pub trace: Trace,
    pub hz: u32,
    pub recording: u8,
    pub storage_fails: u8,
    pub app_limited_fixed: u8,
    pub pad: u8,
    pub acks_sent: u32,
    pub ack_rcv_nxt: u32,
    pub mptcp_token: u32,
}

/// `struct cc_host_field`
#[repr(C)]
struct RawField {
    name: *const std::ffi::c_char,
    offset: u32,
    size: u32,
}

unsafe extern "C" {
    static cc_host_fields: RawField;
}

/// Where a member lies, or how large a struct is, by the C compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CField {
    /// `struct.member`, or `struct` for the size of the whole.
    pub name: &'static str,
    /// Offset in bytes; 0 for a whole struct.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
}

/// The C compiler's view of the mirrored structs.
#[must_use]
pub fn c_fields() -> Vec<CField> {
    let mut found = Vec::new();
    let mut at = &raw const cc_host_fields;
    loop {
        // SAFETY: the C table is constant and ends with an entry without a name.
        let field = unsafe { &*at };
        if field.name.is_null() {
            return found;
        }
        // SAFETY: a string literal of the C side.
        let name = unsafe { std::ffi::CStr::from_ptr(field.name) }.to_str().unwrap_or("");
        found.push(CField { name, offset: field.offset as usize, size: field.size as usize });
        // SAFETY: not the last entry, so there is a next one.
        at = unsafe { at.add(1) };
    }
}
