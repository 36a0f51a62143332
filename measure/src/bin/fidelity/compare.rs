//! Two traces beside each other.

use crate::trace::Ack;

/// Programs and modules take another number of instructions, an instruction is a nanosecond, and RTT samples follow: by up to 30 µs. A
/// packet that waited for another, or for a timer, makes hundreds.
const SAME_RTT_US: u32 = 100;

/// Distance of the points at which windows are compared once traces have parted.
const GRID_US: u64 = 100_000;

/// Where two traces part.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// ACKs that can be compared: the receiver acknowledged as much with both.
    pub acks: usize,
    /// First of them after which either knows of a loss or a mark.
    pub trouble: Option<usize>,
    /// First of them by which the two have not seen the same: the receiver acknowledged one packet where it acknowledged two at once on the
    /// other side, or the RTT sample is another one. From there on they decide from different things.
    pub seen_apart: Option<usize>,
    /// First of them after which a window or a threshold differs.
    pub parting: Option<Parting>,
    /// Largest difference of the pacing rates before any of these, as a share of the native one. Most algorithms leave
    /// the rate to the kernel, which computes it from window and smoothed RTT: it follows the RTT's microseconds.
    pub pacing: f64,
    /// Largest difference of RTT samples before that, in µs: programs and modules take another number of instructions.
    pub rtt_us: u32,
}

/// The first difference in what was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parting {
    /// Which of the ACKs that can be compared.
    pub at: usize,
    /// Of ours and of the native one.
    pub acks: [Ack; 2],
}

impl Comparison {
    /// Of the trace of ours with the native one.
    ///
    /// A microsecond decides whether the receiver acknowledges one packet or two at once, so ACKs are not paired by their number but by
    /// what had been delivered with them.
    pub fn of(ours: &[Ack], native: &[Ack]) -> Comparison {
        let (mut pairs, mut acked_apart): (Vec<(Ack, Ack)>, Option<usize>) = (Vec::new(), None);
        let mut rest = native;
        for ack in ours {
            let passed = rest.partition_point(|other| other.seen.delivered_pkts < ack.seen.delivered_pkts);
            let same = rest.get(passed).filter(|other| other.seen.delivered_pkts == ack.seen.delivered_pkts);
            // One that only one side has.
            if passed > 0 || same.is_none() {
                acked_apart.get_or_insert(pairs.len());
            }
            pairs.extend(same.map(|other| (*ack, *other)));
            rest = &rest[passed + usize::from(same.is_some())..];
        }
        let troubled = |ack: &Ack| ack.seen.lost_pkts + ack.seen.retrans_pkts + ack.seen.delivered_ce_pkts > 0;
        let windows = |ack: &Ack| (ack.decided.cwnd_pkts, ack.decided.ssthresh_pkts);
        let parting = pairs.iter().position(|(ours, native)| windows(ours) != windows(native));
        let trouble = pairs.iter().position(|(ours, native)| troubled(ours) || troubled(native));
        let other_rtt = |(ours, native): &(Ack, Ack)| {
            ours.seen.rtt_us.zip(native.seen.rtt_us).is_some_and(|(ours, native)| ours.abs_diff(native) > SAME_RTT_US)
        };
        let seen_apart = [acked_apart, pairs.iter().position(other_rtt)].into_iter().flatten().min();
        let before = &pairs[..[trouble, parting, seen_apart].into_iter().flatten().min().unwrap_or(pairs.len())];
        let rates = before.iter().filter_map(|(ours, native)| {
            Some((ours.decided.pacing_rate_bps? as f64, native.decided.pacing_rate_bps? as f64))
        });
        let rtts = before.iter().filter_map(|(ours, native)| Some(ours.seen.rtt_us?.abs_diff(native.seen.rtt_us?)));
        Comparison {
            acks: pairs.len(),
            trouble,
            seen_apart,
            parting: parting.map(|at| Parting { at, acks: [pairs[at].0, pairs[at].1] }),
            pacing: rates.map(|(ours, native)| (ours / native - 1.0).abs()).fold(0.0, f64::max),
            rtt_us: rtts.max().unwrap_or(0),
        }
    }

    /// Whether nothing is decided otherwise before the first loss or mark, as long as both see the same.
    pub fn holds(&self) -> bool {
        let Some(Parting { at, .. }) = self.parting else { return true };
        [self.trouble, self.seen_apart].into_iter().flatten().any(|before| before <= at)
    }

    /// Where they part, in words.
    pub fn told(&self) -> String {
        let Some(Parting { at, acks: [ours, native] }) = &self.parting else {
            return format!("none in {} ACKs", self.acks);
        };
        let infinite = |pkts: Option<u32>| pkts.map_or(u64::MAX, u64::from);
        let decided = difference(&[
            ("cwnd", u64::from(ours.decided.cwnd_pkts), u64::from(native.decided.cwnd_pkts)),
            ("ssthresh", infinite(ours.decided.ssthresh_pkts), infinite(native.decided.ssthresh_pkts)),
        ]);
        let seen = difference(&[
            ("t_us", ours.t_us, native.t_us),
            ("rtt_us", ours.seen.rtt_us.map_or(0, u64::from), native.seen.rtt_us.map_or(0, u64::from)),
            ("inflight", ours.seen.inflight_pkts.into(), native.seen.inflight_pkts.into()),
            ("lost", ours.seen.lost_pkts.into(), native.seen.lost_pkts.into()),
            ("marked", ours.seen.delivered_ce_pkts.into(), native.seen.delivered_ce_pkts.into()),
        ]);
        let seen = match (seen.is_empty(), self.seen_apart.filter(|apart| apart <= at)) {
            (_, Some(apart)) => format!("they have not seen the same since {apart}"),
            (true, None) => "all that they see there is equal".to_owned(),
            (false, None) => format!("with {seen}"),
        };
        format!("{at} of {} ({:.2} s): {decided}; {seen}", self.acks, ours.t_us as f64 / 1e6)
    }
}

/// `name ours/native` of those that differ.
fn difference(figures: &[(&str, u64, u64)]) -> String {
    let text = |value: u64| if value == u64::MAX { "∞".to_owned() } else { value.to_string() };
    let differ = figures.iter().filter(|(_, ours, native)| ours != native);
    differ
        .map(|(name, ours, native)| format!("{name} {}/{}", text(*ours), text(*native)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The window every 100 ms, up to the end of the shorter trace.
pub fn windows(acks: &[Ack]) -> Vec<f64> {
    let mut points = Vec::new();
    for ack in acks {
        let point = usize::try_from(ack.t_us / GRID_US).unwrap_or(usize::MAX);
        // The latest ACK of an interval; an interval without any has the one before.
        let before = points.last().copied().unwrap_or(f64::from(ack.decided.cwnd_pkts));
        points.resize(point.max(points.len().saturating_sub(1)) + 1, before);
        *points.last_mut().expect("just filled") = f64::from(ack.decided.cwnd_pkts);
    }
    points
}

/// Mean distance of two traces' windows, in packets.
pub fn distance(one: &[f64], other: &[f64]) -> f64 {
    mean(one.iter().zip(other).map(|(one, other)| (one - other).abs()))
}

/// 0 of nothing.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    if n > 0.0 { sum / n } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Decided, Seen};

    fn ack(t_us: u64, cwnd_pkts: u32, rtt_us: u32, lost_pkts: u32) -> Ack {
        Ack {
            t_us,
            decided: Decided { cwnd_pkts, ..Decided::default() },
            seen: Seen { rtt_us: Some(rtt_us), lost_pkts, delivered_pkts: t_us as u32, ..Seen::default() },
        }
    }

    #[test]
    fn equal_traces_hold() {
        let trace = [ack(0, 10, 20_000, 0), ack(5, 11, 20_001, 1)];
        let same = Comparison::of(&trace, &trace);
        assert_eq!((same.trouble, same.holds(), same.told().as_str()), (Some(1), true, "none in 2 ACKs"));
    }

    #[test]
    fn a_difference_before_the_first_loss_does_not_hold_and_tells_what_was_seen() {
        let ours = [ack(0, 10, 20_000, 0), ack(5, 11, 20_001, 0), ack(9, 12, 20_000, 0), ack(12, 6, 20_000, 1)];
        let mut native = ours;
        native[2].decided.cwnd_pkts = 13;
        let found = Comparison::of(&ours, &native);
        assert_eq!(
            (found.holds(), found.told().as_str()),
            (false, "2 of 4 (0.00 s): cwnd 12/13; all that they see there is equal")
        );
        native[1].seen.rtt_us = Some(20_003);
        native[2].seen.rtt_us = Some(20_001);
        let found = Comparison::of(&ours, &native);
        assert!(found.told().ends_with("with rtt_us 20000/20001"), "{}", found.told());
        assert_eq!(found.rtt_us, 2);
    }

    #[test]
    fn an_ack_for_two_packets_is_not_compared_with_one_for_the_first_of_them() {
        let ours = [ack(1, 11, 20_000, 0), ack(3, 13, 20_000, 0), ack(4, 14, 20_000, 0)];
        let native = [ack(1, 11, 20_000, 0), ack(2, 12, 20_000, 0), ack(3, 13, 20_000, 0), ack(4, 15, 20_000, 0)];
        let found = Comparison::of(&ours, &native);
        assert_eq!((found.acks, found.parting.as_ref().map(|parting| parting.at)), (3, Some(2)));
        // One side has an ACK between the first pair and the second: what is decided from then on need not be equal.
        assert_eq!((found.seen_apart, found.holds()), (Some(1), true));
        assert!(found.told().ends_with("they have not seen the same since 1"), "{}", found.told());
    }

    #[test]
    fn another_rtt_is_not_the_same_seen_but_some_microseconds_are() {
        let ours = [ack(0, 10, 20_000, 0), ack(5, 11, 20_000, 0), ack(6, 12, 20_000, 0)];
        let mut native = ours;
        native[2].decided.cwnd_pkts = 13;
        native[1].seen.rtt_us = Some(20_100);
        let found = Comparison::of(&ours, &native);
        assert_eq!((found.seen_apart, found.holds(), found.rtt_us), (None, false, 100));
        native[1].seen.rtt_us = Some(20_101);
        let found = Comparison::of(&ours, &native);
        assert_eq!((found.seen_apart, found.holds(), found.rtt_us), (Some(1), true, 0));
    }

    #[test]
    fn a_difference_with_the_first_loss_or_later_holds() {
        let ours = [ack(0, 10, 20_000, 0), ack(5, 5, 20_000, 1)];
        let mut native = ours;
        native[1].decided.cwnd_pkts = 6;
        assert!(Comparison::of(&ours, &native).holds());
    }

    #[test]
    fn windows_are_those_at_the_end_of_each_interval() {
        let acks = [ack(0, 10, 0, 0), ack(99_999, 11, 0, 0), ack(100_000, 12, 0, 0), ack(350_000, 13, 0, 0)];
        assert_eq!(windows(&acks), [11.0, 12.0, 12.0, 13.0]);
        assert_eq!(distance(&windows(&acks), &[10.0, 10.0]), 1.5);
    }
}
