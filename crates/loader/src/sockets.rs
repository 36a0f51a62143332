//! A live socket as the TCP iterator saw it, for reports and counts.

use ccactl_abi::layout::{self, INFINITE_SSTHRESH, SOCKET_CANARY, SOCKET_MARKED, Socket, name_str};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What became of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOutcome {
    /// No policy wants anything of it.
    Unclaimed,
    /// Has had what its policy wants.
    There,
    /// Has it now.
    Moved,
    /// Differs, and only a report was wanted.
    Due,
    /// Has what its application chose with `setsockopt(TCP_CONGESTION)`.
    Application,
    /// Its route fixes the algorithm (`ip route … congctl lock NAME`).
    Locked,
    /// The algorithm does not serve it: dctcp and prague need ECN, and the connection has none.
    Refused,
    /// The kernel refused with this errno.
    Failed(i32),
}

impl SocketOutcome {
    /// As in JSON and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unclaimed => "unclaimed",
            Self::There => "there",
            Self::Moved => "moved",
            Self::Due => "due",
            Self::Application => "application-chosen",
            Self::Locked => "route-locked",
            Self::Refused => "refused-by-algorithm",
            Self::Failed(_) => "failed",
        }
    }
}

/// One live TCP socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketReport {
    /// Socket cookie, the `flow_id` of a recording.
    pub flow_id: u64,
    /// cgroup of the socket.
    pub cgroup_id: u64,
    /// cgroup whose policy decides about it, unless nobody does.
    pub policy_id: Option<u64>,
    /// Inode number of its network namespace.
    pub netns: u32,
    /// Local address and port.
    pub local: SocketAddr,
    /// Remote address and port; unspecified for a listener.
    pub remote: SocketAddr,
    /// As `ss` writes it: `ESTAB`, `LISTEN` …
    pub state: &'static str,
    /// Kernel name of its algorithm before.
    pub before: String,
    /// Kernel name of its algorithm now.
    pub after: String,
    /// Kernel name that it is to have, unless nobody decides.
    pub wanted: Option<String>,
    /// What became of it.
    pub outcome: SocketOutcome,
    /// Kernel id of the struct_ops map of its algorithm; `None` for one of the kernel's own.
    pub table_id: Option<u32>,
    /// Whether ccactl chose its algorithm.
    pub is_marked: bool,
    /// Whether it belongs to the share of a canary.
    pub is_canary: bool,
    /// Congestion window in packets.
    pub cwnd_pkts: u32,
    /// Slow-start threshold in packets; `None` when infinite.
    pub ssthresh_pkts: Option<u32>,
    /// Pacing rate in bit/s; `None` when unlimited.
    pub pacing_rate_bps: Option<u64>,
}

impl SocketReport {
    pub(crate) fn new(row: &Socket) -> Self {
        let is_v4 = row.family == 4;
        let address = |bytes: [u8; 16], port| SocketAddr::new(ip(bytes, is_v4), port);
        let name = |bytes: &[u8]| name_str(bytes).to_owned();
        Self {
            flow_id: row.flow_id,
            cgroup_id: row.cgroup_id,
            policy_id: (row.policy_id != 0).then_some(row.policy_id),
            netns: row.netns,
            local: address(row.saddr, row.sport),
            remote: address(row.daddr, row.dport),
            state: state(row.tcp_state),
            before: name(&row.before),
            after: name(&row.after),
            wanted: (row.wanted[0] != 0).then(|| name(&row.wanted)),
            outcome: outcome(row),
            table_id: (row.table_id != 0).then_some(row.table_id),
            is_marked: row.flags & SOCKET_MARKED != 0,
            is_canary: row.flags & SOCKET_CANARY != 0,
            cwnd_pkts: row.cwnd_pkts,
            ssthresh_pkts: (row.ssthresh_pkts < INFINITE_SSTHRESH).then_some(row.ssthresh_pkts),
            pacing_rate_bps: (row.pacing_rate_bytes_per_s != u64::MAX)
                .then(|| row.pacing_rate_bytes_per_s.saturating_mul(8)),
        }
    }

    /// Whether it listens.
    #[must_use]
    pub fn is_listener(&self) -> bool {
        self.state == "LISTEN"
    }
}

fn outcome(row: &Socket) -> SocketOutcome {
    match row.result {
        layout::MOVE_THERE => SocketOutcome::There,
        layout::MOVE_MOVED => SocketOutcome::Moved,
        layout::MOVE_DUE => SocketOutcome::Due,
        layout::MOVE_APPLICATION => SocketOutcome::Application,
        layout::MOVE_LOCKED => SocketOutcome::Locked,
        layout::MOVE_REFUSED => SocketOutcome::Refused,
        layout::MOVE_FAILED => SocketOutcome::Failed(row.error),
        _ => SocketOutcome::Unclaimed,
    }
}

/// An IPv4 connection of an IPv6 socket shows as what it is on the wire.
fn ip(bytes: [u8; 16], is_v4: bool) -> IpAddr {
    if is_v4 {
        let [a, b, c, d, ..] = bytes;
        return Ipv4Addr::new(a, b, c, d).into();
    }
    Ipv6Addr::from(bytes).to_canonical()
}

/// Names of include/net/tcp_states.h as `ss` writes them.
fn state(tcp_state: u8) -> &'static str {
    const STATES: [&str; 13] = [
        "UNKNOWN",
        "ESTAB",
        "SYN-SENT",
        "SYN-RECV",
        "FIN-WAIT-1",
        "FIN-WAIT-2",
        "TIME-WAIT",
        "CLOSE",
        "CLOSE-WAIT",
        "LAST-ACK",
        "LISTEN",
        "CLOSING",
        "NEW-SYN-RECV",
    ];
    STATES.get(usize::from(tcp_state)).copied().unwrap_or(STATES[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use ccactl_abi::layout::name_bytes;

    #[test]
    fn a_row_becomes_a_report_with_what_is_infinite_or_absent_left_out() {
        let mut daddr = [0; 16];
        daddr[..4].copy_from_slice(&[192, 0, 2, 7]);
        let row = Socket {
            family: 4,
            daddr,
            dport: 443,
            tcp_state: 10,
            result: layout::MOVE_FAILED,
            error: 16,
            ssthresh_pkts: INFINITE_SSTHRESH,
            pacing_rate_bytes_per_s: 125,
            before: name_bytes("cubic").unwrap(),
            ..Socket::zeroed()
        };
        let report = SocketReport::new(&row);
        assert_eq!(report.remote, "192.0.2.7:443".parse().unwrap());
        assert_eq!((report.state, report.is_listener()), ("LISTEN", true));
        assert_eq!(report.outcome, SocketOutcome::Failed(16));
        assert_eq!((report.ssthresh_pkts, report.pacing_rate_bps), (None, Some(1000)));
        assert_eq!((report.before.as_str(), report.wanted, report.table_id), ("cubic", None, None));
        assert_eq!(SocketReport::new(&Socket { pacing_rate_bytes_per_s: u64::MAX, ..row }).pacing_rate_bps, None);
    }

    #[test]
    fn a_v4_mapped_address_is_shown_as_ipv4() {
        let mapped = "::ffff:192.0.2.7".parse::<Ipv6Addr>().unwrap().octets();
        let report = SocketReport::new(&Socket { family: 6, saddr: mapped, ..Socket::zeroed() });
        assert_eq!(report.local.ip(), "192.0.2.7".parse::<IpAddr>().unwrap());
    }
}
