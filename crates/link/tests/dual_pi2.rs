//! DualPI2 against RFC 9332: who waits where, what the coupling is, what happens at low rates and in overload.

mod common;

use ccactl_link::queue::DualPi2;
use ccactl_link::{Discipline, Ecn, Item, LinkConfig, Nanos};
use common::{Arrival, ENDLESS, MS, Outcome, S, drive, item};

/// 1000 bytes take a millisecond.
const RATE_BPS: u64 = 8_000_000;

fn run(config: DualPi2, arrivals: &[Arrival]) -> Outcome {
    let link = LinkConfig::drop_tail(RATE_BPS, ENDLESS);
    drive(LinkConfig { queue: Discipline::DualPi2(config), ..link }, arrivals)
}

/// Neither of the two signals.
fn silent() -> DualPi2 {
    DualPi2 { alpha: 0.0, beta: 0.0, threshold: 1000 * S, ..DualPi2::default() }
}

/// Packets of 1000 bytes: the times of each kind, in order of time.
fn packets(kinds: &[(Ecn, Vec<Nanos>)]) -> Vec<Arrival> {
    let mut all: Vec<(Nanos, Ecn)> = kinds.iter().flat_map(|(ecn, times)| times.iter().map(|at| (*at, *ecn))).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().enumerate().map(|(id, (at, ecn))| (at, Item { ecn, ..item(id, 1000) })).collect()
}

fn every(gap: Nanos, until: Nanos) -> Vec<Nanos> {
    (0..until).step_by(gap as usize).collect()
}

fn count(out: &Outcome, arrivals: &[Arrival], from: Nanos, ecn: Ecn) -> [usize; 3] {
    let is_of = |id: usize| arrivals[id].1.ecn == ecn;
    let sent: Vec<_> = out.departures.iter().filter(|d| d.at >= from && is_of(d.packet)).collect();
    let dropped = out.dropped.iter().filter(|d| d.1 >= from && is_of(d.0)).count();
    [sent.len(), sent.iter().filter(|d| d.marked).count(), dropped]
}

#[test]
fn scalable_packets_and_marked_ones_go_first() {
    let kinds = [(Ecn::NotCapable, vec![0, 0]), (Ecn::Ect0, vec![0, 0]), (Ecn::Ect1, vec![1, 1]), (Ecn::Ce, vec![1])];
    let arrivals = packets(&kinds);
    let out = run(silent(), &arrivals);
    let order: Vec<Ecn> = out.departures.iter().map(|d| arrivals[d.packet].1.ecn).collect();
    // The first one was on its way before the others came.
    let (first, rest) = order.split_at(1);
    assert_eq!(first, [Ecn::NotCapable]);
    assert_eq!(rest, [Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::NotCapable, Ecn::Ect0, Ecn::Ect0]);
    assert!(out.dropped.is_empty() && out.departures.iter().all(|d| !d.marked));
}

#[test]
fn the_classic_queue_has_its_share_while_the_other_never_rests() {
    for share in [0, 100, 500] {
        let arrivals = packets(&[(Ecn::Ect1, every(MS / 2, 2 * S)), (Ecn::NotCapable, every(MS, 2 * S))]);
        let out = run(DualPi2 { classic_share_permille: share, ..silent() }, &arrivals);
        let classic = out.sent_bytes(&arrivals, 0, 2 * S, |item| !item.ecn.is_l4s());
        let expected = u64::from(share) * 2000;
        assert!(classic.abs_diff(expected) <= 10_000, "{share}: {classic} and not {expected}");
    }
}

#[test]
fn a_pause_of_one_of_them_saves_no_credit() {
    // A second of classic packets alone; then both are as always: nine to one, from the L queue on.
    let busy = |gap, from: Nanos| every(gap, S).into_iter().map(|at| from + at).collect();
    let arrivals = packets(&[(Ecn::NotCapable, every(MS, 2 * S)), (Ecn::Ect1, busy(MS / 2, S))]);
    let out = run(silent(), &arrivals);
    let shares =
        [S, S + 100 * MS].map(|from| out.sent_bytes(&arrivals, from, from + 100 * MS, |item| item.ecn.is_l4s()));
    assert!(shares.iter().all(|bytes| (88_000..=92_000).contains(bytes)), "{shares:?}");
}

#[test]
fn the_step_marks_what_waited_a_millisecond_with_another_behind_it() {
    let config = DualPi2 { alpha: 0.0, beta: 0.0, ..DualPi2::default() };
    let arrivals = packets(&[(Ecn::Ect1, vec![0, 0, 0, 0, 10 * MS, 10 * MS + 1])]);
    let out = run(config, &arrivals);
    // Waits of 0, 1, 2 and 3 ms; the last of each burst has none behind it.
    let marked: Vec<bool> = out.departures.iter().map(|d| d.marked).collect();
    assert_eq!(marked, [false, false, true, false, false, false], "likelihoods of 1 are counted up to more than 1");
    let out = run(config, &packets(&[(Ecn::Ect1, vec![0; 40])]));
    assert_eq!(out.departures.iter().filter(|d| d.marked).count(), 37);
}

#[test]
fn the_ramp_rises_from_its_threshold_to_the_end_of_its_range() {
    let marks = |delay: Nanos| {
        // Pairs: the first of each is served at once, the second waits a millisecond. The third is behind it.
        let config = DualPi2 { alpha: 0.0, beta: 0.0, threshold: delay, range: MS, ..DualPi2::default() };
        let times = (0..100).flat_map(|n| vec![n * 10 * MS; 3]).collect();
        run(config, &packets(&[(Ecn::Ect1, times)])).departures.iter().filter(|d| d.marked).count()
    };
    // 1 ms is 0, a quarter, a half of the way up; the sum of the likelihoods has to exceed 1.
    assert_eq!([MS, 3 * MS / 4, MS / 2].map(marks), [0, 24, 49]);
}

#[test]
fn overload_drops_what_marks_do_not_move() {
    // Half as much again as the link carries, of senders that take no notice.
    let flood = |ecn| packets(&[(ecn, every(2 * MS / 3, 20 * S))]);
    for ecn in [Ecn::NotCapable, Ecn::Ect0, Ecn::Ect1] {
        let arrivals = flood(ecn);
        let out = run(DualPi2::default(), &arrivals);
        let [sent, marked, dropped] = count(&out, &arrivals, 10 * S, ecn);
        let share = dropped as f64 / (sent + dropped) as f64;
        assert!((0.30..0.37).contains(&share), "{ecn:?}: {share} of them have to go");
        // p_C is a third, above a quarter: classic ECN is off, and all scalable packets are marked.
        let expected = if ecn == Ecn::Ect1 { sent } else { 0 };
        assert!(marked.abs_diff(expected) <= sent / 50, "{ecn:?}: {marked} of {sent} marked");
        let sojourn: Vec<Nanos> =
            out.departures.iter().filter(|d| d.at > 10 * S && d.at < 20 * S).map(|d| d.sojourn).collect();
        let mean_ms = sojourn.iter().sum::<Nanos>() / sojourn.len() as u64 / MS;
        assert!((13..=17).contains(&mean_ms), "{ecn:?}: the queue stands at {mean_ms} ms, not at its target");
    }
}

#[test]
fn below_the_overload_ecn_replaces_drops() {
    let arrivals = packets(&[(Ecn::Ect0, every(9 * MS / 10, 20 * S))]);
    let out = run(DualPi2::default(), &arrivals);
    // Nobody slows down: p′ rises until p_C is a quarter, and only then are packets dropped.
    let first_drop = out.dropped.first().map_or(20 * S, |d| d.1);
    let marked = out.departures.iter().filter(|d| d.marked && d.at < first_drop).count();
    assert!(marked > 30, "{marked} marked before the first drop at {first_drop}");
}

#[test]
fn nothing_is_coupled_while_less_than_two_full_packets_wait() {
    // A probability of 1 at once, and never more than one small packet in the queue.
    let config = DualPi2 { alpha: 1e6, target: 0, threshold: 1000 * S, update_interval: MS, ..DualPi2::default() };
    let sparse = packets(&[(Ecn::NotCapable, (0..100).flat_map(|n| vec![n * 5 * MS; 2]).collect())]);
    assert!(run(config, &sparse).dropped.is_empty());
    let dense = packets(&[(Ecn::NotCapable, (0..100).flat_map(|n| vec![n * 9 * MS; 8]).collect())]);
    assert!(!run(config, &dense).dropped.is_empty());
}
