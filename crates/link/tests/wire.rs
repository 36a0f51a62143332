//! The wire: delay, jitter, losses, and the retransmissions of a wireless link.

mod common;

use ccactl_link::{
    Departure, Distribution, GilbertElliott, Jitter, LinkConfig, Loss, LossReason, Nanos, WireConfig, Wireless,
};
use common::{Arrival, ENDLESS, MS, drive, item};

/// 1000 bytes take 1 ms.
const RATE_BPS: u64 = 8_000_000;

fn departures(wire: WireConfig, packets: usize) -> Vec<Departure<usize>> {
    let arrivals: Vec<Arrival> = (0..packets).map(|id| (id as Nanos * MS, item(id, 1000))).collect();
    let out = drive(LinkConfig { wire, seed: 11, ..LinkConfig::drop_tail(RATE_BPS, ENDLESS) }, &arrivals);
    assert!(out.dropped.is_empty());
    out.departures
}

fn with_jitter(distribution: Distribution, reorder: bool) -> WireConfig {
    WireConfig { delay: vec![(0, 20 * MS)], jitter: Some(Jitter { distribution, reorder }), ..WireConfig::default() }
}

#[test]
fn the_delay_is_exact_and_the_one_of_the_time_of_departure() {
    let wire = WireConfig { delay: vec![(0, 10 * MS), (3 * MS, 50 * MS)], ..WireConfig::default() };
    let out = departures(wire, 4);
    assert_eq!(out.iter().map(|d| d.at).collect::<Vec<_>>(), [MS, 2 * MS, 3 * MS, 4 * MS]);
    assert_eq!(out.iter().map(|d| d.due).collect::<Vec<_>>(), [11 * MS, 12 * MS, 53 * MS, 54 * MS]);
}

#[test]
fn nothing_overtakes_when_the_delay_falls() {
    let wire = WireConfig { delay: vec![(0, 10 * MS), (3 * MS, 0)], ..WireConfig::default() };
    let due: Vec<Nanos> = departures(wire, 14).iter().map(|d| d.due).collect();
    // The second packet arrives at 12 ms; those of 3 ms to 12 ms wait for it.
    assert_eq!(due[..3], [11 * MS, 12 * MS, 12 * MS]);
    assert_eq!(due[11..], [12 * MS, 13 * MS, 14 * MS]);
}

#[test]
fn uniform_jitter_has_its_range_and_mean() {
    let out = departures(with_jitter(Distribution::Uniform { max: 6 * MS }, true), 100_000);
    let jitter: Vec<Nanos> = out.iter().map(|d| d.due - d.at - 20 * MS).collect();
    assert!(jitter.iter().all(|j| *j <= 6 * MS));
    let mean = jitter.iter().sum::<Nanos>() as f64 / jitter.len() as f64;
    // Standard deviation 6 / √12 ms, of the mean of 100000 5.5 µs; five of them.
    assert!((mean - 3e6).abs() < 27_500.0, "{mean}");
    assert!(!out.is_sorted_by_key(|d| d.due), "it reorders");
}

#[test]
fn normal_jitter_is_truncated_on_both_sides() {
    // One standard deviation on either side of the mean: the rest is drawn again.
    let distribution = Distribution::Normal { mean: 3 * MS, std_dev: 3 * MS, max: 6 * MS };
    let jitter: Vec<f64> = departures(with_jitter(distribution, true), 100_000)
        .iter()
        .map(|d| (d.due - d.at) as f64 / 1e6 - 20.0)
        .collect();
    assert!(jitter.iter().all(|j| (0.0..=6.0).contains(j)));
    let mean = jitter.iter().sum::<f64>() / jitter.len() as f64;
    let variance = jitter.iter().map(|j| (j - mean).powi(2)).sum::<f64>() / jitter.len() as f64;
    // A normal distribution truncated at ±1σ has the variance 0.29112 σ²: 2.620 ms².
    assert!((mean - 3.0).abs() < 0.026, "{mean}");
    assert!((variance - 2.620).abs() < 0.04, "{variance}");
}

#[test]
fn without_reordering_a_packet_arrives_at_its_time_or_with_the_one_before_it() {
    let distribution = Distribution::Uniform { max: 6 * MS };
    let free = departures(with_jitter(distribution, true), 10_000);
    let ordered = departures(with_jitter(distribution, false), 10_000);
    let mut latest = 0;
    for (free, ordered) in free.iter().zip(&ordered) {
        latest = free.due.max(latest);
        assert_eq!(ordered.due, latest);
    }
}

/// Lengths of runs of losses.
fn bursts(out: &[Departure<usize>]) -> Vec<usize> {
    out.chunk_by(|a, b| a.lost == b.lost).filter(|run| run[0].lost.is_some()).map(<[_]>::len).collect()
}

#[test]
fn gilbert_elliott_loses_in_bursts_of_their_length_and_at_their_rate() {
    let chain = GilbertElliott { p: 0.01, r: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    let out = departures(WireConfig { loss: Loss::GilbertElliott(chain), ..WireConfig::default() }, 400_000);
    let bursts = bursts(&out);
    let lost: usize = bursts.iter().sum();
    // Bursts are geometric: mean 1/r = 4, standard deviation √(1−r)/r = 3.46; about 15400 of them: 0.028 for their mean.
    let mean_burst = lost as f64 / bursts.len() as f64;
    assert!((mean_burst - 4.0).abs() < 0.14, "{mean_burst}");
    // p / (p + r) = 3.846 %; its standard deviation over n packets is √(π(1−π)(2−p−r)/(p+r)/n) = 0.079 %.
    let rate = lost as f64 / out.len() as f64;
    assert!((rate - 0.038_46).abs() < 0.004, "{rate}");
    assert!(out.iter().all(|d| d.lost.is_none_or(|reason| reason == LossReason::Random)));
}

#[test]
fn gilbert_elliott_can_lose_in_the_good_state_and_spare_in_the_bad_one() {
    let loss = |chain| Loss::GilbertElliott(chain);
    // The bad state is reached at once and never left; every second packet of it survives.
    let stuck = GilbertElliott { p: 1.0, r: 0.0, loss_good: 1.0, loss_bad: 0.5 };
    let out = departures(WireConfig { loss: loss(stuck), ..WireConfig::default() }, 100_000);
    assert!(out[0].lost.is_some(), "the first packet finds the good state, which loses all");
    let lost = out[1..].iter().filter(|d| d.lost.is_some()).count();
    // 50000 expected, standard deviation 158.
    assert!((49_200..50_800).contains(&lost), "{lost}");
}

#[test]
fn every_attempt_of_a_wireless_link_occupies_the_transmitter() {
    let wireless = Wireless { error: 0.3, retries: 2, retry_delay: 200_000 };
    let out = departures(WireConfig { wireless: Some(wireless), ..WireConfig::default() }, 100_000);
    let mut by_attempts = [0_usize; 3];
    let mut lost = 0;
    let mut last = 0;
    for departure in &out {
        // One attempt takes 1 ms, each further one 1.2 ms.
        let attempts = (0..3).find(|n| departure.transmission == MS + n * 1_200_000).expect("whole attempts");
        by_attempts[attempts as usize] += 1;
        assert!(departure.at - departure.transmission >= last, "the next one waits");
        last = departure.at;
        if departure.lost.is_some() {
            assert_eq!((departure.lost, attempts), (Some(LossReason::RetriesExhausted), 2));
            lost += 1;
        }
    }
    assert!(out.is_sorted_by_key(|d| d.packet), "in order");
    // 0.7, 0.3 · 0.7, 0.3² with standard deviations of at most 145; 0.3³ are lost, ± 51.
    let near = |count: usize, expected: f64| (count as f64 - expected).abs() < 750.0;
    assert!(near(by_attempts[0], 70_000.0) && near(by_attempts[1], 21_000.0) && near(by_attempts[2], 9000.0));
    assert!((2440..2960).contains(&lost), "{lost}");
}

#[test]
fn a_wireless_link_without_errors_is_a_wire() {
    let wireless = Wireless { error: 0.0, retries: 5, retry_delay: MS };
    let out = departures(WireConfig { wireless: Some(wireless), ..WireConfig::default() }, 100);
    assert_eq!(out, departures(WireConfig::default(), 100));
    let never = Wireless { error: 1.0, retries: 1, retry_delay: 0 };
    let out = departures(WireConfig { wireless: Some(never), ..WireConfig::default() }, 100);
    assert!(out.iter().all(|d| d.lost == Some(LossReason::RetriesExhausted) && d.transmission == 2 * MS));
}
