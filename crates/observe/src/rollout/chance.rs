//! How often chance alone would make as large a difference between the groups.
//!
//! A hash of its cookie decides whether a flow is in the share, so it could as well have been another one. Were both
//! algorithms the same, every choice of as many flows would have been as likely as the one that was made. The part of the
//! choices that differ at least as much is the p-value of a randomization test (Fisher 1935). It asks nothing of the flows:
//! they need not be alike, nor normal, nor have a queue of their own.

use crate::rollout::guard::Comparison;
use crate::rollout::metric::Metric;
use crate::rollout::tally::{Counts, Sums};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// Up to so many places of a group are told apart. Where its flows have more, two neighbours become one.
const PLACES: usize = 512;
/// So many choices are all gone through; of more, as many are drawn.
const CHOICES: u64 = 5_000;
/// The same figures get the same answer.
const SEED: u64 = 1935;

/// What flows with neighbouring hashes have done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) sums: Sums,
    pub(crate) rtt_sum_us: u64,
    pub(crate) rtt_us: Counts,
    pub(crate) rates_bps: Counts,
}

impl AddAssign<&Unit> for Unit {
    fn add_assign(&mut self, other: &Unit) {
        self.sums += other.sums;
        self.rtt_sum_us += other.rtt_sum_us;
        self.rtt_us += &other.rtt_us;
        self.rates_bps += &other.rates_bps;
    }
}

/// The units of one group. Flows whose hashes lie together are chosen together, but few flows are each alone: two in one unit take
/// away so many choices that six flows beside six cannot show any difference.
#[derive(Debug, Clone, Default)]
pub(crate) struct Units {
    by_place: BTreeMap<u64, Unit>,
    /// A place is a hash without so many of its last bits.
    coarseness: u32,
}

impl Units {
    /// That of a flow with this hash of 16 bits.
    pub(crate) fn of_mut(&mut self, hash: u64) -> &mut Unit {
        while self.by_place.len() >= PLACES && !self.by_place.contains_key(&(hash >> self.coarseness)) {
            *self = self.coarser(self.coarseness + 1);
        }
        self.by_place.entry(hash >> self.coarseness).or_default()
    }

    fn coarser(&self, coarseness: u32) -> Units {
        let mut by_place = BTreeMap::new();
        for (place, unit) in &self.by_place {
            *by_place.entry(place >> (coarseness - self.coarseness)).or_insert_with(Unit::default) += unit;
        }
        Units { by_place, coarseness }
    }

    /// Both groups in places of one size: only such could have changed sides.
    fn alike<'a>(canary: &'a Units, baseline: &'a Units) -> [Cow<'a, Units>; 2] {
        let coarseness = canary.coarseness.max(baseline.coarseness);
        [canary, baseline].map(|units| {
            if units.coarseness == coarseness { Cow::Borrowed(units) } else { Cow::Owned(units.coarser(coarseness)) }
        })
    }

    fn seen(&self) -> impl Iterator<Item = &Unit> {
        self.by_place.values().filter(|unit| unit.sums.flows > 0)
    }
}

/// In how many ways the units of both groups could have been shared out.
pub(crate) fn choices(canary: &Units, baseline: &Units) -> u64 {
    let [canary, baseline] = Units::alike(canary, baseline);
    let (chosen, others) = (canary.seen().count() as u64, baseline.seen().count() as u64);
    ways(chosen + others, chosen)
}

/// `all` over `chosen`, or [`u64::MAX`] from some billions on.
fn ways(all: u64, chosen: u64) -> u64 {
    let more = |ways: u64, n: u64| ways.checked_mul(all - n).map(|ways| ways / (n + 1));
    (0..chosen.min(all - chosen)).try_fold(1u64, more).unwrap_or(u64::MAX)
}

/// The part of all choices in which the canary's figure would differ from the baseline's at least as much in the direction of
/// `comparison`; `None` where nothing was measured.
pub(crate) fn of(metric: Metric, comparison: Comparison, canary: &Units, baseline: &Units) -> Option<f64> {
    let [canary, baseline] = Units::alike(canary, baseline);
    let mut pooled = Unit::default();
    canary.seen().chain(baseline.seen()).for_each(|unit| pooled += unit);
    let sign = if comparison.is_greater() { 1.0 } else { -1.0 };
    let parts: Vec<Part> = canary.seen().chain(baseline.seen()).map(|unit| Part::of(metric, unit, &pooled)).collect();
    let chosen = canary.seen().count();
    let all = parts.iter().fold(Part::default(), |sum, part| sum.and(*part));
    let difference = |choice: &[usize]| {
        let picked = choice.iter().fold(Part::default(), |sum, &i| sum.and(parts[i]));
        Some(sign * (picked.ratio()? - all.without(picked).ratio()?))
    };
    let mut choice: Vec<usize> = (0..chosen).collect();
    let found = difference(&choice)?;
    let enough = found - found.abs() * 1e-9;
    // Where a side would have measured nothing, its difference could be anything.
    let is_as_far = |choice: &[usize]| difference(choice).is_none_or(|other| other >= enough);
    let count = ways(parts.len() as u64, chosen as u64);
    if count <= CHOICES {
        let mut as_far = 0;
        loop {
            as_far += u64::from(is_as_far(&choice));
            if !advance(&mut choice, parts.len()) {
                return Some(as_far as f64 / count as f64);
            }
        }
    }
    let mut random = SmallRng::seed_from_u64(SEED);
    let mut order: Vec<usize> = (0..parts.len()).collect();
    // The choice that was made is one of them, too.
    let mut as_far = 1;
    for _ in 0..CHOICES {
        for i in 0..chosen {
            order.swap(i, random.random_range(i..parts.len()));
        }
        as_far += u64::from(is_as_far(&order[..chosen]));
    }
    Some(as_far as f64 / (CHOICES + 1) as f64)
}

/// The next choice of as many out of `all` in their order.
fn advance(choice: &mut [usize], all: usize) -> bool {
    let count = choice.len();
    let Some(place) = (0..count).rev().find(|&i| choice[i] < all - count + i) else { return false };
    choice[place] += 1;
    for i in place + 1..count {
        choice[i] = choice[i - 1] + 1;
    }
    true
}

/// A figure of some flows as what adds up: what is counted, and of what. A percentile is counted by how much lies above that of
/// all flows together.
#[derive(Clone, Copy, Default)]
struct Part {
    counted: f64,
    of: f64,
}

impl Part {
    fn of(metric: Metric, unit: &Unit, pooled: &Unit) -> Part {
        let above = |counts: &Counts, pooled: &Counts, quantile: f64| {
            let edge = pooled.class_at(quantile);
            (edge.map_or(0, |edge| counts.above(edge)), counts.total())
        };
        let sums = &unit.sums;
        let (counted, of) = match metric {
            Metric::RetransmitRate => (sums.retrans_bytes, sums.sent_bytes),
            Metric::LossRate => (sums.lost_pkts, sums.lost_pkts + sums.delivered_pkts),
            Metric::CeRate => (sums.delivered_ce_pkts, sums.delivered_pkts),
            Metric::MeanRtt => (unit.rtt_sum_us, unit.rtt_us.total()),
            Metric::P50Rtt => above(&unit.rtt_us, &pooled.rtt_us, 0.5),
            Metric::P95Rtt => above(&unit.rtt_us, &pooled.rtt_us, 0.95),
            Metric::P99Rtt => above(&unit.rtt_us, &pooled.rtt_us, 0.99),
            Metric::Goodput => (sums.acked_bytes, sums.active_ns),
            Metric::P50Goodput => above(&unit.rates_bps, &pooled.rates_bps, 0.5),
            Metric::Throughput => (sums.sent_bytes, sums.active_ns),
            Metric::MeanCwnd => return Part { counted: sums.cwnd_pkts_ns, of: sums.time_ns as f64 },
        };
        Part { counted: counted as f64, of: of as f64 }
    }

    fn and(self, other: Part) -> Part {
        Part { counted: self.counted + other.counted, of: self.of + other.of }
    }

    fn without(self, other: Part) -> Part {
        Part { counted: self.counted - other.counted, of: self.of - other.of }
    }

    fn ratio(self) -> Option<f64> {
        (self.of > 0.0).then(|| self.counted / self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One unit for each rate, in 1000 bit/s over a second.
    fn units(rates: &[u64]) -> Units {
        let unit = |&rate: &u64| {
            let sums = Sums { flows: 1, acked_bytes: rate * 125, active_ns: 1_000_000_000, ..Sums::default() };
            let mut rates_bps = Counts::default();
            rates_bps.add(rate * 1000);
            Unit { sums, rates_bps, ..Unit::default() }
        };
        Units { by_place: (0..).zip(rates.iter().map(unit)).collect(), coarseness: 0 }
    }

    fn lower(metric: Metric, canary: &[u64], baseline: &[u64]) -> f64 {
        of(metric, Comparison::Less, &units(canary), &units(baseline)).unwrap()
    }

    #[test]
    fn few_flows_are_gone_through_one_by_one() {
        // 1 of the 10 choices of two is lower than this one, which is lower than all others but itself.
        assert_eq!(lower(Metric::Goodput, &[1, 3], &[2, 4, 9]), 0.2);
        assert_eq!(lower(Metric::Goodput, &[1, 2], &[3, 4, 9]), 0.1);
        assert_eq!(choices(&units(&[1, 2]), &units(&[3, 4, 9])), 10);
        assert_eq!(lower(Metric::P50Goodput, &[1, 2], &[30, 40, 90]), 0.3, "of the median only the side counts");
        let higher = of(Metric::Goodput, Comparison::Greater, &units(&[1, 2]), &units(&[3, 4, 9]));
        assert_eq!(higher, Some(1.0));
    }

    #[test]
    fn flows_with_neighbouring_hashes_are_still_two() {
        let of = |hashes: &[u64]| {
            let mut units = Units::default();
            hashes.iter().for_each(|&hash| units.of_mut(hash).sums.flows += 1);
            units
        };
        let canary = of(&[100, 101, 9_000, 12_000, 20_000, 30_000]);
        let baseline = of(&[33_000, 40_000, 41_000, 50_000, 60_000, 65_000]);
        assert_eq!(choices(&canary, &baseline), 924);
    }

    #[test]
    fn many_flows_share_places_that_are_as_large_on_both_sides() {
        let mut random = SmallRng::seed_from_u64(3);
        let (mut canary, mut baseline) = (Units::default(), Units::default());
        for _ in 0..20_000 {
            let hash = random.random_range(0..1u64 << 16);
            // A tenth of all.
            let units = if hash < 6554 { &mut canary } else { &mut baseline };
            units.of_mut(hash).sums.flows += 1;
        }
        assert!((PLACES / 4..=PLACES).contains(&baseline.by_place.len()), "{}", baseline.by_place.len());
        let [one, other] = Units::alike(&canary, &baseline);
        assert_eq!((one.coarseness, one.by_place.len()), (other.coarseness, 52));
        let flows: u64 = one.seen().chain(other.seen()).map(|unit| unit.sums.flows).sum();
        assert_eq!(flows, 20_000);
    }

    #[test]
    fn two_large_flows_are_no_evidence() {
        // A mean per flow of 2.94 against 1.30, which two flows of the baseline make.
        let (canary, baseline) = ([1300; 12], [vec![1300; 10], vec![11_000, 11_200]].concat());
        assert!(lower(Metric::Goodput, &canary, &baseline) > 0.2);
        let slow = [600; 12];
        assert!(lower(Metric::P50Goodput, &slow, &baseline) < 0.001);
    }

    #[test]
    fn the_same_algorithm_on_both_sides_is_as_often_below_a_level_as_the_level_says() {
        let mut random = SmallRng::seed_from_u64(7);
        let mut below = 0;
        const TRIALS: u32 = 400;
        for _ in 0..TRIALS {
            // Rates over three orders of magnitude.
            let mut draw =
                |count| (0..count).map(|_| 10f64.powf(random.random_range(1.0..4.0)) as u64).collect::<Vec<_>>();
            let (canary, baseline) = (draw(10), draw(30));
            below += u32::from(lower(Metric::Goodput, &canary, &baseline) <= 0.05);
        }
        // 20 expected, with a standard deviation of 4.4.
        assert!((6..=34).contains(&below), "{below}");
    }

    #[test]
    fn ways_are_counted_as_far_as_they_matter() {
        assert_eq!((ways(10, 5), ways(24, 17), ways(3, 0)), (252, 346_104, 1));
        assert_eq!(ways(512, 256), u64::MAX);
    }
}
