//! A path of rattan's for `measure/src/bin/emulator_path`: `ccactl-bench-rattan WORKERS MBIT`. The rate counts IP packets; 10 ms to the
//! receiver, a drop-tail buffer of 100 ms; nothing on the way back. Says in one line where the two ends are, and goes when its standard
//! input is closed.
//!
//! rattan makes three namespaces (`ns-left-…`, `ns-rattan-…`, `ns-right-…`) with veth pairs between them and takes packets by AF_PACKET. But
//! for the number of tokio's worker threads it runs with its defaults, at ordinary priority.

use bandwidth::Bandwidth;
use rattan_core::cells::StdPacket;
use rattan_core::cells::bandwidth::queue::DropTailQueueConfig;
use rattan_core::cells::bandwidth::{BwCellConfig, BwType};
use rattan_core::config::{BwCellBuildConfig, CellBuildConfig, DelayCellBuildConfig, RattanConfig};
use rattan_core::env::{StdNetEnvConfig, StdNetEnvMode};
use rattan_core::metal::io::af_packet::AfPacketDriver;
use rattan_core::radix::{RattanRadix, TaskResult};
use std::collections::HashMap;
use std::error::Error;
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const USAGE: &str = "usage: ccactl-bench-rattan WORKERS MBIT";
const ONE_WAY: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [workers, rate_mbit] = &args[..] else { return Err(USAGE.into()) };
    let (workers, rate_mbit) = (workers.parse()?, rate_mbit.parse()?);
    let mut radix = RattanRadix::<AfPacketDriver>::new(config(workers, rate_mbit))?;
    radix.spawn_rattan()?;
    radix.start_rattan()?;
    // A namespace is named by a thread that stays in it.
    let (inside, where_inside) = channel();
    let (held_left, hold_left) = channel::<()>();
    let (held_right, hold_right) = channel::<()>();
    let left = radix.left_spawn(None, stay(inside.clone(), hold_left))?;
    let left_path = where_inside.recv()?;
    let right = radix.right_spawn(None, stay(inside, hold_right))?;
    let right_path = where_inside.recv()?;
    println!("{left_path} {right_path} {}", radix.right_ip(1));
    std::io::stdin().read_to_end(&mut Vec::new())?;
    drop((held_left, held_right));
    for thread in [left, right] {
        thread.join().map_err(|_| "a thread inside a namespace panicked")?.map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn config(workers: u32, rate_mbit: u64) -> RattanConfig<StdPacket> {
    let env = StdNetEnvConfig { mode: StdNetEnvMode::Isolated, ..Default::default() };
    let buffer_bytes = rate_mbit as usize * 125_000 / 10;
    let queue = DropTailQueueConfig::new(None, buffer_bytes, BwType::NetworkLayer);
    let rate = BwCellConfig::new(Bandwidth::from_bps(rate_mbit * 1_000_000), queue, BwType::NetworkLayer);
    let mut config = RattanConfig { env, ..Default::default() };
    // The threads are as many as there are CPUs in the list; which ones plays no part.
    config.resource.cpu = Some((0..workers).collect());
    config.cells = HashMap::from([
        ("rate".to_owned(), CellBuildConfig::Bw(BwCellBuildConfig::DropTail(rate))),
        ("delay".to_owned(), CellBuildConfig::Delay(DelayCellBuildConfig::new(ONE_WAY))),
    ]);
    let links = [("left", "rate"), ("rate", "delay"), ("delay", "right"), ("right", "left")];
    config.links = links.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
    config
}

/// Tells where the namespace of this thread is and stays in it until the other end of `hold` is dropped.
fn stay(inside: Sender<String>, hold: Receiver<()>) -> impl FnOnce() -> TaskResult<()> + Send {
    move || {
        let thread = std::fs::read_link("/proc/thread-self")?;
        inside.send(format!("/proc/{}/ns/net", thread.display()))?;
        // An error is the signal: nothing is ever sent.
        let _ = hold.recv();
        Ok(())
    }
}
