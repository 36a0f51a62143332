//! The emulator: a thread with real-time priority that carries packets between TUN devices through links in virtual time, and
//! that measures how well it kept time.
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
mod realtime;
mod split;
mod tcp;
mod topology;

pub use engine::Devices;
pub use topology::{Access, Topology};

use crate::clock;
use crate::error::{Error, Result};
use ccactl_link::Nanos;
use ccactl_link::network::{Lateness, Network, NetworkReport};
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
    /// Whether the thread had real-time priority and locked memory.
    pub realtime: bool,
    /// Whether it had reserved CPU time (`SCHED_DEADLINE`) rather than a fixed priority.
    pub reserved: bool,
    /// CPU time of the thread, in s.
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

/// What the thread leaves.
struct Ended {
    engine: Engine,
    realtime: bool,
    reserved: bool,
    cpu_s: f64,
}

/// A running emulator; dropped, it stops.
pub struct Emulator {
    controls: Controls,
    thread: Option<JoinHandle<Ended>>,
}

impl Emulator {
    /// Starts the thread and returns once it is ready for the first packet. The series is for a run of this length.
    pub fn start(devices: Devices, topology: Topology, duration: Nanos) -> Result<Emulator> {
        let controls = Controls::default();
        let readiness = Readiness::of(devices.all().map(|(_, device)| device))?;
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("ccactl-emulator".to_owned())
            .spawn({
                let controls = controls.clone();
                move || {
                    let locked = LockedMemory::lock();
                    let calibrated_bps = topology.calibrated_bps();
                    let Topology { transmitters, paths, beyond, total_bps, mtu, packets, .. } = topology;
                    let network = Network::new(transmitters, paths, packets, duration);
                    let mut engine = Engine::new(devices, readiness, network, beyond, total_bps, mtu, packets);
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
                }
            })
            .map_err(Error::system("start the emulator's thread"))?;
        is_ready.recv().map_err(|_| Error::Panicked("emulator"))?;
        Ok(Emulator { controls, thread: Some(thread) })
    }

    /// The run begins at `t0` (`CLOCK_MONOTONIC`): plans of rates and delays count from then. To be called some 50 ms before.
    pub fn set_origin(&self, t0: Nanos) {
        self.controls.origin.store(t0, Ordering::Relaxed);
    }

    /// Stops the thread and tells what it did.
    pub fn finish(mut self) -> Result<EmulatorReport> {
        self.controls.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("taken only here and in drop");
        Ok(report(thread.join().map_err(|_| Error::Panicked("emulator"))?))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.controls.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn report(Ended { engine, realtime, reserved, cpu_s }: Ended) -> EmulatorReport {
    // Data of downloads come through the bottleneck's other transmitter: the one that had more to do is judged.
    let [up, down] = engine.paces;
    let pace = if down.secs() > up.secs() { down } else { up };
    EmulatorReport {
        realtime,
        reserved,
        cpu_s,
        lateness: engine.lateness.lateness(),
        rate_error: pace.error(),
        backlogged_s: pace.secs(),
        troubles: engine.troubles,
        stray_packets: engine.stray_packets,
        network: engine.into_network().into_report(),
    }
}
