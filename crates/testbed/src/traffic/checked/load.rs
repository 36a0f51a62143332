//! The whole load: namespaces, both ends of every connection, and the comparison of what the ends say.

use super::end::{EndOptions, Side};
use super::report::{Sample, StreamTotals, Totals};
use crate::error::{Error, Result};
use crate::host::cgroup::Cgroup;
use crate::host::netns::Netns;
use crate::host::process::Start;
use crate::host::run_id::RunId;
use crate::host::talker::Talker;
use crate::host::veth::{self, VethPair};
use crate::traffic::{End, FIRST_PORT};
use std::path::Path;
use std::time::{Duration, Instant};

/// Ports of each address that one server process listens on: each can be reached from every ephemeral port of the client.
const PORTS: u16 = 4;
/// Connections of one process. Each is an open file, and even root cannot always raise the limit of those (in some containers it
/// is 20 000).
const CONNECTIONS_PER_PROCESS: u32 = 16_000;
/// How long all connections may take until both ends know them.
const OPEN_WITHIN: Duration = Duration::from_secs(60);
/// How long the orderly end of all connections may take.
const FINISH_WITHIN: Duration = Duration::from_secs(90);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// Faults of single connections that are told; the rest is counted.
const FAULTS_TOLD: usize = 5;

/// Settings of the load's own namespaces: ports and queues for many connections at once, buffers that many of them
/// cannot fill the kernel's memory with, and nothing learnt from one connection for the next.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv4/ip_local_port_range", "1024 65535"),
    ("ipv4/tcp_max_syn_backlog", "16384"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_rmem", "4096 65536 262144"),
    ("ipv4/tcp_wmem", "4096 16384 262144"),
];

/// A queue at each end of a pair through which its data must go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bottleneck {
    /// Rate of one direction.
    pub rate_bytes_per_s: u32,
    /// What passes at once after a pause.
    pub burst_bytes: u32,
    /// What may wait; the rest is dropped.
    pub limit_bytes: u32,
}

/// What load to make.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Connections of all pairs together.
    pub connections: u32,
    /// Pairs of namespaces, each with an equal share of the connections.
    pub pairs: usize,
    /// What each connection sends, both ways, as soon as it is open.
    pub opening_bytes: usize,
    /// What all connections together send from then on, in each direction; 0 leaves them idle.
    pub rate_bytes_per_s: u64,
    /// Between the namespaces of each pair; without one nothing is lost.
    pub bottleneck: Option<Bottleneck>,
    /// Makes the bytes and how they are cut.
    pub seed: u64,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// What both ends counted.
    pub counts: Sample,
    /// Streams, two per connection, of which everything that was sent has arrived.
    pub complete_streams: u64,
    /// What is wrong; empty when all streams are complete and nothing else happened.
    pub faults: Vec<String>,
}

/// A running load. Dropped, its processes are killed and its namespaces removed.
pub struct CheckedLoad {
    // The order of the fields is that of the removal: processes before the namespaces that they are in.
    ends: Vec<Talker>,
    pairs: Vec<VethPair>,
    connections: u32,
}

impl CheckedLoad {
    /// Opens all connections, from processes of `cgroup`, and waits until both ends of each know it. `program` is the
    /// `ccactl` binary. Call it from a thread that lives as long as the load: the processes die with it.
    ///
    /// # Errors
    /// What the kernel refuses, or an end that does not get ready.
    pub fn start(program: &Path, id: RunId, options: &LoadOptions, cgroup: &Cgroup) -> Result<Self> {
        let mut load = Self { ends: Vec::new(), pairs: Vec::new(), connections: options.connections };
        for index in 0..options.pairs {
            let pair = VethPair::create(id, index)?;
            if let Some(Bottleneck { rate_bytes_per_s, burst_bytes, limit_bytes }) = options.bottleneck {
                pair.limit(rate_bytes_per_s, burst_bytes, limit_bytes)?;
            }
            for (path, value) in SYSCTLS {
                pair.client.sysctl(path, value)?;
                pair.server.sysctl(path, value)?;
            }
            load.pairs.push(pair);
            load.start_ends(program, index, options, cgroup)?;
        }
        load.wait_open()?;
        Ok(load)
    }

    /// Starts the processes in the namespaces of a pair.
    fn start_ends(&mut self, program: &Path, pair: usize, options: &LoadOptions, cgroup: &Cgroup) -> Result<()> {
        let connections = share(options.connections, pair, options.pairs);
        let processes = connections.div_ceil(CONNECTIONS_PER_PROCESS).max(1) as usize;
        for process in 0..processes {
            let end = |side| EndOptions {
                side,
                addresses: veth::SERVER.to_vec(),
                first_port: FIRST_PORT + PORTS * process as u16,
                ports: PORTS,
                connections: share(connections, process, processes),
                seed: options.seed ^ (self.ends.len() as u64) << u32::BITS,
                opening_bytes: options.opening_bytes,
                rate_bytes_per_s: options.rate_bytes_per_s / (options.pairs * processes) as u64,
            };
            let [server, client] = [end(Side::Server), end(Side::Client)];
            let VethPair { client: from, server: to } = &self.pairs[pair];
            // The server first: the client connects at once.
            let started = [start_end(program, &server, to, cgroup)?, start_end(program, &client, from, cgroup)?];
            self.ends.extend(started);
        }
        Ok(())
    }

    /// Sockets of connections: both ends of each.
    #[must_use]
    pub fn sockets(&self) -> u64 {
        2 * u64::from(self.connections)
    }

    /// Listening sockets.
    #[must_use]
    pub fn listeners(&self) -> u64 {
        let servers = self.ends.len() / 2;
        (servers * veth::SERVER.len() * usize::from(PORTS)) as u64
    }

    /// Network namespaces.
    #[must_use]
    pub fn namespaces(&self) -> usize {
        2 * self.pairs.len()
    }

    /// Both ends of all connections, now.
    ///
    /// # Errors
    /// An end that does not answer.
    pub fn sample(&mut self) -> Result<Sample> {
        self.ask("sample")
    }

    /// What is wrong now; empty when nothing is.
    ///
    /// # Errors
    /// An end that does not answer.
    pub fn faults(&mut self) -> Result<Vec<String>> {
        Ok(self.sample()?.faults(self.sockets()))
    }

    /// Resets that the kernel counted in all namespaces, sent and received, whatever the applications saw of them.
    ///
    /// # Errors
    /// Counters that cannot be read.
    pub fn kernel_resets(&self) -> Result<u64> {
        let of = |netns: &Netns| {
            let text = netns
                .run(|| std::fs::read_to_string("/proc/thread-self/net/snmp"))
                .map_err(Error::system(format!("read the TCP counters of namespace {}", netns.name())))?;
            Ok(["EstabResets", "OutRsts"].iter().filter_map(|name| tcp_counter(&text, name)).sum::<u64>())
        };
        self.pairs.iter().flat_map(|pair| [&pair.client, &pair.server]).map(of).sum()
    }

    /// Ends all connections in order and compares what both ends of each sent and received.
    ///
    /// # Errors
    /// An end that does not answer.
    pub fn finish(mut self) -> Result<Finish> {
        // First nobody sends any more, so that no end takes the other's close for an early one.
        let last = self.ask("stop")?;
        self.ends.iter_mut().try_for_each(|end| end.say("finish"))?;
        let totals =
            self.ends.iter_mut().map(|end| end.report_within(FINISH_WITHIN)).collect::<Result<Vec<Totals>>>()?;
        let counts = totals.iter().map(|totals| totals.counts.clone()).fold(Sample::default(), Sample::merge);
        let mut faults = Sample { alive: last.alive, ..counts.clone() }.faults(self.sockets());
        let mut broken = Vec::new();
        for ends in totals.chunks_exact(2) {
            broken.extend(incomplete_streams(&ends[0], &ends[1]));
        }
        let known: u64 = totals.chunks_exact(2).map(|ends| ends[1].streams.len() as u64).sum();
        if known != u64::from(self.connections) {
            faults.push(format!("expected {} connections to end in order, found {known}", self.connections));
        }
        if broken.len() > FAULTS_TOLD {
            faults.push(format!("{} streams are not complete", broken.len()));
        }
        let complete_streams = (2 * known).saturating_sub(broken.len() as u64);
        faults.extend(broken.into_iter().take(FAULTS_TOLD));
        Ok(Finish { counts, complete_streams, faults })
    }

    /// One question to all ends at once, so that none waits for another.
    fn ask(&mut self, question: &str) -> Result<Sample> {
        self.ends.iter_mut().try_for_each(|end| end.say(question))?;
        let mut all = Sample::default();
        for end in &mut self.ends {
            all = all.merge(end.report()?);
        }
        Ok(all)
    }

    fn wait_open(&mut self) -> Result<()> {
        let give_up = Instant::now() + OPEN_WITHIN;
        loop {
            let faults = self.faults()?;
            if faults.is_empty() {
                return Ok(());
            }
            if Instant::now() > give_up {
                return Err(Error::Flow { flow: "checked traffic".to_owned(), message: faults.join("; ") });
            }
            std::thread::sleep(ASK_AGAIN_AFTER);
        }
    }
}

/// What falls to the one with `index` when `total` is divided among `count` as evenly as can be.
fn share(total: u32, index: usize, count: usize) -> u32 {
    let (index, count) = (index as u32, count as u32);
    total / count + u32::from(index < total % count)
}

fn start_end(program: &Path, options: &EndOptions, netns: &Netns, cgroup: &Cgroup) -> Result<Talker> {
    let start = Start { program, netns, cgroup: Some(cgroup) };
    let mut end =
        Talker::start(&format!("checked traffic in {}", netns.name()), &End::Checked(options.clone()), start)?;
    end.wait_ready_within(OPEN_WITHIN)?;
    Ok(end)
}

/// Streams of which one end sent something else than the other received.
fn incomplete_streams(server: &Totals, client: &Totals) -> Vec<String> {
    let mut broken = Vec::new();
    for (number, client) in &client.streams {
        let Some(server) = server.streams.get(number) else {
            broken.push(format!("connection {number}: its server's end did not end in order"));
            continue;
        };
        for (from, (sender, receiver)) in [("client", (client, server)), ("server", (server, client))] {
            if !is_complete(sender, receiver) {
                broken.push(format!(
                    "connection {number}: the {from} sent {} bytes with CRC {:08x}, the other end received {} with {:08x}",
                    sender.sent_bytes, sender.sent_crc, receiver.received_bytes, receiver.received_crc
                ));
            }
        }
    }
    broken
}

fn is_complete(sender: &StreamTotals, receiver: &StreamTotals) -> bool {
    (sender.sent_bytes, sender.sent_crc) == (receiver.received_bytes, receiver.received_crc)
}

/// A counter of the two `Tcp:` lines of `/proc/net/snmp`: names, then values.
fn tcp_counter(snmp: &str, name: &str) -> Option<u64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next()?, lines.next()?);
    names.split(' ').zip(values.split(' ')).find(|(candidate, _)| *candidate == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn totals(streams: &[(u32, [u64; 2])]) -> Totals {
        let of = |[sent, received]: [u64; 2]| StreamTotals {
            sent_bytes: sent,
            sent_crc: sent as u32,
            received_bytes: received,
            received_crc: received as u32,
        };
        let streams: BTreeMap<u32, StreamTotals> =
            streams.iter().map(|(number, bytes)| (*number, of(*bytes))).collect();
        Totals { counts: Sample::default(), streams }
    }

    #[test]
    fn a_stream_that_lacks_its_last_byte_is_found_and_so_is_a_connection_that_one_end_lost() {
        let client = totals(&[(0, [10, 20]), (1, [10, 20]), (2, [5, 5])]);
        let server = totals(&[(0, [20, 10]), (1, [20, 9])]);
        let broken = incomplete_streams(&server, &client);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(broken[0].starts_with("connection 1: the client sent 10 bytes"), "{broken:?}");
        assert!(broken[1].starts_with("connection 2:"), "{broken:?}");
    }

    #[test]
    fn shares_add_up() {
        for (total, count) in [(10, 3), (2, 5), (0, 1), (16_000, 16)] {
            assert_eq!((0..count).map(|index| share(total, index, count)).sum::<u32>(), total);
        }
    }

    #[test]
    fn a_counter_is_found_by_its_name() {
        let snmp = "Ip: A\nIp: 1\nTcp: Max EstabResets OutRsts\nTcp: -1 3 4\n";
        assert_eq!(tcp_counter(snmp, "EstabResets"), Some(3));
        assert_eq!(tcp_counter(snmp, "OutRsts"), Some(4));
        assert_eq!(tcp_counter(snmp, "Nothing"), None);
    }
}
