//! The emulator: threads with real-time priority that carry packets between TUN devices through links in virtual time, and that
//! measure how well they kept time.
//!
//! ```text
//!   Scenario ──Topology──▶ Network (virtual time, pure) ◀── Engine (real time, devices) ──▶ EmulatorReport
//! ```

pub mod address;
mod bundle;
mod ecn;
mod engine;
mod frame;
#[cfg(test)]
mod frame_tests;
pub mod header;
mod outbox;
mod pool;
pub mod rate_meter;
mod readiness;
pub mod realtime;
mod shares;
mod split;
mod tcp;
mod topology;

pub use engine::Devices;
pub use shares::Shares;
pub use topology::{Access, Topology};

use crate::clock;
use crate::error::{Error, Result};
use ccactl_link::Nanos;
use ccactl_link::network::{Histogram, Interval, Lateness, Network, NetworkReport};
use engine::{Controls, Engine};
use readiness::Readiness;
use realtime::{LockedMemory, Standing};
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;

/// What the emulator did in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct EmulatorReport {
    /// Whether its threads had real-time priority and locked memory.
    pub realtime: bool,
    /// Whether they had reserved CPU time (`SCHED_DEADLINE`) rather than a fixed priority.
    pub reserved: bool,
    /// CPU time of its threads, in s.
    pub cpu_s: f64,
    /// Scheduled against actual time of every packet, both directions.
    pub lateness: Lateness,
    /// What its network did.
    pub network: NetworkReport,
    /// How much faster than its plan the bottleneck was while it was backlogged, as a share; absent when it never was for 100 ms.
    pub rate_error: Option<f64>,
    /// How long the bottleneck was backlogged, for 100 ms or more at a time.
    pub backlogged_s: f64,
    /// Troubles of the emulator itself.
    pub troubles: Troubles,
    /// Packets that belong to no path.
    pub stray_packets: u64,
}

/// Troubles of the emulator itself; all are 0 in a good run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Troubles {
    /// Packets that a device did not take from the emulator.
    pub write_failures: u64,
    /// Errors when reading from a device.
    pub read_failures: u64,
    /// Times at which the emulator had no memory for a packet.
    pub pool_exhausted: u64,
}

/// What a thread leaves.
struct Ended {
    engine: Engine,
    realtime: bool,
    reserved: bool,
    cpu_s: f64,
}

/// A running emulator; dropped, it stops.
pub struct Emulator {
    controls: Controls,
    shares: Shares,
    threads: Vec<JoinHandle<Ended>>,
}

impl Emulator {
    /// Starts its threads, each with its devices, and returns once they are ready for the first packet. The series is for a run of this
    /// length.
    pub fn start(devices: Vec<Devices>, shares: Shares, topology: &Topology, duration: Nanos) -> Result<Emulator> {
        let controls = Controls::default();
        let mut emulator = Emulator { controls: controls.clone(), shares, threads: Vec::new() };
        let (ready, is_ready) = mpsc::channel();
        for devices in devices {
            let readiness = Readiness::of(devices.all().map(|(_, device)| device))?;
            let thread = std::thread::Builder::new().name("ccactl-emulator".to_owned());
            let (controls, ready, topology) = (controls.clone(), ready.clone(), topology.clone());
            let thread = thread.spawn(move || {
                let locked = LockedMemory::lock();
                let calibrated_bps = topology.calibrated_bps();
                let Topology { transmitters, paths, beyond, tick, mtu, packets, .. } = topology;
                let network = Network::new(transmitters, paths, packets, duration);
                let mut engine = Engine::new(devices, readiness, network, beyond, tick, mtu, packets);
                let standing = realtime::raise_thread(calibrated_bps);
                let realtime = locked.is_ok() && standing != Standing::Ordinary;
                let reserved = standing == Standing::Reserved;
                if !realtime {
                    tracing::warn!("emulator: no real-time priority or locked memory; packets may be late");
                }
                // The other side only goes away when it has panicked.
                let _ = ready.send(());
                engine.run(&controls);
                Ended { engine, realtime, reserved, cpu_s: clock::thread_cpu_s() }
            });
            emulator.threads.push(thread.map_err(Error::system("start a thread of the emulator"))?);
        }
        drop(ready);
        for _ in &emulator.threads {
            is_ready.recv().map_err(|_| Error::Panicked("emulator"))?;
        }
        Ok(emulator)
    }

    /// The run begins at `t0` (`CLOCK_MONOTONIC`): plans of rates and delays count from then. To be called some 50 ms before.
    pub fn set_origin(&self, t0: Nanos) {
        self.controls.origin.store(t0, Ordering::Relaxed);
    }

    /// Stops the threads and tells what they did.
    pub fn finish(mut self) -> Result<EmulatorReport> {
        self.controls.stop.store(true, Ordering::Relaxed);
        let ended = std::mem::take(&mut self.threads).into_iter().map(JoinHandle::join);
        let ended = ended.collect::<Result<Vec<_>, _>>().map_err(|_| Error::Panicked("emulator"))?;
        Ok(report(ended, &self.shares))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.controls.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Every thread has a network with all paths, of which it used its own.
fn report(threads: Vec<Ended>, shares: &Shares) -> EmulatorReport {
    let mut lateness = Histogram::new();
    let mut troubles = Troubles::default();
    let mut stray_packets = 0;
    for Ended { engine, .. } in &threads {
        lateness.merge(&engine.lateness);
        let Troubles { write_failures, read_failures, pool_exhausted } = engine.troubles;
        troubles.write_failures += write_failures;
        troubles.read_failures += read_failures;
        troubles.pool_exhausted += pool_exhausted;
        stray_packets += engine.stray_packets;
    }
    // Data of downloads come through the bottleneck's other transmitter: the one that had more to do is judged.
    let paces = threads.iter().flat_map(|ended| ended.engine.paces);
    let pace = paces.max_by(|a, b| a.secs().total_cmp(&b.secs())).unwrap_or_default();
    EmulatorReport {
        realtime: threads.iter().all(|ended| ended.realtime),
        reserved: threads.iter().all(|ended| ended.reserved),
        cpu_s: threads.iter().map(|ended| ended.cpu_s).sum(),
        lateness: lateness.lateness(),
        rate_error: pace.error(),
        backlogged_s: pace.secs(),
        troubles,
        stray_packets,
        network: together(threads.into_iter().map(|ended| ended.engine.into_network().into_report()).collect(), shares),
    }
}

/// Of every path and transmitter what its own thread tells.
fn together(mut reports: Vec<NetworkReport>, shares: &Shares) -> NetworkReport {
    if reports.len() == 1 {
        return reports.swap_remove(0);
    }
    let mut series: Vec<Interval> = (0..)
        .zip(&reports)
        .flat_map(|(thread, report)| report.series.iter().map(move |interval| (thread, *interval)))
        .filter(|(thread, interval)| shares.transmitters[interval.transmitter as usize] == *thread)
        .map(|(_, interval)| interval)
        .collect();
    series.sort_unstable_by_key(|interval| (interval.number, interval.transmitter));
    NetworkReport {
        flows: (0..).zip(&shares.paths).map(|(path, thread): (usize, &usize)| reports[*thread].flows[path]).collect(),
        links: (0..)
            .zip(&shares.transmitters)
            .map(|(link, thread): (usize, &usize)| reports[*thread].links[link])
            .collect(),
        inside_packets: reports.iter().map(|report| report.inside_packets).sum(),
        series,
    }
}
