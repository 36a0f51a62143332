//! BBR version 1, callback by callback.

mod common;

use ccactl_native::{CA_CWR, CA_LOSS, CA_OPEN, CA_RECOVERY, EVENT_LOSS, EVENT_TX_START, RateSample, Socket};
use common::{established, sample};

const STARTUP: u32 = 0;
const DRAIN: u32 = 1;
const PROBE_BW: u32 = 2;
const PROBE_RTT: u32 = 3;

/// The round trip of the hand-made rounds.
const RTT_US: i64 = 40_000;
/// One packet per ms and RTT: the bandwidth of a round that delivers 40 packets, in bit/s of payload.
const BPS_PER_PKT: u64 = 1448 * 8 * 1_000_000 / RTT_US as u64;

fn mode(socket: &Socket) -> u32 {
    socket.trace().expect("published").mode
}

/// An established socket that has seen the round trip of the handshake.
fn connected() -> Socket {
    let mut socket = established("bbr");
    socket.tp_mut().srtt_us = (RTT_US as u32) << 3;
    socket.init();
    socket
}

/// One round that delivers `pkts` in a single ACK, with the flight that fits to it.
fn round(socket: &mut Socket, pkts: u32) {
    round_with(socket, sample(0, pkts as i32, RTT_US));
}

fn round_with(socket: &mut Socket, mut sample: RateSample) {
    let pkts = sample.delivered.max(0) as u32;
    socket.advance_us(RTT_US as u64);
    let now_us = socket.time_us();
    let tp = socket.tp_mut();
    sample.prior_delivered = tp.delivered;
    tp.delivered += pkts;
    tp.delivered_mstamp = now_us;
    tp.lost += sample.losses.max(0) as u32;
    tp.packets_out = pkts;
    socket.cong_control(0, 0, &sample);
}

/// A socket that has found its pipe full at so many packets per round, and drained.
fn probing(pkts: u32) -> Socket {
    let mut socket = connected();
    for _ in 0..6 {
        round(&mut socket, pkts);
    }
    assert_eq!(mode(&socket), PROBE_BW);
    socket
}

#[test]
fn init_paces_the_initial_window_at_the_startup_gain() {
    let mut socket = established("bbr");
    // srtt unknown: 1 ms. 10 * 2^24 / 1000 packets/us * 1448 bytes * 739/256 * 0.99
    assert_eq!(socket.pacing_rate(), 41_381_651);
    socket.tp_mut().srtt_us = 40_000 << 3;
    socket.init();
    assert_eq!(socket.pacing_rate(), 1_034_467);
    assert_eq!(socket.snd_ssthresh(), 0x7fff_ffff);
    assert_eq!(socket.tp().inet_conn.sk.sk_pacing_status, 1);
}

#[test]
fn pacing_by_a_qdisc_is_left_alone() {
    let mut socket = connected();
    socket.tp_mut().inet_conn.sk.sk_pacing_status = 2;
    socket.init();
    assert_eq!(socket.tp().inet_conn.sk.sk_pacing_status, 2);
}

#[test]
fn pacing_stays_below_what_the_application_allows() {
    let mut socket = connected();
    socket.tp_mut().inet_conn.sk.sk_max_pacing_rate = 5000;
    socket.init();
    assert_eq!(socket.pacing_rate(), 5000);
}

#[test]
fn startup_goes_on_while_the_bandwidth_grows_by_a_quarter() {
    let mut socket = connected();
    let mut pkts = 10;
    for _ in 0..12 {
        round(&mut socket, pkts);
        let trace = socket.trace().expect("published");
        assert_eq!((trace.mode, trace.pacing_gain_milli, trace.cwnd_gain_milli), (STARTUP, 2886, 2886), "{pkts}");
        assert!(trace.bw_bps.abs_diff(u64::from(pkts) * BPS_PER_PKT) < 2000, "{pkts}: {}", trace.bw_bps);
        pkts = pkts * 13 / 10;
    }
}

#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut socket = connected();
    round(&mut socket, 100);
    for flat in 1..=2 {
        round(&mut socket, 120);
        assert_eq!(mode(&socket), STARTUP, "flat round {flat}");
    }
    // The third flat round: what is in flight (120) fits bw * min_rtt and the bursts, so DRAIN is over at once.
    round(&mut socket, 120);
    assert_eq!(mode(&socket), PROBE_BW);
}

#[test]
fn growth_starts_the_count_of_flat_rounds_anew() {
    let mut socket = connected();
    for pkts in [100, 100, 100, 130, 130, 130] {
        round(&mut socket, pkts);
        assert_eq!(mode(&socket), STARTUP, "{pkts}");
    }
    round(&mut socket, 130);
    assert_ne!(mode(&socket), STARTUP);
}

#[test]
fn application_limited_rounds_are_not_flat_and_do_not_lower_the_estimate() {
    let mut socket = connected();
    round(&mut socket, 100);
    for _ in 0..20 {
        round_with(&mut socket, RateSample { is_app_limited: true, ..sample(0, 10, RTT_US) });
    }
    assert_eq!(mode(&socket), STARTUP);
    assert!(socket.trace().expect("published").bw_bps.abs_diff(100 * BPS_PER_PKT) < 2000);
    // A larger one counts all the same.
    round_with(&mut socket, RateSample { is_app_limited: true, ..sample(0, 150, RTT_US) });
    assert!(socket.trace().expect("published").bw_bps.abs_diff(150 * BPS_PER_PKT) < 2000);
}

#[test]
fn drain_paces_at_the_inverse_gain_until_the_queue_is_gone() {
    let mut socket = connected();
    for _ in 0..3 {
        round(&mut socket, 100);
    }
    let tp = socket.tp_mut();
    tp.delivered += 100;
    tp.packets_out = 250;
    tp.delivered_mstamp += RTT_US as u64;
    let prior = tp.delivered - 100;
    socket.cong_control(0, 0, &sample(prior, 100, RTT_US));
    let trace = socket.trace().expect("published");
    assert_eq!((trace.mode, trace.pacing_gain_milli, trace.cwnd_gain_milli), (DRAIN, 343, 2886));
    // 100 packets of BDP and three bursts of 6 at STARTUP's rate; bursts of 2 at DRAIN's.
    assert_eq!(socket.snd_ssthresh(), 118);
    socket.tp_mut().packets_out = 107;
    socket.cong_control(0, 0, &RateSample::default());
    assert_eq!(mode(&socket), DRAIN);
    socket.tp_mut().packets_out = 106;
    socket.cong_control(0, 0, &RateSample::default());
    assert_eq!(mode(&socket), PROBE_BW);
}

#[test]
fn the_window_is_twice_the_bandwidth_delay_product_and_room_for_bursts() {
    let mut socket = probing(100);
    // Bursts of 2 packets, in the probing phase of 3, which has two packets more and is even. The ACKs of the hand-made
    // rounds carry whole windows, which would be taken for aggregation.
    socket.set_tunable("extra_acked_gain", 0).expect("a tunable");
    for _ in 0..16 {
        round(&mut socket, 100);
        let trace = socket.trace().expect("published");
        let expected = if trace.v0 == 0 { 212 } else { 206 };
        assert_eq!((socket.cwnd(), trace.cwnd_gain_milli), (expected, 2000), "phase {}", trace.v0);
    }
}

#[test]
fn ack_aggregation_widens_the_window_by_what_came_at_once() {
    let mut socket = probing(100);
    for _ in 0..16 {
        round(&mut socket, 100);
    }
    // 100 packets of a round in one ACK are 100 more than expected at the start of an epoch.
    let expected = if socket.trace().expect("published").v0 == 0 { 312 } else { 306 };
    assert_eq!(socket.cwnd(), expected);
}

#[test]
fn probe_bw_cycles_through_its_eight_gains() {
    let mut socket = probing(100);
    let mut seen = Vec::new();
    for _ in 0..24 {
        // The flight must reach the gain for the first phase to end.
        let flight = 133;
        round_with(&mut socket, RateSample { prior_in_flight: flight, ..sample(0, 100, RTT_US + 1) });
        let trace = socket.trace().expect("published");
        seen.push((trace.v0, trace.pacing_gain_milli));
    }
    for &(phase, gain) in &seen {
        assert_eq!(gain, [1250, 750, 1000, 1000, 1000, 1000, 1000, 1000][phase as usize], "phase {phase}");
    }
    // A phase ends when more than a min_rtt has passed: with the second round.
    seen.dedup();
    assert_eq!(seen.len(), 12, "{seen:?}");
    assert!(seen.windows(2).all(|pair| pair[1].0 == (pair[0].0 + 1) % 8), "{seen:?}");
}

#[test]
fn probe_bw_begins_at_any_phase_but_the_draining_one() {
    let mut phases = std::collections::BTreeSet::new();
    for seed in 0..100 {
        let mut socket = connected();
        socket.set_seed(seed);
        for _ in 0..6 {
            round(&mut socket, 100);
            if mode(&socket) == PROBE_BW {
                break;
            }
        }
        phases.insert(socket.trace().expect("published").v0);
    }
    assert_eq!(phases, [0, 2, 3, 4, 5, 6, 7].into());
}

#[test]
fn the_probing_phase_lasts_until_the_flight_has_grown_or_a_loss_says_that_it_cannot() {
    for (flight, losses, moves_on) in [(132, 0, false), (133, 0, true), (100, 1, true)] {
        let mut socket = probing(100);
        while socket.trace().expect("published").v0 != 0 {
            round_with(&mut socket, RateSample { prior_in_flight: 1, ..sample(0, 100, RTT_US + 1) });
        }
        // Target: 125 packets, three bursts of 3, even, 2 for the phase = 136; the burst about to leave counts 3.
        round_with(&mut socket, RateSample { prior_in_flight: flight, losses, ..sample(0, 100, RTT_US + 1) });
        assert_eq!(socket.trace().expect("published").v0 == 1, moves_on, "{flight} in flight, {losses} lost");
    }
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_holds_four_packets_for_200_ms_and_a_round() {
    let mut socket = probing(100);
    let mut entered_us = None;
    // min_rtt was measured in the first round; later samples are larger.
    let larger = RateSample { rtt_us: RTT_US + 500, ..sample(0, 100, RTT_US) };
    let start_us = socket.time_us() - 5 * RTT_US as u64;
    while entered_us.is_none() && socket.time_us() < start_us + 15_000_000 {
        round_with(&mut socket, larger);
        if mode(&socket) == PROBE_RTT {
            entered_us = Some(socket.time_us());
        }
    }
    let waited_us = entered_us.expect("it enters PROBE_RTT") - start_us;
    assert!((10_000_000..10_100_000).contains(&waited_us), "after {waited_us} us");
    assert_eq!(socket.cwnd(), 4);
    assert_ne!(socket.tp().app_limited, 0);
    let trace = socket.trace().expect("published");
    assert_eq!((trace.pacing_gain_milli, trace.cwnd_gain_milli), (1000, 1000));
    let window = socket.cwnd();
    assert_eq!(window, 4);

    // As long as more than four packets are in flight, the 200 ms do not begin.
    for _ in 0..20 {
        round_with(&mut socket, larger);
        assert_eq!((mode(&socket), socket.cwnd()), (PROBE_RTT, 4));
    }
    let mut rounds = 0;
    while mode(&socket) == PROBE_RTT {
        round_with(&mut socket, RateSample { is_app_limited: true, ..sample(0, 4, RTT_US) });
        rounds += 1;
        assert!(rounds < 20);
    }
    // 200 ms of 250-Hz jiffies from the first small flight on, strictly passed: the sixth round after it.
    assert_eq!(rounds, 7);
    assert_eq!(mode(&socket), PROBE_BW);
    assert!(socket.cwnd() > 200, "cwnd {} is restored", socket.cwnd());
    assert!(socket.trace().expect("published").bw_bps.abs_diff(100 * BPS_PER_PKT) < 2000);
}

#[test]
fn probe_rtt_can_be_switched_off() {
    let mut socket = probing(100);
    socket.set_tunable("probe_rtt_ms", 0).expect("a tunable");
    for _ in 0..600 {
        round(&mut socket, 100);
        assert_eq!(mode(&socket), PROBE_BW);
    }
}

/// Before Linux 6.4 samples of PROBE_RTT cannot be marked as application-limited.
#[test]
fn the_bandwidth_survives_probe_rtt_where_app_limited_cannot_be_written() {
    let mut socket = probing(100);
    socket.refuse_app_limited(true);
    let mut was_there = false;
    for _ in 0..400 {
        let small = mode(&socket) == PROBE_RTT;
        was_there |= small;
        let pkts = if small { 4 } else { 100 };
        round_with(&mut socket, RateSample { rtt_us: RTT_US + 500, ..sample(0, pkts, RTT_US) });
        let bw_bps = socket.trace().expect("published").bw_bps;
        assert!(bw_bps.abs_diff(100 * BPS_PER_PKT) < 2000, "{bw_bps}");
    }
    assert!(was_there);
    assert_eq!(socket.tp().app_limited, u32::MAX, "untouched");
    // Later, samples count again.
    for _ in 0..12 {
        round(&mut socket, 50);
    }
    assert!(socket.trace().expect("published").bw_bps < 60 * BPS_PER_PKT);
}

#[test]
fn the_first_round_of_recovery_conserves_packets_and_its_end_restores_the_window() {
    let mut socket = probing(100);
    let before = socket.cwnd();
    assert_eq!(socket.ssthresh(), socket.snd_ssthresh(), "loss changes no threshold");
    socket.set_state(CA_RECOVERY);
    // An ACK within the round: 3 delivered, 20 lost, 50 in flight.
    let prior = socket.tp().delivered - 1;
    socket.tp_mut().packets_out = 50;
    socket.cong_control(0, 0, &RateSample { losses: 20, ..sample(prior, 3, RTT_US) });
    assert_eq!(socket.cwnd(), 53);
    socket.tp_mut().packets_out = 48;
    socket.cong_control(0, 0, &sample(prior, 2, RTT_US));
    assert_eq!(socket.cwnd(), 53, "never below what is in flight and acknowledged, nor above the window of the entry");
    // A new round: slow start towards the target.
    round(&mut socket, 40);
    assert!(socket.cwnd() > 53 && socket.cwnd() < before, "{}", socket.cwnd());
    socket.set_state(CA_OPEN);
    round(&mut socket, 1);
    assert!(socket.cwnd() >= before - 2, "{} of {before}", socket.cwnd());
}

#[test]
fn losses_come_off_the_window_but_not_below_one() {
    let mut socket = connected();
    socket.tp_mut().snd_cwnd = 10;
    socket.set_tunable("min_cwnd_pkts", 2).expect("a tunable");
    let tp = socket.tp_mut();
    tp.delivered = 100;
    tp.packets_out = 1;
    socket.cong_control(0, 0, &RateSample { losses: 500, ..sample(0, 1, RTT_US) });
    assert_eq!(socket.cwnd(), 2);
}

#[test]
fn a_timeout_forgets_the_full_pipe_growth_and_the_window_comes_back() {
    let mut socket = probing(100);
    let before = socket.cwnd();
    socket.ssthresh();
    socket.cwnd_event(EVENT_LOSS);
    socket.tp_mut().snd_cwnd = 1;
    socket.set_state(CA_LOSS);
    round(&mut socket, 1);
    assert!(socket.cwnd() <= 4, "{}", socket.cwnd());
    socket.set_state(CA_OPEN);
    round(&mut socket, 1);
    assert!(socket.cwnd() >= before - 2, "{} of {before}", socket.cwnd());
}

#[test]
fn undo_keeps_the_window_and_forgets_the_policer() {
    let mut socket = policed();
    let cwnd = socket.cwnd();
    assert_eq!(socket.undo_cwnd(), cwnd);
    round(&mut socket, 100);
    assert_eq!(socket.trace().expect("published").v1, 0);
}

/// Two lossy intervals of the same rate, well below the maximum.
fn policed() -> Socket {
    let mut socket = probing(100);
    for _ in 0..12 {
        round_with(&mut socket, RateSample { losses: 20, ..sample(0, 60, RTT_US) });
    }
    socket
}

#[test]
fn two_lossy_intervals_of_one_rate_are_taken_for_a_policer_for_48_rounds() {
    let mut socket = policed();
    let trace = socket.trace().expect("published");
    assert!((trace.v1 as u64).abs_diff(60 * BPS_PER_PKT) < 60 * BPS_PER_PKT / 50, "{}", trace.v1);
    assert_eq!(trace.bw_bps, trace.v1 as u64);
    let mut rounds = 0;
    while socket.trace().expect("published").v1 != 0 {
        assert_eq!(socket.trace().expect("published").pacing_gain_milli, 1000);
        round(&mut socket, 60);
        rounds += 1;
        assert!(rounds < 60);
    }
    assert!((40..=48).contains(&rounds), "{rounds}");
}

#[test]
fn policer_detection_can_be_switched_off_and_needs_consistent_rates() {
    let mut off = probing(100);
    off.set_tunable("policer_detection", 0).expect("a tunable");
    let mut uneven = probing(100);
    for index in 0..40 {
        round_with(&mut off, RateSample { losses: 20, ..sample(0, 60, RTT_US) });
        // Interval by interval another rate.
        let pkts = if index / 5 % 2 == 0 { 30 } else { 90 };
        round_with(&mut uneven, RateSample { losses: 40, ..sample(0, pkts, RTT_US) });
        assert_eq!(off.trace().expect("published").v1, 0);
        assert_eq!(uneven.trace().expect("published").v1, 0, "round {index}");
    }
}

#[test]
fn after_idle_it_paces_at_the_bandwidth_whatever_the_phase() {
    let mut socket = probing(100);
    while socket.trace().expect("published").v0 != 0 {
        round_with(&mut socket, RateSample { prior_in_flight: 1, ..sample(0, 100, RTT_US + 1) });
    }
    let probing_rate = socket.pacing_rate();
    socket.tp_mut().app_limited = 1;
    socket.cwnd_event(EVENT_TX_START);
    let ratio = socket.pacing_rate() * 1000 / probing_rate;
    assert!((799..=801).contains(&ratio), "{ratio}");
}

#[test]
fn an_expired_minimum_does_not_start_probe_rtt_right_after_idle() {
    let mut socket = probing(100);
    socket.advance_us(20_000_000);
    socket.tp_mut().app_limited = 1;
    socket.cwnd_event(EVENT_TX_START);
    round(&mut socket, 100);
    assert_eq!(mode(&socket), PROBE_BW);
}

#[test]
fn the_floor_of_a_burst_is_left_to_the_kernel_and_the_send_buffer_is_generous() {
    let mut socket = connected();
    assert_eq!(socket.min_tso_segs(), None);
    assert_eq!(socket.sndbuf_expand(), Some(3));
}

#[test]
fn callbacks_before_init_change_nothing() {
    let mut socket = Socket::checked("bbr").expect("bbr exists");
    let before = (socket.cwnd(), socket.snd_ssthresh(), socket.pacing_rate(), *socket.ca_priv());
    socket.cong_control(0, 0, &sample(0, 10, RTT_US));
    socket.set_state(CA_LOSS);
    socket.set_state(CA_CWR);
    socket.cwnd_event(EVENT_TX_START);
    assert_eq!((socket.ssthresh(), socket.undo_cwnd()), (socket.snd_ssthresh(), socket.cwnd()));
    assert_eq!((socket.cwnd(), socket.snd_ssthresh(), socket.pacing_rate(), *socket.ca_priv()), before);
}

#[test]
fn init_sets_every_byte_of_an_inherited_private_area() {
    let mut fresh = Socket::checked("bbr").expect("bbr exists");
    fresh.init();
    let mut child = Socket::checked("bbr").expect("bbr exists");
    child.set_ca_priv([u64::MAX; 13]);
    child.init_inherited();
    assert_eq!(child.ca_priv(), fresh.ca_priv());
}
