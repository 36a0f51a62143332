//! Many swaps of all connections, each one verified by ccactl and by the sockets' own owner.

use crate::settings::Settings;
use crate::world::World;
use crate::{Faults, Result};
use ccactl_loader::{SwapOutcome, SwapRequest};
use ccactl_testbed::traffic::checked::Sample;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::time::{Duration, Instant};

const TELL_EVERY: u32 = 20;

#[derive(Default)]
pub struct Swaps {
    pub done: u32,
    pub moved: u64,
    pub verified: u64,
    pub to_verify: u64,
    pub iterations: Vec<Duration>,
    pub walls: Vec<Duration>,
    /// The last one.
    pub sample: Sample,
    /// Sockets outside the state `open` when they were counted, after all swaps together.
    pub disturbed: u64,
    pub elapsed: Duration,
    pub faults: Faults,
}

pub fn run(world: &mut World, settings: &Settings) -> Result<Swaps> {
    let mut random = StdRng::seed_from_u64(settings.seed);
    let mut swaps = Swaps::default();
    let started = Instant::now();
    let mut current = world.loader.load(&world.request(crate::world::ALGORITHMS[0]))?.kernel_name;
    for turn in 1..=settings.swaps {
        world.go_on()?;
        let algorithm = world.another(&mut random, &current);
        let before = Instant::now();
        let outcome = world.loader.swap(&SwapRequest::of(world.request(algorithm)))?;
        swaps.walls.push(before.elapsed());
        swaps.sample = world.sample()?;
        let faults = faults(world, &outcome, &swaps.sample);
        swaps.count(&outcome, faults.iter().map(|fault| format!("swap {turn} to {algorithm}: {fault}")));
        current = outcome.kernel_name;
        if turn % TELL_EVERY == 0 || turn == settings.swaps {
            eprintln!(
                "{turn} swaps · {} faults · iteration {:.1} ms · {:.0} MB received · {} segments sent again",
                swaps.faults.len(),
                outcome.iteration.as_secs_f64() * 1e3,
                swaps.sample.received_bytes as f64 / 1e6,
                swaps.sample.retransmitted_pkts,
            );
        }
    }
    swaps.elapsed = started.elapsed();
    Ok(swaps)
}

impl Swaps {
    fn count(&mut self, outcome: &SwapOutcome, faults: impl Iterator<Item = String>) {
        self.done += 1;
        self.moved += outcome.counts.moved;
        let verification = outcome.verification.unwrap_or_default();
        self.verified += verification.verified;
        self.to_verify += verification.sockets;
        self.iterations.push(outcome.iteration);
        self.disturbed += self.sample.states[1..].iter().sum::<u64>();
        self.faults.extend(faults);
    }
}

/// What is wrong after a swap.
pub fn faults(world: &World, outcome: &SwapOutcome, sample: &Sample) -> Faults {
    let mut faults = sample.faults(world.sockets());
    match outcome.verification {
        Some(verification) if outcome.is_complete() && verification.sockets >= world.sockets() => {}
        _ => faults.push(format!("incomplete: {:?}, {:?}", outcome.counts, outcome.verification)),
    }
    if sample.algorithms.len() != 1 || !sample.algorithms.contains_key(&outcome.kernel_name) {
        faults.push(format!("expected all sockets to have {}, found {:?}", outcome.kernel_name, sample.algorithms));
    }
    faults
}
