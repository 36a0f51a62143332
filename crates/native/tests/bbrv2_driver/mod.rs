//! Drives BBRv2 ACK by ACK with numbers that can be worked out by hand.
//!
//! Every round trip takes [`RTT_US`] = 2^15 µs. Bandwidth is kept as packets/µs << 24, so one packet per round trip is
//! exactly 2^24 / 2^15 = 512, and a bandwidth of n packets per round trip has a BDP of exactly n packets.

#![allow(dead_code, reason = "shared by several test files, none of which uses all of it")]

use ccactl_abi::layout::Trace;
use ccactl_native::{RateSample, Socket};

/// Round trip of all tests.
pub const RTT_US: u64 = 1 << 15;
/// Bandwidth of all tests in packets per round trip, and so the BDP in packets.
pub const BDP: u32 = 100;

/// `enum bbr2_phase`
pub mod mode {
    pub const STARTUP: u32 = 0;
    pub const DRAIN: u32 = 1;
    pub const DOWN: u32 = 2;
    pub const CRUISE: u32 = 3;
    pub const REFILL: u32 = 4;
    pub const UP: u32 = 5;
    pub const PROBE_RTT: u32 = 6;
}

/// `enum bbr2_bound`
pub mod bound {
    pub const INFLIGHT_HI: i64 = 1;
    pub const HEADROOM: i64 = 2;
    pub const INFLIGHT_LO: i64 = 4;
    pub const BW_LO: i64 = 8;
    pub const CWND_LIMITED: i64 = 16;
    pub const DETECTED: i64 = 32;
    pub const RAISED_GAIN: i64 = 64;
    /// Of F-BBRv3.
    pub const RAISED: i64 = 32;
    pub const COMPETING: i64 = 64;
}

/// What the trace says of so many packets per round trip.
pub fn bps(pkts_per_rtt: u64) -> u64 {
    pkts_per_rtt * 1448 * 8 * 1_000_000 / RTT_US
}

/// One ACK.
#[derive(Clone)]
pub struct Ack {
    /// Time since the ACK before.
    pub after_us: u64,
    /// Packets acknowledged. Few, so that nothing looks like ACK aggregation.
    pub acked: u32,
    /// Packets delivered over `interval_us`: the delivery rate in packets per round trip, if that is one.
    pub rate: i32,
    pub interval_us: u64,
    /// Of them, with an ECN mark.
    pub marked: i32,
    /// −1 = none.
    pub rtt_us: i64,
    /// Packets marked lost by this ACK.
    pub losses: u32,
    /// Packets that a timer has marked lost since the ACK before; not in the rate sample.
    pub timer_losses: u32,
    /// `tp->delivered` when the acknowledged packet left; `None` = after the ACK before, which starts a new round.
    pub sent_at: Option<u32>,
    /// In flight before and after this ACK.
    pub in_flight: (u32, u32),
    pub app_limited: bool,
    /// The ACK may have been delayed by the receiver.
    pub delayed: bool,
}

/// An ACK of the next round, at the rate and with the flight of [`BDP`].
pub fn next_round() -> Ack {
    Ack {
        after_us: RTT_US,
        acked: 1,
        rate: BDP as i32,
        interval_us: RTT_US,
        marked: 0,
        rtt_us: RTT_US as i64,
        losses: 0,
        timer_losses: 0,
        sent_at: None,
        in_flight: (BDP, BDP),
        app_limited: false,
        delayed: false,
    }
}

pub struct Driver {
    pub socket: Socket,
}

impl Driver {
    /// A connection whose handshake took [`RTT_US`].
    pub fn new(algorithm: &str) -> Driver {
        Driver::starting(algorithm, &[])
    }

    /// The same with tunables.
    pub fn starting(algorithm: &str, tunables: &[(&str, i64)]) -> Driver {
        let mut driver = Driver::with(algorithm, tunables);
        driver.socket.tp_mut().delivered = 1;
        driver
    }

    /// As [`Driver::starting`], with nothing delivered yet.
    pub fn with(algorithm: &str, tunables: &[(&str, i64)]) -> Driver {
        let mut socket = Socket::checked(algorithm).expect("the algorithm exists");
        for &(name, raw) in tunables {
            socket.set_tunable(name, raw).expect("the tunable exists");
        }
        socket.record(true);
        let tp = socket.tp_mut();
        tp.app_limited = 0;
        tp.srtt_us = (RTT_US as u32) << 3;
        tp.rtt_min[0].v = RTT_US as u32;
        socket.init();
        Driver { socket }
    }

    pub fn delivered(&self) -> u32 {
        self.socket.tp().delivered
    }

    pub fn trace(&self) -> Trace {
        self.socket.trace().expect("the algorithm has published")
    }

    pub fn mode(&self) -> u32 {
        self.trace().mode
    }

    pub fn ack(&mut self, ack: Ack) -> Trace {
        self.socket.advance_us(ack.after_us);
        let sent_at = ack.sent_at.unwrap_or(self.delivered());
        let tp = self.socket.tp_mut();
        tp.delivered = tp.delivered.wrapping_add(ack.acked);
        tp.delivered_mstamp = tp.tcp_mstamp;
        tp.delivered_ce = tp.delivered_ce.wrapping_add(ack.marked as u32);
        tp.lost = tp.lost.wrapping_add(ack.losses + ack.timer_losses);
        tp.packets_out = ack.in_flight.1;
        let sample = RateSample {
            prior_mstamp: 1,
            prior_delivered: sent_at,
            delivered: ack.rate,
            delivered_ce: ack.marked,
            interval_us: ack.interval_us as i64,
            rtt_us: ack.rtt_us,
            losses: ack.losses as i32,
            acked_sacked: ack.acked,
            prior_in_flight: ack.in_flight.0,
            is_app_limited: ack.app_limited,
            is_ack_delayed: ack.delayed,
            ..RateSample::default()
        };
        self.socket.cong_control(0, 0, &sample);
        self.trace()
    }

    /// STARTUP sees the same rate four times, DRAIN ends with a BDP in flight: CRUISE, window of two BDP.
    pub fn cruising(algorithm: &str, tunables: &[(&str, i64)]) -> Driver {
        let mut driver = Driver::with(algorithm, tunables);
        for _ in 0..5 {
            driver.ack(next_round());
        }
        assert_eq!(driver.mode(), mode::CRUISE);
        driver.socket.tp_mut().snd_cwnd = 2 * BDP;
        driver
    }

    /// CRUISE until the random wait (2-3 s) is over.
    pub fn refilling(algorithm: &str, tunables: &[(&str, i64)]) -> Driver {
        let mut driver = Driver::cruising(algorithm, tunables);
        driver.ack(Ack { after_us: 3_000_001, ..next_round() });
        assert_eq!(driver.mode(), mode::REFILL);
        driver
    }

    /// One round of REFILL later.
    pub fn probing_up(algorithm: &str, tunables: &[(&str, i64)]) -> Driver {
        let mut driver = Driver::refilling(algorithm, tunables);
        driver.ack(next_round());
        assert_eq!(driver.mode(), mode::UP);
        driver
    }

    /// Packets of one burst at the present pacing rate, as `tcp_tso_autosize()`; min_rtt is too long for its allowance.
    pub fn burst(&self) -> u32 {
        u32::try_from((self.socket.pacing_rate() >> 10) / 1448).expect("small").max(2)
    }

    /// UP with `in_flight` packets in flight; the next ACK acknowledges one of them and marks `losses` of them lost.
    pub fn probe_loses(&mut self, in_flight: u32, losses: u32) -> Trace {
        let after = in_flight.saturating_sub(losses + 1);
        self.ack(Ack { after_us: 1, in_flight: (in_flight, after), losses, ..next_round() })
    }
}

/// The same script of ACKs and losses for both: nothing that they send differs.
pub fn assert_sends_the_same(mut plain: Driver, mut other: Driver) {
    for i in 0..5000_u32 {
        let losses = u32::from(i % 97 == 0) * (i % 7);
        let rtt_us = RTT_US as i64 + i64::from(i % 13) * 1000;
        let flight = 60 + i % 150;
        let ack = Ack { losses, rtt_us, in_flight: (flight, flight - 1), ..next_round() };
        let (a, b) = (plain.ack(ack.clone()), other.ack(ack));
        assert_eq!(
            (a.mode, a.bw_bps, a.inflight_hi_pkts, a.inflight_lo_pkts),
            (b.mode, b.bw_bps, b.inflight_hi_pkts, b.inflight_lo_pkts),
            "ACK {i}"
        );
        if losses > 0 {
            assert_eq!(plain.socket.ssthresh(), other.socket.ssthresh(), "ACK {i}");
        }
        assert_eq!(
            (plain.socket.cwnd(), plain.socket.pacing_rate()),
            (other.socket.cwnd(), other.socket.pacing_rate()),
            "ACK {i}"
        );
    }
}
