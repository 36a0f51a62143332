//! A plain genetic search: those that do worst have offspring, which are crossed and varied.

use crate::error::Result;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Points among which a search looks.
pub trait Space: Sync {
    /// One of them.
    type Point: Clone + PartialEq + Send + Sync;

    /// Any.
    fn draw(&self, rng: &mut StdRng) -> Self::Point;

    /// One near another.
    fn vary(&self, point: &Self::Point, rng: &mut StdRng) -> Self::Point;

    /// One with something of each of two.
    fn cross(&self, one: &Self::Point, other: &Self::Point, rng: &mut StdRng) -> Self::Point;

    /// Simpler ones, the simplest first; a chain of them ends.
    fn simpler(&self, point: &Self::Point) -> Vec<Self::Point>;
}

/// How long to look.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Points that are judged, about.
    pub points: usize,
    /// Points of a generation.
    pub population: usize,
    /// Threads.
    pub jobs: usize,
    /// Of all that is drawn: the same seed finds the same.
    pub seed: u64,
}

/// A point and what was said of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Best<P> {
    /// The point.
    pub point: P,
    /// The larger, the worse for the algorithm.
    pub badness: f64,
}

/// What is told after each generation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Generation {
    /// Points judged so far.
    pub judged: usize,
    /// Of [`Effort::points`].
    pub points: usize,
    /// The largest badness so far.
    pub worst: f64,
}

/// The best of a generation live on …
const ELITE: usize = 4;
/// … some are drawn anew, so that the search does not settle too early …
const NEWCOMERS: usize = 4;
/// … and the others have for parents the worse of so many.
const TOURNAMENT: usize = 3;

/// The point with the largest badness that was seen.
///
/// # Errors
/// Those of `judge`.
pub fn evolve<S: Space>(
    space: &S,
    effort: Effort,
    judge: &(dyn Fn(&S::Point) -> Result<f64> + Sync),
    tell: &mut dyn FnMut(Generation),
) -> Result<Best<S::Point>> {
    let mut rng = StdRng::seed_from_u64(effort.seed);
    let size = effort.population.max(ELITE + NEWCOMERS + 1);
    let first = (0..size).map(|_| space.draw(&mut rng)).collect();
    let mut living = judged(first, effort.jobs, judge)?;
    let mut count = size;
    loop {
        living.sort_by(|one, other| other.badness.total_cmp(&one.badness));
        tell(Generation { judged: count, points: effort.points, worst: living[0].badness });
        if count >= effort.points {
            return Ok(living.swap_remove(0));
        }
        let parent = |rng: &mut StdRng| {
            let rivals = (0..TOURNAMENT).filter_map(|_| living.choose(rng));
            let worse = rivals.max_by(|one, other| one.badness.total_cmp(&other.badness));
            &worse.expect("a generation is not empty").point
        };
        let mut young: Vec<S::Point> = (0..NEWCOMERS).map(|_| space.draw(&mut rng)).collect();
        while young.len() < size - ELITE {
            let crossed = space.cross(parent(&mut rng), parent(&mut rng), &mut rng);
            young.push(space.vary(&crossed, &mut rng));
        }
        count += young.len();
        let young = judged(young, effort.jobs, judge)?;
        living.truncate(ELITE);
        living.extend(young);
    }
}

/// In the order of the points, whoever is done first.
fn judged<P: Clone + Send + Sync>(
    points: Vec<P>,
    jobs: usize,
    judge: &(dyn Fn(&P) -> Result<f64> + Sync),
) -> Result<Vec<Best<P>>> {
    let next = AtomicUsize::new(0);
    let said: Vec<Mutex<Option<Result<f64>>>> = points.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, points.len().max(1)) {
            scope.spawn(|| {
                while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < points.len()) {
                    let badness = judge(&points[at]);
                    if badness.is_err() {
                        // The others need not begin.
                        next.store(points.len(), Ordering::Relaxed);
                    }
                    *said[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(badness);
                }
            });
        }
    });
    let mut badnesses = Vec::new();
    for badness in said {
        match badness.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(Err(error)) => return Err(error),
            Some(Ok(badness)) => badnesses.push(badness),
            None => {}
        }
    }
    Ok(points.into_iter().zip(badnesses).map(|(point, badness)| Best { point, badness }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    /// Pairs of numbers below 1000.
    struct Pairs;

    impl Space for Pairs {
        type Point = (u32, u32);

        fn draw(&self, rng: &mut StdRng) -> (u32, u32) {
            (rng.random_range(0..1000), rng.random_range(0..1000))
        }

        fn vary(&self, point: &(u32, u32), rng: &mut StdRng) -> (u32, u32) {
            let near = |value: u32, rng: &mut StdRng| value.saturating_add_signed(rng.random_range(-20..=20)).min(999);
            (near(point.0, rng), near(point.1, rng))
        }

        fn cross(&self, one: &(u32, u32), other: &(u32, u32), rng: &mut StdRng) -> (u32, u32) {
            if rng.random_bool(0.5) { (one.0, other.1) } else { (other.0, one.1) }
        }

        fn simpler(&self, _: &(u32, u32)) -> Vec<(u32, u32)> {
            Vec::new()
        }
    }

    fn peak(point: &(u32, u32)) -> f64 {
        -(f64::from(point.0) - 321.0).abs() - (f64::from(point.1) - 654.0).abs()
    }

    #[test]
    fn the_peak_is_found_and_the_number_of_threads_changes_nothing() {
        let effort = |jobs| Effort { points: 1500, population: 30, jobs, seed: 5 };
        let mut worst = Vec::new();
        let one = evolve(&Pairs, effort(1), &|point| Ok(peak(point)), &mut |now| worst.push(now.worst)).unwrap();
        assert!(one.badness > -10.0, "{one:?}");
        assert!(worst.is_sorted(), "what was found is kept");
        let two = evolve(&Pairs, effort(2), &|point| Ok(peak(point)), &mut |_| {}).unwrap();
        assert_eq!(one, two);
        // Chance does not find it: the mean distance of the best of 1500 draws is about 9 in each of the two.
        let other = evolve(&Pairs, Effort { seed: 6, ..effort(2) }, &|point| Ok(peak(point)), &mut |_| {}).unwrap();
        assert_ne!(one.point, other.point, "another seed looks elsewhere");
    }

    #[test]
    fn the_first_error_ends_it() {
        let fails =
            |_: &(u32, u32)| Err(crate::Error::Bounds { option: "--x", expected: String::new(), found: String::new() });
        let effort = Effort { points: 100, population: 30, jobs: 2, seed: 5 };
        assert!(evolve(&Pairs, effort, &fails, &mut |_| {}).is_err());
    }
}
