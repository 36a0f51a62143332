//! Flows of one algorithm over one bottleneck: packets in a second of CPU time, and memory.
//!
//! `cargo run --release -p ccactl-sim --example dumbbell -- ALGORITHM FLOWS MBIT_PER_S RTT_MS BUFFER_BDP SECONDS`

use ccactl_link::network::{self, Transmitter};
use ccactl_link::{Capacity, LinkConfig, WireConfig};
use ccactl_native::Socket;
use ccactl_sim::{Data, FlowConfig, Opening, ReceiverConfig, SenderConfig, World};
use std::error::Error;

const MS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [algorithm, numbers @ ..] = &words[..] else { return Err("expected an algorithm".into()) };
    let numbers = numbers.iter().map(|word| word.parse::<f64>()).collect::<Result<Vec<_>, _>>()?;
    let &[flows, rate_mbps, rtt_ms, buffer_bdp, seconds] = &numbers[..] else {
        return Err("expected flows, Mbit/s, base RTT in ms, buffer in BDP and seconds".into());
    };
    let one_way_ns = (rtt_ms * 0.5 * MS as f64) as u64;
    let buffer_pkts = (rate_mbps * 1e3 * rtt_ms / 8.0 / 1500.0 * buffer_bdp).max(2.0) as u64;
    let wire = WireConfig { delay: vec![(0, one_way_ns)], ..WireConfig::default() };
    let config = LinkConfig { wire, ..LinkConfig::drop_tail((rate_mbps * 1e6) as u64, Capacity::Packets(buffer_pkts)) };
    let path = network::Path::through(0, one_way_ns);
    let mut world = World::new(vec![Transmitter::bottleneck(config)], vec![path], 0);
    for i in 0..flows as u64 {
        world.add_flow(FlowConfig {
            socket: Socket::new(algorithm)?,
            sender: SenderConfig::default(),
            receiver: ReceiverConfig::default(),
            path: 0,
            opening: Opening::BySender,
            start_ns: i * 1000,
            data: Data::Endless,
        });
    }
    let begin_s = cpu_s()?;
    world.run_until((seconds * 1e9) as u64, |_| {});
    let cpu_s = cpu_s()? - begin_s;
    let received: u64 = (0..flows as usize)
        .filter(|flow| world.is_established(*flow))
        .map(|flow| world.receiver(flow).received_bytes())
        .sum();
    let packets = received / 1448;
    println!(
        "{{\"packets\": {packets}, \"cpu_s\": {cpu_s:.3}, \"packets_per_s\": {:.0}, \"goodput_mbps\": {:.2}, \"memory_mib\": {:.0}}}",
        packets as f64 / cpu_s,
        received as f64 * 8.0 / seconds / 1e6,
        peak_mib()?
    );
    Ok(())
}

/// CPU time of this process so far.
fn cpu_s() -> Result<f64, Box<dyn Error>> {
    let schedule = std::fs::read_to_string("/proc/self/schedstat")?;
    let on_cpu_ns: f64 = schedule.split_whitespace().next().ok_or("nothing in /proc/self/schedstat")?.parse()?;
    Ok(on_cpu_ns / 1e9)
}

/// The most memory that the process has had (`VmHWM`).
fn peak_mib() -> Result<f64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
