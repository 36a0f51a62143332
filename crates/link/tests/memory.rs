//! Memory of a path on which nothing happens: a network may have thousands.

use ccactl_link::network::{Network, Path, Transmitter};
use ccactl_link::{Capacity, LinkConfig};
use std::fs;

/// What of this process is in memory; room that was reserved and not touched does not count.
fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
}

/// So many paths, each with a link of 16 Mbit/s of its own, 10 ms from its host.
fn network(paths: usize, room: Capacity) -> Network<u32> {
    let transmitter = || Transmitter::bottleneck(LinkConfig::drop_tail(16_000_000, room));
    let ways = (0..paths).map(|path| Path::through(path, 10_000_000));
    Network::new((0..paths).map(|_| transmitter()).collect(), ways.collect(), 40 * paths, 0)
}

#[test]
fn an_idle_path_takes_less_than_100_kib() {
    const PATHS: usize = 500;
    for room in [Capacity::Packets(20), Capacity::Bytes(40_000)] {
        let before = resident_bytes();
        let network = network(PATHS, room);
        let of_one = (resident_bytes() - before) / PATHS as u64;
        drop(network);
        // The histograms alone have more than 64 KiB; if they did not count, this test would see nothing.
        assert!((64 << 10..100 << 10).contains(&of_one), "{room:?}: {of_one} bytes for a path");
        eprintln!("{room:?}: {of_one} bytes");
    }
}
