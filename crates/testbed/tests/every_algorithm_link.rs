//! Every algorithm of the registry through the emulated bottleneck: 5 MB at 20 Mbit/s and 20 ms with a buffer of one
//! bandwidth-delay product and a random loss of 0.1 %. As many flows run side by side as the test runner has threads, each
//! with namespaces, devices and an emulator of its own.

use ccactl_abi::{Algorithm, test_every_algorithm};
use ccactl_loader::{Choice, LoadRequest, Loadable, Loader, Paths};
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::Emulated;
use ccactl_testbed::emulator::{EmulatorReport, Troubles, address};
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, getsockopt, setsockopt, socket};
use nix::unistd::geteuid;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

const BYTES: usize = 5_000_000;
/// Most frugal answers to 0.1 % loss, a scavenger's at a low rate included, are done long before; a stalled flow never is.
const AT_MOST: Duration = Duration::from_secs(90);
/// 5 MB at the bottleneck's full rate take 2.1 s: whoever is much faster did not go through it.
const AT_LEAST: Duration = Duration::from_millis(1900);
const SCENARIO: &str = r#"
duration = "10s"
[link]
rate = "20Mbit/s"
base_rtt = "20ms"
buffer = { bdp = 1 }
loss = 0.001
[[flow]]
name = "flow"
algorithm = "native:cubic"
"#;

test_every_algorithm!(moves_5_mb_through_a_lossy_bottleneck);
fn moves_5_mb_through_a_lossy_bottleneck(algorithm: &str) {
    if !has_root() {
        return;
    }
    let registered = Registered::new(Algorithm::by_name(algorithm).expect("a file has a row"));
    let bottleneck = Bottleneck::new();
    let (sender, receiver) = bottleneck.connection(&registered.name);

    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| (&sender).write_all(&vec![7; BYTES]).expect("the window opens in time"));
        receive(&receiver, start);
    });
    let elapsed = start.elapsed();

    let name = algorithm_of(&sender);
    let (report, _) = bottleneck.0.stop().expect("the emulator's thread ends");
    let flow = &report.network.flows[0].counters;
    eprintln!(
        "{algorithm}: {:.2} s, {:.1} Mbit/s, {} packets dropped by the buffer, {} lost at random",
        elapsed.as_secs_f64(),
        BYTES as f64 * 8e-6 / elapsed.as_secs_f64(),
        flow.dropped_full_packets,
        flow.lost_packets,
    );
    assert_eq!(name, registered.name, "the flow kept its algorithm");
    assert!(elapsed >= AT_LEAST, "{elapsed:?} for {BYTES} bytes: not through the bottleneck");
    check(&report);
}

fn check(report: &EmulatorReport) {
    assert!(report.network.flows[0].counters.lost_packets > 0, "none of some 3500 packets was lost at random");
    assert_eq!(report.troubles, Troubles::default());
}

fn receive(mut receiver: &TcpStream, start: Instant) {
    let mut buffer = vec![0; 64 * 1024];
    let mut received = 0;
    while received < BYTES {
        let length = match receiver.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => usize::MAX,
            Err(error) => panic!("{error}"),
        };
        assert_ne!(length, 0, "the connection ended after {received} of {BYTES} bytes");
        received += if length == usize::MAX { 0 } else { length };
        assert!(start.elapsed() < AT_MOST, "{received} of {BYTES} bytes after {AT_MOST:?}");
    }
}

fn algorithm_of(stream: &TcpStream) -> String {
    getsockopt(stream, TcpCongestion).expect("it is TCP").to_string_lossy().trim_end_matches('\0').to_owned()
}

/// In CI a missing right is a failure.
fn has_root() -> bool {
    if geteuid().is_root() {
        return true;
    }
    assert_ne!(env::var("CI").as_deref(), Ok("true"), "CI runs the testbed tests, so it needs root");
    eprintln!("not run: needs root");
    false
}

/// An algorithm that the kernel knows under a name of this test's own, for as long as this lives. Its cgroup stays empty:
/// the flow chooses for itself.
struct Registered {
    name: String,
    loader: Loader,
    cgroup: PathBuf,
}

impl Registered {
    fn new(algorithm: &'static Algorithm) -> Self {
        let id = RunId::new();
        let tag = id.to_string().replace('-', "_");
        let serial = tag.rsplit('_').next().expect("an id ends with its serial");
        let name = format!("l{:x}_{serial}", std::process::id());
        let paths = Paths { bpffs: format!("/sys/fs/bpf/ccactl-test-{tag}").into(), ..Paths::default() };
        let loader = Loader::with_paths(paths).unwrap_or_else(|error| panic!("{error}"));
        let cgroup = loader.mount().path().join(format!("{PREFIX}-test-{tag}"));
        let registered = Self { name, loader, cgroup };
        let choice = Choice::from(Loadable::new(algorithm, Some(&registered.name)).unwrap());
        let mut set = algorithm.settings_of_any_kernel().iter();
        let choice = set.try_fold(choice, |choice, (name, value)| choice.with(name, value)).unwrap();
        let request = LoadRequest::new(choice, &registered.cgroup).create(true);
        registered.loader.load(&request).unwrap_or_else(|error| panic!("{error}"));
        registered
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Err(error) = self.loader.unload_all() {
            eprintln!("clean-up: {error}");
        }
        if let Err(error) = fs::remove_dir(&self.cgroup) {
            eprintln!("clean-up: {}: {error}", self.cgroup.display());
        }
    }
}

/// Two hosts with the emulated link between them.
struct Bottleneck(Emulated);

impl Bottleneck {
    fn new() -> Self {
        let scenario = Scenario::parse("test.toml", SCENARIO).unwrap_or_else(|error| panic!("{error}"));
        Self(Emulated::create(RunId::new(), &scenario, 1).unwrap_or_else(|error| panic!("{error}")))
    }

    /// A connection whose sender chose its algorithm before the SYN, as one that negotiates ECN must.
    fn connection(&self, algorithm: &str) -> (TcpStream, TcpStream) {
        let listener = self.0.server().run(|| TcpListener::bind((address::SERVER, 0))).expect("a free port");
        // A listener of another algorithm would refuse ECN to those that depend on it.
        setsockopt(&listener, TcpCongestion, &OsString::from(algorithm)).expect("it is registered");
        let port = listener.local_addr().expect("it is bound").port();
        let sender = self.0.host(0).run(|| {
            let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
            setsockopt(&socket, TcpCongestion, &OsString::from(algorithm))?;
            connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(address::SERVER, port)))?;
            Ok(TcpStream::from(socket))
        });
        let sender = sender.expect("the link is up");
        let (receiver, _) = listener.accept().expect("connected above");
        // Short, so that the deadline of the whole transfer is looked at.
        receiver.set_read_timeout(Some(Duration::from_secs(1))).expect("not zero");
        sender.set_write_timeout(Some(AT_MOST)).expect("not zero");
        (sender, receiver)
    }
}
