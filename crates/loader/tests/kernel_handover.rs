//! A live connection whose algorithm is changed, as `setsockopt(TCP_CONGESTION)` and a swap do it. What the old one leaves
//! behind is looked at: pacing, cwnd, ssthresh, published state. Data arrives whatever the connection is doing.

mod common;

use bytemuck::Zeroable;
use ccactl_abi::layout::{FLAG_TRACE, Sample, Trace};
use ccactl_abi::{ALGORITHMS, Algorithm, Family, test_every_algorithm};
use ccactl_host::state::SHARED_MAPS;
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, PATIENCE, algorithm_of, ask_for_ecn, choose, in_own_netns, one_way, tcp_info};
use common::state::{INFINITE_SSTHRESH, PACING_NEEDED, PACING_NONE, Sockets, State};
use common::{Host, registered};
use libbpf_rs::{MapCore, MapFlags, MapHandle, ObjectBuilder, RingBufferBuilder};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
use std::cell::RefCell;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const MEGABYTE: usize = 1_000_000;
/// The kernel's own algorithm to change to and back.
const NATIVE: &str = "cubic";

/// States of include/net/tcp_states.h, and TCP_CA_Recovery.
const SYN_SENT: u32 = 2;
const FIN_WAIT1: u32 = 4;
const CLOSE_WAIT: u32 = 8;
const CA_RECOVERY: u8 = 3;
/// `enum bbr2_presence` of bpf/include/bbr2_state.bpf.h: `init` ran and has its memory.
const BBR2_RUNNING: u64 = 1;

/// Whether the algorithm turns the kernel's pacing on.
fn paces(algorithm: &Algorithm) -> bool {
    algorithm.family == Family::Model || ["copa", "prague", "new-vegas"].contains(&algorithm.name)
}

/// An algorithm of the registry, loaded, and an iterator over sockets.
struct Bench {
    host: Host,
    algorithm: &'static Algorithm,
    name: String,
    sockets: Sockets,
}

impl Bench {
    fn of(algorithm: &str) -> Option<Self> {
        let (host, algorithm) = Host::for_algorithm(algorithm)?;
        let name = host.load_into("a", algorithm);
        Some(Self { host, algorithm, name, sockets: Sockets::load() })
    }

    /// Runs in a network namespace of its own, outside of the cgroup: only what the test chooses is at work.
    fn run(&self, action: impl FnOnce() + Send) {
        in_own_netns(|| {
            if self.algorithm.family == Family::Ecn {
                ask_for_ecn();
            }
            action();
        });
    }

    /// What a socket must look like right after it has come to this algorithm or to the kernel's, whatever was before.
    fn assert_sane(&self, state: &State, name: &str) {
        let paced = name == self.name && paces(self.algorithm);
        // F-BBRv3 gives pacing back while it competes, which a look some round trips late sees.
        let gave_back = self.algorithm.name == "f-bbrv3"
            && state.first_of_priv == BBR2_RUNNING
            && state.pacing_status == PACING_NONE;
        let expected = if paced && !gave_back { PACING_NEEDED } else { PACING_NONE };
        assert_eq!(state.pacing_status, expected, "{name}: {state:?}");
        assert!((1..1 << 24).contains(&state.cwnd_pkts), "{name}: {state:?}");
        let ssthresh = state.ssthresh_pkts;
        assert!((2..1 << 24).contains(&ssthresh) || ssthresh == INFINITE_SSTHRESH, "{name}: {state:?}");
    }

    /// Changes the algorithm and looks at the socket right after it.
    fn change(&self, end: &TcpStream, name: &str) -> State {
        choose(end, name);
        assert_eq!(algorithm_of(end), name);
        let state = self.sockets.of(end);
        self.assert_sane(&state, name);
        state
    }
}

/// A connection whose sender has the kernel's own algorithm.
fn connection() -> Connection {
    let connection = Connection::over(LOOPBACK[0]);
    choose(&connection.active, NATIVE);
    connection
}

/// Does something while another thread looks at the window all the time: it must never be 0.
fn watched<T>(end: &TcpStream, action: impl FnOnce() -> T) -> T {
    struct Done<'a>(&'a AtomicBool);
    impl std::ops::Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(tcp_info(end).tcpi_snd_cwnd >= 1);
                thread::sleep(Duration::from_micros(500));
            }
        });
        let _done = Done(&done);
        action()
    })
}

/// Moves bytes, and meanwhile does something at the sender.
fn sending<T>(connection: &Connection, bytes: usize, action: impl FnOnce(&TcpStream) -> T) -> T {
    thread::scope(|scope| {
        let transfer = scope.spawn(|| one_way(&connection.active, &connection.passive, bytes));
        thread::sleep(Duration::from_millis(2));
        let result = action(&connection.active);
        transfer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        result
    })
}

test_every_algorithm!(changes_to_cubic_and_back_idle_and_under_way);
fn changes_to_cubic_and_back_idle_and_under_way(algorithm: &str) {
    let Some(bench) = Bench::of(algorithm) else { return };
    bench.run(|| {
        let connection = connection();
        let end = &connection.active;
        watched(end, || {
            one_way(end, &connection.passive, 2 * MEGABYTE);
            for _ in 0..2 {
                // Idle: no ACK comes to refresh what a predecessor has left, so it must be right at once.
                bench.change(end, &bench.name);
                one_way(end, &connection.passive, 3 * MEGABYTE);
                let state = bench.change(end, NATIVE);
                assert_eq!(state.pacing_rate_bytes_per_s, state.kernel_rate(), "{state:?}");
                one_way(end, &connection.passive, 3 * MEGABYTE);
            }
            for _ in 0..3 {
                sending(&connection, 5 * MEGABYTE, |end| bench.change(end, &bench.name));
                sending(&connection, 5 * MEGABYTE, |end| bench.change(end, NATIVE));
            }
        });
        // The other direction has the other end's algorithm, which these changes must not disturb.
        one_way(&connection.passive, end, 2 * MEGABYTE);
    });
}

/// Of the algorithms with a model: its window is a bound of twice the BDP, in which nobody should go on with slow start.
#[test]
fn a_model_leaves_slow_start_behind_once_the_pipe_was_full() {
    for algorithm in ALGORITHMS.iter().filter(|algorithm| algorithm.family == Family::Model) {
        if let Some(bench) = Bench::of(algorithm.name) {
            fill_the_pipe_and_change(&bench);
        }
    }
}

fn fill_the_pipe_and_change(bench: &Bench) {
    bench.run(|| {
        // Bare loopback has no rate that a model could find: how fast it is depends on who else is busy.
        let bottleneck = "qdisc add dev lo root tbf rate 400mbit burst 256kb latency 20ms";
        assert!(Command::new("tc").args(bottleneck.split(' ')).status().unwrap().success(), "tc {bottleneck}");
        let connection = connection();
        let end = &connection.active;
        for _ in 0..2 {
            let state = bench.change(end, &bench.name);
            assert_eq!(state.ssthresh_pkts, INFINITE_SSTHRESH, "looks for the rate anew: {state:?}");
            // It writes ssthresh when it begins to drain.
            let mut rounds = 0;
            while bench.sockets.of(end).ssthresh_pkts == INFINITE_SSTHRESH {
                one_way(end, &connection.passive, 5 * MEGABYTE);
                rounds += 1;
                assert!(rounds < 40, "{:?}", bench.sockets.of(end));
            }
            let before = bench.sockets.of(end);
            let after = bench.change(end, NATIVE);
            assert!(after.ssthresh_pkts < INFINITE_SSTHRESH && after.cwnd_pkts <= before.cwnd_pkts, "{after:?}");
            assert!(after.cwnd_pkts >= after.ssthresh_pkts, "not in slow start: {after:?}");
            assert_eq!(after.pacing_rate_bytes_per_s, after.kernel_rate(), "{after:?}");
            one_way(end, &connection.passive, 5 * MEGABYTE);
        }
    });
}

test_every_algorithm!(settles_what_native_bbr_has_left);
fn settles_what_native_bbr_has_left(algorithm: &str) {
    let Some(bench) = Bench::of(algorithm) else { return };
    if !registered().iter().any(|name| name == "bbr") {
        eprintln!("not run: this kernel has no bbr of its own");
        return;
    }
    bench.run(|| {
        let connection = connection();
        let end = &connection.active;
        choose(end, "bbr");
        one_way(end, &connection.passive, 20 * MEGABYTE);
        let before = bench.sockets.of(end);
        assert_eq!(before.pacing_status, PACING_NEEDED, "native bbr paces");
        let after = bench.change(end, &bench.name);
        assert!(after.cwnd_pkts <= before.cwnd_pkts, "{before:?} {after:?}");
        if !paces(bench.algorithm) {
            assert_eq!(after.pacing_rate_bytes_per_s, after.kernel_rate(), "{after:?}");
        }
        watched(end, || one_way(end, &connection.passive, 5 * MEGABYTE));
        // And under way.
        sending(&connection, 10 * MEGABYTE, |end| choose(end, "bbr"));
        sending(&connection, 10 * MEGABYTE, |end| bench.change(end, &bench.name));
    });
}

#[test]
/// It changes the algorithm itself, from within its own callback.
fn prague_gives_pacing_back_where_there_is_no_ecn() {
    let Some(bench) = Bench::of("prague") else { return };
    // Not Bench::run(), which asks for ECN.
    in_own_netns(|| {
        let connection = connection();
        let end = &connection.active;
        one_way(end, &connection.passive, MEGABYTE);
        bench.change(end, &bench.name);
        one_way(end, &connection.passive, MEGABYTE);
        assert_eq!(algorithm_of(end), "reno");
        bench.assert_sane(&bench.sockets.of(end), "reno");
    });
}

test_every_algorithm!(changes_while_losses_are_recovered);
fn changes_while_losses_are_recovered(algorithm: &str) {
    // Each in both directions; timeouts, which come with them, do not count.
    const RECOVERIES: usize = 4;
    let recoveries = |states: &[u8]| states.iter().filter(|state| **state == CA_RECOVERY).count();
    let Some(bench) = Bench::of(algorithm) else { return };
    bench.run(|| {
        let connection = connection();
        one_way(&connection.active, &connection.passive, MEGABYTE);
        let loss = Loss::start(Drop::OneIn(6));
        let seen = sending(&connection, 30 * MEGABYTE, |end| {
            let deadline = Instant::now() + PATIENCE;
            let mut seen = Vec::new();
            let mut next = [bench.name.as_str(), NATIVE].into_iter().cycle();
            while recoveries(&seen) < RECOVERIES && Instant::now() < deadline {
                let info = tcp_info(end);
                assert!(info.tcpi_snd_cwnd >= 1);
                if info.tcpi_ca_state >= CA_RECOVERY {
                    bench.change(end, next.next().expect("endless"));
                    seen.push(info.tcpi_ca_state);
                    // A timeout lasts.
                    let pause_ms = if info.tcpi_ca_state == CA_RECOVERY { 2 } else { 20 };
                    thread::sleep(Duration::from_millis(pause_ms));
                }
            }
            std::mem::drop(loss);
            seen
        });
        eprintln!("{}: states at the changes {seen:?}", bench.algorithm.name);
        assert!(recoveries(&seen) >= RECOVERIES, "too few changes in recovery: {seen:?}");
        watched(&connection.active, || one_way(&connection.active, &connection.passive, 2 * MEGABYTE));
    });
}

test_every_algorithm!(changes_while_the_application_sends_little);
fn changes_while_the_application_sends_little(algorithm: &str) {
    const CHUNK: usize = 2000;
    let Some(bench) = Bench::of(algorithm) else { return };
    bench.run(|| {
        let connection = connection();
        let end = &connection.active;
        watched(end, || {
            for step in 0..90 {
                one_way(end, &connection.passive, CHUNK);
                match step % 30 {
                    10 => drop(bench.change(end, &bench.name)),
                    20 => {
                        let state = bench.change(end, NATIVE);
                        assert_eq!(state.pacing_rate_bytes_per_s, state.kernel_rate(), "{state:?}");
                    }
                    _ => thread::sleep(Duration::from_millis(1)),
                }
            }
            // What was too little to learn from does not hold the next transfer back.
            one_way(end, &connection.passive, 5 * MEGABYTE);
        });
    });
}

/// A connection of which only the SYN has left: its answers are lost until the value of the second member goes.
fn half_open() -> (TcpStream, Loss, TcpListener) {
    let listener = TcpListener::bind((LOOPBACK[0], 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let loss = Loss::start(Drop::FromPort(port));
    let opener = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_NONBLOCK, None).unwrap();
    let to = SockaddrIn::from(std::net::SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
    assert_eq!(connect(opener.as_raw_fd(), &to), Err(nix::Error::EINPROGRESS));
    (TcpStream::from(opener), loss, listener)
}

test_every_algorithm!(changes_before_the_connection_is_established);
fn changes_before_the_connection_is_established(algorithm: &str) {
    let Some(bench) = Bench::of(algorithm) else { return };
    bench.run(|| {
        let (active, loss, listener) = half_open();
        let port = active.local_addr().unwrap().port();
        let remote = listener.local_addr().unwrap().port();
        for name in [NATIVE, &bench.name, NATIVE, &bench.name] {
            choose(&active, name);
            let state = bench.sockets.by_ports((port, remote)).unwrap();
            assert_eq!(state.state, SYN_SENT);
            bench.assert_sane(&state, name);
        }
        std::mem::drop(loss);
        let (passive, _) = listener.accept().unwrap();
        // The SYN-ACK comes with the repetition of the SYN, after a second.
        let deadline = Instant::now() + PATIENCE;
        while active.peer_addr().is_err() {
            assert!(Instant::now() < deadline, "the connection is not established");
            thread::sleep(Duration::from_millis(5));
        }
        active.set_nonblocking(false).unwrap();
        let connection = Connection { active, passive, listener };
        connection.move_both_ways(3 * MEGABYTE);
        assert_eq!(algorithm_of(&connection.active), bench.name);
        bench.assert_sane(&bench.sockets.of(&connection.active), &bench.name);
        let state = bench.change(&connection.active, NATIVE);
        assert_eq!(state.pacing_rate_bytes_per_s, state.kernel_rate(), "{state:?}");
    });
}

test_every_algorithm!(changes_while_the_connection_is_being_closed);
fn changes_while_the_connection_is_being_closed(algorithm: &str) {
    let Some(bench) = Bench::of(algorithm) else { return };
    bench.run(|| {
        let change = |end: &TcpStream, state: u32| {
            for name in [bench.name.as_str(), NATIVE, &bench.name] {
                assert_eq!(bench.change(end, name).state, state);
            }
        };
        // The peer has closed its half: this one may go on sending.
        let connection = connection();
        one_way(&connection.active, &connection.passive, MEGABYTE);
        connection.passive.shutdown(Shutdown::Write).unwrap();
        assert_eq!((&connection.active).read(&mut [0; 1]).unwrap(), 0, "the end of what the peer sends");
        change(&connection.active, CLOSE_WAIT);
        one_way(&connection.active, &connection.passive, 3 * MEGABYTE);

        // This half is closed, but its data and the FIN are not acknowledged yet.
        let connection = self::connection();
        one_way(&connection.active, &connection.passive, MEGABYTE);
        let loss = Loss::start(Drop::FromPort(connection.passive.local_addr().unwrap().port()));
        let data = vec![7; 100_000];
        (&connection.active).write_all(&data).unwrap();
        connection.active.shutdown(Shutdown::Write).unwrap();
        change(&connection.active, FIN_WAIT1);
        std::mem::drop(loss);
        let mut received = Vec::new();
        (&connection.passive).read_to_end(&mut received).unwrap();
        assert!(received == data, "{} bytes arrived of {}", received.len(), data.len());
        one_way(&connection.passive, &connection.active, MEGABYTE);
    });
}

test_every_algorithm!(what_a_predecessor_published_is_not_taken_for_its_successors);
fn what_a_predecessor_published_is_not_taken_for_its_successors(algorithm: &str) {
    let Some(bench) = Bench::of(algorithm) else { return };
    let traces = MapHandle::from_pinned_path(bench.host.loader.paths().bpffs.join("cca_trace_map")).unwrap();
    bench.run(|| {
        let connection = connection();
        let end = &connection.active;
        let key = end.as_raw_fd().to_ne_bytes();
        let trace = || -> Trace {
            bytemuck::pod_read_unaligned(&traces.lookup(&key, MapFlags::ANY).unwrap().expect("a recorder made it"))
        };
        // A recorder has been at work, and a predecessor has filled every member.
        traces.update(&key, &[0xff; size_of::<Trace>()], MapFlags::ANY).unwrap();
        bench.change(end, &bench.name);
        assert_eq!(trace(), bytemuck::Zeroable::zeroed(), "cleared by init");
        one_way(end, &connection.passive, 3 * MEGABYTE);
        let published = trace();
        assert!(published.updates > 0, "{published:?}");
        assert_eq!(published.publisher, bench.sockets.of(end).ops as u32);
        // The kernel's own publishes nothing: what is there must not be read as its state.
        let state = bench.change(end, NATIVE);
        assert_eq!(trace(), published);
        assert_ne!(published.publisher, state.ops as u32);
        // And back: nothing of the first time.
        bench.change(end, &bench.name);
        assert_eq!(trace().updates, 0);
    });
}

/// One sample of the sender: which algorithm it had, and the state that the row claims for it.
#[derive(Clone, Copy)]
struct Seen {
    algorithm: [u8; 16],
    trace: Option<Trace>,
}

/// Runs something with the recorder's own program at work, and returns what it saw of senders to this port.
fn recorded(bpffs: &Path, port: u16, action: impl FnOnce()) -> Vec<Seen> {
    let mut object = ObjectBuilder::default().open_memory(ccactl_abi::objects::COLLECT).unwrap();
    for name in SHARED_MAPS {
        let mut map = object.maps_mut().find(|map| map.name() == name).unwrap();
        map.set_pin_path(bpffs.join(name)).unwrap();
    }
    // Of the recorder's programs the one whose rows are looked at; not every kernel takes them all.
    for mut program in object.progs_mut() {
        program.set_autoload(program.name() == "on_segment");
    }
    let object = object.load().unwrap();
    let program = object.progs_mut().find(|program| program.name() == "on_segment").unwrap();
    let link = program.attach().unwrap();
    action();
    drop(link);

    let netns = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let seen = RefCell::new(Vec::new());
    let rows = object.maps().find(|map| map.name() == "rows").unwrap();
    let mut ring = RingBufferBuilder::new();
    ring.add(&rows, |bytes| {
        // A row without a trace ends before it.
        let mut row = Sample::zeroed();
        bytemuck::bytes_of_mut(&mut row)[..bytes.len()].copy_from_slice(bytes);
        if u64::from(row.netns) == netns && row.dport == port && row.event == 0 {
            let trace = (row.flags & FLAG_TRACE != 0).then_some(row.trace);
            seen.borrow_mut().push(Seen { algorithm: row.algorithm, trace });
        }
        0
    })
    .unwrap();
    ring.build().unwrap().consume().unwrap();
    seen.into_inner()
}

test_every_algorithm!(a_recording_shows_the_state_of_the_algorithm_that_its_row_names);
fn a_recording_shows_the_state_of_the_algorithm_that_its_row_names(algorithm: &str) {
    let Some(bench) = Bench::of(algorithm) else { return };
    bench.run(|| {
        let connection = connection();
        let end = &connection.active;
        let port = connection.listener.local_addr().unwrap().port();
        let seen = recorded(&bench.host.loader.paths().bpffs, port, || {
            for name in [bench.name.as_str(), NATIVE, &bench.name] {
                bench.change(end, name);
                one_way(end, &connection.passive, 3 * MEGABYTE);
            }
        });
        let of = |name: &str| -> Vec<_> {
            seen.iter().filter(|row| row.algorithm.split(|byte| *byte == 0).next() == Some(name.as_bytes())).collect()
        };
        let (ours, native) = (of(&bench.name), of(NATIVE));
        assert!(
            !ours.is_empty() && !native.is_empty(),
            "{} rows of ours, {} of the kernel's",
            ours.len(),
            native.len()
        );
        assert!(ours.iter().any(|row| row.trace.is_some()), "the algorithm publishes");
        assert!(native.iter().all(|row| row.trace.is_none()), "the kernel's has no state to show");
    });
}
