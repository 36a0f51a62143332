//! The simulator beside a kernel: runs every pair of a matrix of `ccactl bench matrix --json`, and says how far the shares are
//! from those that the kernel gave.
//!
//! `cargo run --release -p ccactl-sim --example beside_matrix -- matrix.json`

use ccactl_link::network::{self, Transmitter};
use ccactl_link::{Capacity, LinkConfig, WireConfig};
use ccactl_native::{NAMES, Socket};
use ccactl_sim::{Data, FlowConfig, Opening, ReceiverConfig, SenderConfig, World};
use serde::Deserialize;
use std::error::Error;

const MS: u64 = 1_000_000;
/// A cell of the matrix takes this long.
const DURATION_NS: u64 = 30_000 * MS;
/// How far apart the two flows begin, the first or the second first, in each run.
const OFFSETS_NS: [(u64, u64); 3] = [(0, 0), (0, 5 * MS), (5 * MS, 0)];

#[derive(Deserialize)]
struct Matrix {
    grids: Vec<Grid>,
}

#[derive(Deserialize)]
struct Grid {
    rate: String,
    rtt: String,
    buffer: String,
    flows: u32,
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    does: String,
    suffers: String,
    own_mbps: Spread,
    other_mbps: Spread,
}

#[derive(Deserialize)]
struct Spread {
    median: f64,
}

struct Path {
    rate_bps: u64,
    rtt_ms: u64,
    buffer_bytes: u64,
}

impl Path {
    /// In the words of the matrix: `10Mbit/s`, `40ms`, `0.5bdp`.
    fn of(grid: &Grid) -> Option<Path> {
        let number = |text: &str, unit: &str| text.strip_suffix(unit)?.parse::<f64>().ok();
        let rate_bps = number(&grid.rate, "Mbit/s")? * 1e6;
        let rtt_ms = number(&grid.rtt, "ms")?;
        let bdp_bytes = rate_bps * rtt_ms / 8000.0;
        let buffer_bytes = (number(&grid.buffer, "bdp")? * bdp_bytes) as u64;
        Some(Path { rate_bps: rate_bps as u64, rtt_ms: rtt_ms as u64, buffer_bytes })
    }

    /// The share of the first of two flows.
    fn share(&self, algorithms: [&str; 2], starts_ns: (u64, u64)) -> Result<f64, Box<dyn Error>> {
        let one_way_ns = self.rtt_ms * MS / 2;
        let wire = WireConfig { delay: vec![(0, one_way_ns)], ..WireConfig::default() };
        let config = LinkConfig { wire, ..LinkConfig::drop_tail(self.rate_bps, Capacity::Bytes(self.buffer_bytes)) };
        let path = network::Path::through(0, one_way_ns);
        let mut world = World::new(vec![Transmitter::bottleneck(config)], vec![path], 0);
        for (algorithm, start_ns) in algorithms.into_iter().zip([starts_ns.0, starts_ns.1]) {
            world.add_flow(FlowConfig {
                socket: Socket::new(algorithm)?,
                sender: SenderConfig { handshake_rtt_us: self.rtt_ms as u32 * 1000, ..SenderConfig::default() },
                receiver: ReceiverConfig::default(),
                path: 0,
                opening: Opening::Established,
                start_ns,
                data: Data::Endless,
            });
        }
        world.run_until(DURATION_NS, |_| {});
        let [one, other] = [0, 1].map(|flow| world.receiver(flow).received_bytes() as f64);
        Ok(one / (one + other))
    }
}

/// One pair: how far apart the two shares are, and what to print of them.
struct Difference {
    points: f64,
    line: String,
}

fn compare(grid: &Grid, path: &Path, entry: &Entry) -> Result<Difference, Box<dyn Error>> {
    let kernel = entry.own_mbps.median / (entry.own_mbps.median + entry.other_mbps.median);
    let mut shares = Vec::new();
    for starts_ns in OFFSETS_NS {
        shares.push(path.share([&entry.does, &entry.suffers], starts_ns)?);
    }
    shares.sort_by(f64::total_cmp);
    let points = (shares[1] - kernel).abs() * 100.0;
    let percents: Vec<String> = shares.iter().map(|share| format!("{:.0}", share * 100.0)).collect();
    let line = format!(
        "{:6} {:12} beside {:12} kernel {:3.0} %, simulator {} %",
        grid.buffer,
        entry.does,
        entry.suffers,
        kernel * 100.0,
        percents.join(" ")
    );
    Ok(Difference { points, line })
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("expected a file that `ccactl bench matrix --json` has printed")?;
    let matrix: Matrix = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let mut all = Vec::new();
    for grid in matrix.grids.iter().filter(|grid| grid.flows == 1) {
        let Some(path) = Path::of(grid) else { continue };
        let is_known = |name: &str| NAMES.contains(&name);
        // Each pair once: the matrix has it from both sides, and of two of a kind it has the mean.
        let pairs = grid.entries.iter().filter(|e| e.does < e.suffers && is_known(&e.does) && is_known(&e.suffers));
        for entry in pairs {
            all.push(compare(grid, &path, entry)?);
        }
    }
    all.sort_by(|a, b| a.points.total_cmp(&b.points));
    let Some(last) = all.len().checked_sub(1) else { return Err("no pair of algorithms that are built here".into()) };
    for difference in all.iter().rev().take(20) {
        println!("{:5.1} points: {}", difference.points, difference.line);
    }
    let at = |quantile: f64| all[(last as f64 * quantile) as usize].points;
    let within = all.iter().filter(|difference| difference.points < 10.0).count();
    println!("{} pairs: median {:.1} points, nine in ten within {:.1}", all.len(), at(0.5), at(0.9));
    println!("{within} within 10 points");
    Ok(())
}
