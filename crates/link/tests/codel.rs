//! CoDel as RFC 8289 describes it, on a link of 8 Mbit/s, where 1000 bytes take 1 ms.

mod common;

use ccactl_link::queue::CoDel;
use ccactl_link::{Discipline, DropReason, Ecn, Item, LinkConfig, Nanos};
use common::{Arrival, ENDLESS, MS, Outcome, S, drive, item};

const INTERVAL: Nanos = 100 * MS;
const TARGET: Nanos = 5 * MS;

fn run(codel: CoDel, arrivals: &[Arrival]) -> Outcome {
    drive(LinkConfig { queue: Discipline::CoDel(codel), ..LinkConfig::drop_tail(8_000_000, ENDLESS) }, arrivals)
}

/// A packet of 1000 bytes every `gap` from `from` to `until`.
fn flood(from: Nanos, until: Nanos, gap: Nanos) -> impl Iterator<Item = Nanos> {
    (from..until).step_by(gap as usize)
}

fn packets(times: impl Iterator<Item = Nanos>, ecn: Ecn) -> Vec<Arrival> {
    times.enumerate().map(|(id, at)| (at, Item { ecn, ..item(id, 1000) })).collect()
}

/// When packets were given a signal: dropped or, where marks are on, begun to leave with a mark.
fn drop_times(out: &Outcome) -> Vec<Nanos> {
    assert!(out.dropped.iter().all(|(_, _, reason)| *reason == DropReason::Early));
    out.dropped.iter().map(|(_, at, _)| *at).collect()
}

fn mark_times(out: &Outcome) -> Vec<Nanos> {
    assert!(out.dropped.is_empty());
    out.departures.iter().filter(|d| d.marked).map(|d| d.at - d.transmission).collect()
}

/// One and a half times the rate for 3 s.
fn overload() -> Vec<Arrival> {
    packets(flood(0, 3 * S, 666_667), Ecn::NotCapable)
}

#[test]
fn the_first_drop_comes_an_interval_after_the_delay_went_above_the_target() {
    let out = run(CoDel::default(), &overload());
    let above = out.departures.iter().find(|d| d.sojourn >= TARGET).expect("the queue grows");
    let went_above = above.at - above.transmission;
    let first = drop_times(&out)[0];
    // Packets are looked at once per ms.
    assert!((went_above + INTERVAL..went_above + INTERVAL + MS).contains(&first), "{went_above} {first}");
}

#[test]
fn drops_follow_the_control_law() {
    let drops = drop_times(&run(CoDel::default(), &overload()));
    assert!(drops.len() > 100);
    // drop_next counts from itself, not from the drop, so the distance is exact on average.
    let mut next = drops[0] as f64;
    for (count, at) in (1..).zip(&drops[1..]) {
        next += INTERVAL as f64 / f64::from(count).sqrt();
        let late = *at as f64 - next;
        // Each √ is cut to a ns; a packet is looked at once per ms.
        assert!((-200.0..1e6).contains(&late), "drop {count} is {late} ns late");
    }
}

#[test]
fn a_delay_below_the_target_or_one_packet_is_never_a_reason() {
    // Bursts of five: the last one waits 4 ms.
    let bursts = packets((0..300).flat_map(|burst| vec![burst * 6 * MS; 5]), Ecn::NotCapable);
    let out = run(CoDel::default(), &bursts);
    assert!(out.dropped.is_empty());
    assert_eq!(out.departures.iter().map(|d| d.sojourn).max(), Some(4 * MS));
    // One 1500-byte packet waits 12 ms at 1 Mbit/s behind another: at most MAXPACKET bytes wait.
    let arrivals: Vec<Arrival> =
        (0..500).map(|id| (id as Nanos * 12 * MS + u64::from(id > 0), item(id, 1500))).collect();
    let arrivals: Vec<Arrival> = std::iter::once((0, item(0, 1500)))
        .chain(arrivals.into_iter().map(|(at, packet)| (at, Item { packet: packet.packet + 1, ..packet })))
        .collect();
    let config = LinkConfig { queue: Discipline::CoDel(CoDel::default()), ..LinkConfig::drop_tail(1_000_000, ENDLESS) };
    let out = drive(config, &arrivals);
    assert!(out.departures.iter().skip(2).all(|d| d.sojourn > TARGET), "they do wait");
    assert!(out.dropped.is_empty());
}

#[test]
fn a_delay_that_falls_below_the_target_within_the_interval_starts_anew() {
    // 90 ms of overload, twice, with time to drain between them.
    let times = flood(0, 90 * MS, 500_000).chain(flood(250 * MS, 340 * MS, 500_000));
    let out = run(CoDel::default(), &packets(times, Ecn::NotCapable));
    let longest_above = out.departures.iter().filter(|d| d.sojourn >= TARGET).count();
    assert!(longest_above > 100, "above the target for more than an interval in all");
    // Each busy time is 180 ms: above the target from 10 ms or so, so its last 70 ms are in dropping state.
    let drops = drop_times(&out);
    let gap = drops.windows(2).map(|w| w[1] - w[0]).max().unwrap();
    assert!(gap > INTERVAL, "no drop between the two");
    let short = flood(0, 50 * MS, 500_000).chain(flood(120 * MS, 170 * MS, 500_000));
    assert!(
        run(CoDel::default(), &packets(short, Ecn::NotCapable)).dropped.is_empty(),
        "100 ms busy, below the target between"
    );
}

/// Two overloads with `pause` between them; drops of each.
fn two_overloads(pause: Nanos) -> (Vec<Nanos>, Vec<Nanos>) {
    let second = 600 * MS + pause;
    let times = flood(0, 600 * MS, 666_667).chain(flood(second, second + 400 * MS, 666_667));
    let drops = drop_times(&run(CoDel::default(), &packets(times, Ecn::NotCapable)));
    drops.into_iter().partition(|at| *at < second)
}

#[test]
fn dropping_resumes_at_its_last_rate_unless_that_was_long_ago() {
    let (before, after) = two_overloads(800 * MS);
    // The count of the first dropping began at 1, so the second one begins with the drops after the first.
    let resumed = before.len() as f64 - 1.0;
    assert!(resumed > 8.0, "{resumed}");
    let first_gap = (after[1] - after[0]) as f64;
    let expected = INTERVAL as f64 / resumed.sqrt();
    assert!((0.0..1e6).contains(&(first_gap - expected)), "{first_gap} {expected}");
    // More than 16 intervals after the last drop would have been due it begins anew.
    let (_, after) = two_overloads(2 * S);
    assert_eq!((after[1] - after[0]).div_ceil(MS) * MS, INTERVAL);
}

#[test]
fn marks_take_the_place_of_drops() {
    let capable = packets(flood(0, S, 666_667), Ecn::Ect0);
    let marks = mark_times(&run(CoDel { ecn: true, ..CoDel::default() }, &capable));
    let mut next = marks[0] as f64;
    for (count, at) in (1..).zip(&marks[1..]) {
        next += INTERVAL as f64 / f64::from(count).sqrt();
        assert!((-200.0..1e6).contains(&(*at as f64 - next)), "mark {count}");
    }
    assert!(marks.len() > 10);
    // Those whose sender does not understand are dropped, and without ECN all are.
    assert!(run(CoDel { ecn: true, ..CoDel::default() }, &overload()).departures.iter().all(|d| !d.marked));
    assert!(!run(CoDel::default(), &capable).dropped.is_empty());
}

#[test]
fn the_queue_of_a_sender_that_halves_at_each_signal_settles_at_the_target() {
    // A window of packets, one RTT of 50 ms: every signal halves it, every RTT adds one. BDP 50 packets.
    let config = LinkConfig { queue: Discipline::CoDel(CoDel::default()), ..LinkConfig::drop_tail(8_000_000, ENDLESS) };
    let mut link = ccactl_link::Link::new(config);
    let (mut window, mut in_flight, mut id) = (10.0_f64, 0.0, 0);
    let mut acks = ccactl_link::DelayLine::with_capacity(1000);
    let mut sojourns = Vec::new();
    let mut now = 0;
    while now < 30 * S {
        while let Some(output) = link.pop(now) {
            match output {
                ccactl_link::Output::Sent(departure) => {
                    acks.push(departure.at + 50 * MS, true);
                    if now > 10 * S {
                        sojourns.push(departure.sojourn);
                    }
                }
                ccactl_link::Output::Dropped { at, .. } => acks.push(at + 50 * MS, false),
            }
        }
        while let Some((_, arrived)) = acks.pop(now) {
            in_flight -= 1.0;
            window = if arrived { window + 1.0 / window } else { (window / 2.0).max(2.0) };
        }
        while in_flight + 1.0 <= window {
            link.enqueue(now, item(id, 1000));
            link.pop(now).inspect(|_| unreachable!("nothing is dropped on arrival"));
            (id, in_flight) = (id + 1, in_flight + 1.0);
        }
        let next = [link.next_event(), acks.next_due()].into_iter().flatten().min().expect("something is on its way");
        now = next;
    }
    sojourns.sort_unstable();
    let median = sojourns[sojourns.len() / 2];
    assert!(median < 2 * TARGET, "{median}");
    // 1000 packets/s: a single sender that halves with a queue of a tenth of the BDP uses at least 3/4 of the link.
    assert!(sojourns.len() > 15_000, "{}", sojourns.len());
}
