//! RTT: `tcp_rtt_estimator()`, `tcp_update_rtt_min()`, `lib/minmax.c`.

use ccactl_native::TcpSock;
use ccactl_native::layout::MinmaxSample;

/// `TCP_RTO_MIN`
pub const RTO_MIN_US: u32 = 200_000;
/// `TCP_RTO_MAX`
pub const RTO_MAX_US: u64 = 120_000_000;
/// `TCP_TIMEOUT_INIT`
pub const RTO_FIRST_US: u64 = 1_000_000;
/// `sysctl_tcp_min_rtt_wlen`
const MIN_WINDOW_S: u32 = 300;

/// What the estimator remembers beside `srtt_us`.
pub struct Rtt {
    mdev_us: u32,
    mdev_max_us: u32,
    rttvar_us: u32,
    /// The variance is decided anew when this is acknowledged.
    until: u64,
    /// Timeouts in a row double it.
    pub backoff: u32,
}

impl Rtt {
    pub fn new() -> Rtt {
        Rtt { mdev_us: RTO_FIRST_US as u32, mdev_max_us: 0, rttvar_us: 0, until: 0, backoff: 0 }
    }

    /// Takes a sample in.
    pub fn sample(&mut self, tp: &mut TcpSock, rtt_us: u32, una: u64, nxt: u64) {
        let mut srtt = i64::from(tp.srtt_us);
        let mut m = i64::from(rtt_us);
        if srtt == 0 {
            srtt = m << 3;
            self.mdev_us = rtt_us << 1;
            self.rttvar_us = self.mdev_us.max(RTO_MIN_US);
            self.mdev_max_us = self.rttvar_us;
            self.until = nxt;
        } else {
            m -= srtt >> 3;
            srtt += m;
            if m < 0 {
                m = -m - i64::from(self.mdev_us >> 2);
                // A shorter RTT shall not make the variance large: Eifel's finding.
                if m > 0 {
                    m >>= 3;
                }
            } else {
                m -= i64::from(self.mdev_us >> 2);
            }
            self.mdev_us = (i64::from(self.mdev_us) + m) as u32;
            if self.mdev_us > self.mdev_max_us {
                self.mdev_max_us = self.mdev_us;
                self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
            }
            if una > self.until {
                if self.mdev_max_us < self.rttvar_us {
                    self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
                }
                self.until = nxt;
                self.mdev_max_us = RTO_MIN_US;
            }
        }
        tp.srtt_us = srtt.max(1) as u32;
    }

    /// `icsk_rto` with its backoff, in µs.
    pub fn rto_us(&self, tp: &TcpSock) -> u64 {
        let base = match tp.srtt_us {
            0 => RTO_FIRST_US,
            srtt => u64::from(srtt >> 3) + u64::from(self.rttvar_us),
        };
        (base << self.backoff.min(16)).min(RTO_MAX_US)
    }
}

/// `minmax_running_min()` over [`MIN_WINDOW_S`].
pub fn update_min(tp: &mut TcpSock, rtt_us: u32, jiffies: u32, hz: u32) {
    let window = MIN_WINDOW_S * hz;
    let value = MinmaxSample { t: jiffies, v: rtt_us };
    let s = &mut tp.rtt_min;
    if value.v <= s[0].v || value.t.wrapping_sub(s[2].t) > window {
        *s = [value; 3];
        return;
    }
    if value.v <= s[1].v {
        (s[1], s[2]) = (value, value);
    } else if value.v <= s[2].v {
        s[2] = value;
    }
    // minmax_subwin_update()
    let age = value.t.wrapping_sub(s[0].t);
    if age > window {
        *s = [s[1], s[2], value];
        if value.t.wrapping_sub(s[0].t) > window {
            *s = [s[1], s[2], value];
        }
    } else if s[1].t == s[0].t && age > window / 4 {
        (s[1], s[2]) = (value, value);
    } else if s[2].t == s[1].t && age > window / 2 {
        s[2] = value;
    }
}
