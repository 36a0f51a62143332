//! A recorder as a process, traffic for it, and what the kernel counts of it.

use aya::maps::{Map, MapData, PerCpuArray};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// A recorder that takes longer to come up hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// With state of its own on the host.
pub fn ccactl(bpffs: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ccactl"));
    command.env("CCACTL_BPFFS", bpffs).stdin(Stdio::null());
    command
}

/// The kernel's counts of a recorder; they stay while we hold them.
pub fn kernel_counts(recorder: &mut Child) -> PerCpuArray<MapData, u64> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline && recorder.try_wait().unwrap().is_none(), "the recorder does not come up");
        let ids = map_ids(recorder.id());
        let maps = ids.iter().filter_map(|&id| MapData::from_id(id).ok());
        for map in maps {
            if map.info().is_ok_and(|info| info.name_as_str() == Some("ccactl_counts")) {
                return Map::PerCpuArray(map).try_into().unwrap();
            }
        }
        sleep(Duration::from_millis(5));
    }
}

/// Ids of the BPF maps that a process has open.
fn map_ids(pid: u32) -> Vec<u32> {
    // Until it has its own name, it has the maps that other tests have open: those are closed as the program begins.
    if fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() != "ccactl") {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return Vec::new() };
    let infos = entries.filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok());
    infos.filter_map(|info| info.lines().find_map(|line| line.strip_prefix("map_id:")?.trim().parse().ok())).collect()
}

/// Over all processors and over so many counts.
pub fn sum(counts: &PerCpuArray<MapData, u64>, first: usize, number: usize) -> u64 {
    (first..first + number).map(|index| counts.get(&(index as u32), 0).unwrap().iter().sum::<u64>()).sum()
}

/// One connection on which a byte goes to and fro: thousands of rows per second.
pub struct Load {
    /// Where it is accepted.
    pub port: String,
    is_over: &'static AtomicBool,
}

impl Load {
    pub fn start() -> Load {
        let is_over: &'static AtomicBool = Box::leak(Box::default());
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || echo(listener.accept().unwrap().0));
        thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            let mut byte = [0];
            while !is_over.load(Ordering::Relaxed) {
                stream.write_all(&byte).unwrap();
                stream.read_exact(&mut byte).unwrap();
                sleep(Duration::from_micros(200));
            }
        });
        Load { port: address.port().to_string(), is_over }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut byte = [0];
    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
}
