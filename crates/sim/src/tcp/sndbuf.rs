//! How much the socket takes of what the application has to send: `sk_stream_memory_free()`, `sk_stream_write_space()`.

use super::Sender;
use super::output::{BUFFER_BYTES, buffer_pkts};

/// A send buffer that is at its ceiling (`tcp_wmem`) from the beginning on: one that grows to it is no limit before.
pub(super) struct SendBuffer {
    /// `u64::MAX`: takes everything.
    most_bytes: u64,
    /// One past the last segment that it has taken.
    end: u64,
    /// Buffers that were sent and are not acknowledged yet.
    pub sent_buffers: u64,
}

impl SendBuffer {
    pub fn new(most_bytes: Option<u64>) -> SendBuffer {
        let end = if most_bytes.is_some() { 0 } else { u64::MAX };
        SendBuffer { most_bytes: most_bytes.unwrap_or(u64::MAX), end, sent_buffers: 0 }
    }
}

impl Sender {
    /// One past the last segment that is in the socket.
    pub(super) fn taken(&self) -> u64 {
        self.written.min(self.sndbuf.end)
    }

    /// `tcp_check_space()`: once two thirds are in use at most, the application writes until the buffer is full.
    pub(super) fn take_more(&mut self) {
        let queued_bytes = self.queued_bytes();
        if self.sndbuf.end < self.written && queued_bytes + queued_bytes / 2 <= self.sndbuf.most_bytes {
            self.check_app_limited();
            self.fill();
            self.transmit();
        }
    }

    /// `tcp_sendmsg_locked()`. The ceiling is looked at where a new buffer begins; one that is sent in part is filled up. So with an
    /// open window and a device that takes everything the last buffer empties as fast as it fills.
    fn fill(&mut self) {
        let buffer_pkts = u64::from(buffer_pkts(self.config.mss_bytes));
        while self.sndbuf.end < self.written {
            let unsent_pkts = self.sndbuf.end - self.board.nxt();
            let begun_pkts = unsent_pkts % buffer_pkts;
            if begun_pkts == 0 && self.queued_bytes() >= self.sndbuf.most_bytes {
                break;
            }
            self.sndbuf.end += buffer_pkts - begun_pkts;
            if unsent_pkts < buffer_pkts {
                self.transmit_one_buffer();
            }
        }
    }

    /// `sk_wmem_queued`: what is sent and not acknowledged, and what is not sent yet.
    fn queued_bytes(&self) -> u64 {
        let mss = u64::from(self.config.mss_bytes);
        let end = self.taken();
        let unsent_buffers = (end - self.board.nxt()).div_ceil(u64::from(buffer_pkts(self.config.mss_bytes)));
        (end - self.board.una()).saturating_mul(mss)
            + (self.sndbuf.sent_buffers + unsent_buffers) * u64::from(BUFFER_BYTES)
    }
}
