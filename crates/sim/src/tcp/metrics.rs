//! What a host keeps of a path from one connection to the next: `net/ipv4/tcp_metrics.c`.

use super::recovery::INFINITE_SSTHRESH;
use super::{REORDERING_PKTS, Sender};
use ccactl_native::{CA_OPEN, TcpSock};

/// Of a path, as far as it changes how a connection begins. The kernel keeps RTT and cwnd too: the first only sets the timeout
/// until the first sample, the second nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Remembered {
    /// `TCP_METRIC_SSTHRESH`
    ssthresh_pkts: Option<u32>,
    /// `TCP_METRIC_REORDERING`
    reordering_pkts: Option<u32>,
}

impl Remembered {
    /// `tcp_init_metrics()`, before the algorithm begins.
    pub(super) fn begin(self, tp: &mut TcpSock) -> u32 {
        tp.snd_ssthresh = self.ssthresh_pkts.unwrap_or(INFINITE_SSTHRESH);
        self.reordering_pkts.unwrap_or(REORDERING_PKTS)
    }
}

impl Sender {
    /// What its host knows when it closes, all its data acknowledged (`tcp_update_metrics()`).
    #[must_use]
    pub fn remember(&self, before: Remembered) -> Remembered {
        let tp = self.socket.tp();
        let mut known = before;
        if self.rtt.backoff > 0 || tp.srtt_us == 0 {
            return known;
        }
        let half_pkts = tp.snd_cwnd >> 1;
        if tp.snd_ssthresh >= INFINITE_SSTHRESH {
            // The first slow start has not ended: the path holds at least this.
            known.ssthresh_pkts = before.ssthresh_pkts.map(|pkts| pkts.max(half_pkts));
        } else if tp.snd_cwnd >= tp.snd_ssthresh && tp.ca_state() == CA_OPEN {
            known.ssthresh_pkts = Some(half_pkts.max(tp.snd_ssthresh));
        } else {
            known.ssthresh_pkts = before.ssthresh_pkts.map(|pkts| pkts.max(tp.snd_ssthresh));
            if self.reordering_pkts != REORDERING_PKTS {
                known.reordering_pkts = before.reordering_pkts.max(Some(self.reordering_pkts));
            }
        }
        known
    }
}
