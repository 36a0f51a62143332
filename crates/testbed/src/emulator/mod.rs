//! The emulator: a thread with real-time priority that carries packets between TUN devices through the link
//! model, and that measures how well it kept time.

pub mod address;
mod counters;
mod ecn;
mod engine;
mod lateness;
mod pool;
mod realtime;

pub use counters::FlowCounters;
pub use engine::Port;
pub use lateness::Lateness;

use crate::error::{Error, Result};
use crate::host::tun::Tun;
use ccactl_scenario::LinkSpec;
use engine::Engine;
use realtime::LockedMemory;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

/// Slots beyond those that the bottleneck and the delay lines need: small packets and packets on the way back.
const SPARE_SLOTS: u64 = 20_000;

/// What the emulator did in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmulatorReport {
    /// Whether the thread had real-time priority and locked memory.
    pub realtime: bool,
    /// Scheduled against actual time of every packet, both directions.
    pub lateness: Lateness,
    /// By index of the sender.
    pub flows: Vec<FlowCounters>,
    /// Rate on the wire while the bottleneck was backlogged; absent when it never was.
    pub achieved_rate_bps: Option<f64>,
    /// How long the bottleneck was backlogged.
    pub backlogged_s: f64,
    /// Most bytes in the buffer.
    pub queue_max_bytes: u64,
    /// Mean of the bytes in the buffer that accepted packets found, themselves included.
    pub queue_mean_bytes: f64,
    /// Packets that a device did not take from the emulator.
    pub write_failures: u64,
    /// Errors when reading from a device.
    pub read_failures: u64,
    /// Times at which the emulator had no memory for a packet.
    pub pool_exhausted: u64,
    /// Packets that belong to no path.
    pub stray_packets: u64,
}

/// A running emulator; dropped, it stops.
pub struct Emulator {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Engine, bool)>>,
}

impl Emulator {
    /// Starts the thread and returns once it is ready for the first packet. `run` counts from 1.
    pub fn start(ports: Vec<Port>, receiver: Tun, link: &LinkSpec, run: u32) -> Result<Emulator> {
        let slots = slots(link, &ports);
        let (config, overhead, mtu) = (link.config(run), link.overhead_bytes, link.mtu);
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("ccactl-emulator".to_owned())
            .spawn({
                let stop = Arc::clone(&stop);
                move || {
                    let locked = LockedMemory::lock();
                    let mut engine = Engine::new(ports, receiver, config, overhead, mtu, slots);
                    let raised = realtime::raise_thread();
                    let realtime = locked.is_ok() && raised.is_ok();
                    if !realtime {
                        tracing::warn!("emulator: no real-time priority or locked memory; packets may be late");
                    }
                    // The other side only goes away when it has panicked.
                    let _ = ready.send(());
                    engine.run(&stop);
                    (engine, realtime)
                }
            })
            .map_err(Error::system("start the emulator's thread"))?;
        is_ready.recv().map_err(|_| Error::Panicked("emulator"))?;
        Ok(Emulator { stop, thread: Some(thread) })
    }

    /// Stops the thread and tells what it did.
    pub fn finish(mut self) -> Result<EmulatorReport> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("taken only here and in drop");
        let (engine, realtime) = thread.join().map_err(|_| Error::Panicked("emulator"))?;
        Ok(report(&engine, realtime))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Full packets in the buffer and on the way, and some to spare.
fn slots(link: &LinkSpec, ports: &[Port]) -> usize {
    let one_way = ports.iter().map(|port| port.one_way).max().unwrap_or(0);
    let on_the_way = u128::from(link.rate.bps) * u128::from(one_way) / 8_000_000_000 / u128::from(link.frame_bytes());
    let queued = link.buffer_bytes() / link.frame_bytes();
    (queued + on_the_way as u64 * 2 + SPARE_SLOTS) as usize
}

fn report(engine: &Engine, realtime: bool) -> EmulatorReport {
    let counters = &engine.counters;
    let accepted: u64 = counters.flows.iter().map(|flow| flow.offered_packets - flow.dropped_full_packets).sum();
    EmulatorReport {
        realtime,
        lateness: engine.lateness.summary(),
        flows: counters.flows.clone(),
        achieved_rate_bps: engine.rate.bps(),
        backlogged_s: engine.rate.secs(),
        queue_max_bytes: counters.queue_max_bytes,
        queue_mean_bytes: if accepted > 0 { counters.queue_sum_bytes as f64 / accepted as f64 } else { 0.0 },
        write_failures: counters.write_failures,
        read_failures: counters.read_failures,
        pool_exhausted: counters.exhausted,
        stray_packets: counters.stray,
    }
}
