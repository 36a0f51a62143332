//! The window that a receiver offers: `tcp_grow_window()`, `tcp_rcv_space_adjust()`, `__tcp_select_window()`.
//!
//! Its application reads what has arrived at once.

use crate::Nanos;
use crate::segment::HEADER_BYTES;

/// `TCP_DEFAULT_SCALING_RATIO`, in 256ths: the part of a buffer that is payload.
const FIRST_RATIO: u64 = 128;
/// `TCP_INIT_CWND`
const INITIAL_CWND_PKTS: u64 = 10;
/// `struct sk_buff` and `struct skb_shared_info`, aligned.
const BUFFER_BYTES: (u64, u64) = (256, 320);
const CACHE_LINE: u64 = 64;

/// Bounds of a receive buffer, `tcp_rmem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveBuffer {
    /// What a connection begins with.
    pub first_bytes: u64,
    /// What it grows to at most.
    pub most_bytes: u64,
}

impl Default for ReceiveBuffer {
    /// Of Linux 6.18 (`tcp_init()`).
    fn default() -> Self {
        ReceiveBuffer { first_bytes: 131_072, most_bytes: 33_554_432 }
    }
}

/// What of a segment counts for the window.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub now_ns: Nanos,
    /// Payload.
    pub bytes: u32,
    /// Echo of the receiver's time stamp, in ms of the world's clock.
    pub tsecr_ms: u32,
    /// Payload that has arrived in order, all together.
    pub copied_bytes: u64,
    /// Payload that waits above a hole.
    pub above_bytes: u64,
}

pub struct Window {
    most_bytes: u64,
    rcvbuf_bytes: u64,
    /// Payload in 256 bytes of a buffer.
    ratio: u64,
    clamp_bytes: u64,
    /// `rcv_ssthresh`
    limit_bytes: u64,
    mss_bytes: u64,
    /// `rcvq_space`: what the application has read in an RTT, since when, and from where on.
    space_bytes: u64,
    since_ns: Nanos,
    since_bytes: u64,
    /// `rcv_rtt_est.rtt_us`, eight times.
    rtt8_us: u64,
    last_tsecr_ms: u32,
    /// Offers are multiples of 2 to this power.
    scale: u32,
    /// Right edge of the last offer, in payload from the beginning.
    edge_bytes: u64,
}

impl Window {
    /// Of a connection that is established now, with segments of that payload.
    pub fn new(now_ns: Nanos, buffer: ReceiveBuffer, mss_bytes: u32) -> Window {
        let mss_bytes = u64::from(mss_bytes);
        let full_bytes = in_payload(buffer.first_bytes, FIRST_RATIO);
        let limit_bytes = full_bytes / mss_bytes * mss_bytes;
        Window {
            most_bytes: buffer.most_bytes,
            rcvbuf_bytes: buffer.first_bytes,
            ratio: FIRST_RATIO,
            clamp_bytes: full_bytes,
            limit_bytes,
            mss_bytes,
            space_bytes: limit_bytes.min(INITIAL_CWND_PKTS * mss_bytes),
            since_ns: now_ns,
            since_bytes: 0,
            rtt8_us: 0,
            last_tsecr_ms: 0,
            // tcp_select_initial_window()
            scale: buffer.most_bytes.max(1).ilog2().saturating_sub(15).min(14),
            edge_bytes: limit_bytes.min(u64::from(u16::MAX)),
        }
    }

    /// A segment has arrived in order: whether the window grows by it (`tcp_grow_window()`), which is acknowledged at once.
    pub fn grows(&mut self, arrival: &Arrival) -> bool {
        self.measure_rtt(arrival);
        let (bytes, truesize) = (u64::from(arrival.bytes), truesize(arrival.bytes));
        // tcp_measure_rcv_mss(): how much of its buffers is payload is known from the first full segment on.
        let ratio = (bytes << 8) / truesize;
        if bytes >= self.mss_bytes && ratio != self.ratio {
            self.ratio = ratio.max(1);
            self.clamp_bytes = in_payload(self.rcvbuf_bytes, self.ratio);
            self.space_bytes = self.space_bytes.min(self.clamp_bytes);
        }
        let room = self.clamp_bytes.min(self.free_bytes(arrival.above_bytes)).saturating_sub(self.limit_bytes);
        if bytes < CACHE_LINE * 2 || room == 0 {
            return false;
        }
        self.limit_bytes += room.min(2 * self.mss_bytes.max(bytes));
        true
    }

    /// The application has read it (`tcp_rcv_space_adjust()`): the buffer grows with what it reads in an RTT.
    pub fn is_read(&mut self, arrival: &Arrival) {
        if self.rtt8_us == 0 || (arrival.now_ns - self.since_ns) / 1000 < self.rtt8_us >> 3 {
            return;
        }
        let copied_bytes = arrival.copied_bytes - self.since_bytes;
        if copied_bytes > self.space_bytes {
            // Twice, as this is an RTT late; in slow start the sender doubles meanwhile.
            let needed_bytes = copied_bytes << 1;
            let growth_bytes = needed_bytes * (copied_bytes - self.space_bytes) / self.space_bytes.max(1);
            let wanted_bytes = needed_bytes + (growth_bytes << 1) + arrival.above_bytes;
            let rcvbuf_bytes = ((wanted_bytes << 8) / self.ratio).min(self.most_bytes);
            self.space_bytes = copied_bytes;
            if rcvbuf_bytes > self.rcvbuf_bytes {
                self.rcvbuf_bytes = rcvbuf_bytes;
                self.clamp_bytes = in_payload(rcvbuf_bytes, self.ratio);
            }
        }
        (self.since_ns, self.since_bytes) = (arrival.now_ns, arrival.copied_bytes);
    }

    /// What the next ACK offers (`tcp_select_window()`): never less than the one before it.
    pub fn offer_bytes(&mut self, copied_bytes: u64, above_bytes: u64) -> u32 {
        let unit = 1 << self.scale;
        let free_bytes = self.free_bytes(above_bytes).min(self.limit_bytes).next_multiple_of(unit);
        let left_bytes = self.edge_bytes.saturating_sub(copied_bytes).next_multiple_of(unit);
        let offer_bytes = free_bytes.max(left_bytes).min(u64::from(u16::MAX) << self.scale);
        self.edge_bytes = copied_bytes + offer_bytes;
        offer_bytes as u32
    }

    /// `tcp_rcv_rtt_measure_ts()`
    fn measure_rtt(&mut self, arrival: &Arrival) {
        let echo_ms = std::mem::replace(&mut self.last_tsecr_ms, arrival.tsecr_ms);
        if echo_ms == arrival.tsecr_ms || u64::from(arrival.bytes) < self.mss_bytes {
            return;
        }
        let now_ms = (arrival.now_ns / 1_000_000) as u32;
        let sample_us = u64::from(now_ms.saturating_sub(arrival.tsecr_ms)) * 1000;
        if sample_us == 0 {
            return;
        }
        let sample8_us = sample_us << 3;
        self.rtt8_us = if self.rtt8_us == 0 || sample8_us < self.rtt8_us {
            sample8_us
        } else {
            self.rtt8_us - (self.rtt8_us >> 3) + sample_us
        };
    }

    fn free_bytes(&self, above_bytes: u64) -> u64 {
        in_payload(self.rcvbuf_bytes, self.ratio).saturating_sub(above_bytes)
    }
}

/// `tcp_win_from_space()`
fn in_payload(space_bytes: u64, ratio: u64) -> u64 {
    (space_bytes * ratio) >> 8
}

/// What a packet takes of memory: its buffer is a power of two.
fn truesize(payload_bytes: u32) -> u64 {
    let packet_bytes = u64::from(payload_bytes + HEADER_BYTES).next_multiple_of(CACHE_LINE);
    (packet_bytes + BUFFER_BYTES.1).next_power_of_two() + BUFFER_BYTES.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(segment: u64) -> Arrival {
        let copied_bytes = (segment + 1) * 1448;
        Arrival { now_ns: segment * 1000, bytes: 1448, tsecr_ms: 1, copied_bytes, above_bytes: 0 }
    }

    #[test]
    fn a_window_grows_by_two_segments_for_each_until_the_buffer_is_used() {
        // As the kernel's receiver in the virtual lab: Linux 6.18, tcp_rmem = 4096 262144 67108864.
        let buffer = ReceiveBuffer { first_bytes: 262_144, most_bytes: 64 << 20 };
        let mut window = Window::new(0, buffer, 1448);
        let mut offers = Vec::new();
        for segment in 0..14 {
            let grows = window.grows(&arrival(segment));
            offers.push((grows, window.offer_bytes((segment + 1) * 1448, 0)));
        }
        let seen = [
            135_168, 137_216, 139_264, 143_360, 145_408, 149_504, 151_552, 153_600, 157_696, 159_744, 163_840, 163_840,
        ];
        assert_eq!(offers[..12], seen.map(|offer| (true, offer)));
        assert_eq!(offers[12..], [(false, 163_840); 2]);
    }

    #[test]
    fn a_buffer_follows_what_is_read_in_a_round_trip() {
        let mut window = Window::new(0, ReceiveBuffer::default(), 1448);
        let ms = |ms: u64, copied_bytes| Arrival {
            now_ns: ms * 1_000_000,
            bytes: 1448,
            tsecr_ms: ms as u32 - 40,
            copied_bytes,
            above_bytes: 0,
        };
        for round in 1..=5 {
            let seen = ms(41 * round, 100_000 * ((1 << round) - 1));
            window.grows(&seen);
            window.is_read(&seen);
        }
        // The last round trip brought 1.6 MB, twice as much as the one before.
        let expected = 2 * 1_600_000 + 2 * (2 * 1_600_000);
        assert!(window.clamp_bytes.abs_diff(expected) < 2, "{} for {expected}", window.clamp_bytes);
    }

    #[test]
    fn an_offer_is_never_taken_back() {
        let mut window = Window::new(0, ReceiveBuffer::default(), 1448);
        window.grows(&arrival(0));
        let first = u64::from(window.offer_bytes(1448, 0));
        let later = u64::from(window.offer_bytes(1448, 50_000));
        assert!(later >= first, "{later} after {first}");
    }
}
