//! A bench that does not end by itself leaves nothing behind, or what it leaves is found.

use crate::host::{Host, eventually};
use crate::leftovers;
use crate::scenario::{Bench, flow};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

/// A bench; a test that fails does not leave it running.
struct Running(Child);

impl Running {
    fn spawn(host: &Host, bench: &Bench) -> Self {
        let args = bench.args();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        Running(host.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid().cast_signed()), signal).unwrap();
    }

    /// Waits for its end; gives its standard error too.
    fn end(&mut self) -> (ExitStatus, String) {
        let mut stderr = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.0.wait().unwrap(), stderr)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.signal(Signal::SIGTERM);
            let _ = self.0.wait();
        }
    }
}

/// A bench that is to end by itself: how, what it said, and what it left.
pub fn run_to_its_end(host: &Host, bench: &Bench) -> (ExitStatus, String, Vec<String>) {
    let mut running = Running::spawn(host, bench);
    let (status, stderr) = running.end();
    (status, stderr, leftovers::of(host, running.pid()))
}

/// A bench of two flows in the middle of a run that would last a minute.
fn start(host: &Host, bench: &Bench) -> Running {
    let mut running = Running::spawn(host, bench);
    let recording = bench.output().join("run-1/recording.parquet.partial.arrows");
    // The recorder writes its first rows once the flows send.
    let has_rows = || std::fs::metadata(&recording).is_ok_and(|file| file.len() > 20_000);
    while !has_rows() {
        if running.0.try_wait().unwrap().is_some() {
            panic!("the bench has ended by itself: {}", running.end().1);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(leftovers::of(host, running.pid()).len() >= 5, "namespaces, cgroup, pins and processes are there");
    running
}

fn two_flows(host: &Host) -> Bench {
    // A name of its own: tests with other bpffs folders run at the same time on the same kernel.
    let alias = format!("as = \"{}\"", host.name());
    // Everything that a run can make on the host: hosts of all kinds, processes in cgroups of both kinds.
    let download = "direction = \"download\"\npath = [\"access\", \"link\"]\nbytes = 50000\nrepeat = \"until-stop\"";
    let hop = "[[hop]]\nname = \"access\"\nrate = \"50Mbit/s\"\ndelay = \"1ms\"\nbuffer = \"50p\"\nduplex = true\n";
    let rest = format!("duplex = true\n{hop}[[udp]]\nname = \"noise\"\nrate = \"1Mbit/s\"\n");
    Bench::new("60s", &(rest + &flow("one", "f-bbrv2", &alias) + &flow("two", "native:reno", download)))
}

fn interrupted_by(signal: Signal) {
    let Some(host) = Host::with_root() else { return };
    let bench = two_flows(&host);
    let mut running = start(&host, &bench);
    running.signal(signal);
    let (status, stderr) = running.end();
    assert_eq!(status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted"), "{stderr}");
    assert_eq!(leftovers::of(&host, running.pid()), Vec::<String>::new());
    assert!(!bench.output().join("result.json").exists(), "no result of half a run");
}

#[test]
fn sigint_in_the_middle_leaves_nothing() {
    interrupted_by(Signal::SIGINT);
}

#[test]
fn sigterm_in_the_middle_leaves_nothing() {
    interrupted_by(Signal::SIGTERM);
}

#[test]
fn clean_removes_what_a_killed_bench_left_and_nothing_of_a_living_one() {
    let Some(host) = Host::with_root() else { return };
    let living_host = Host::new();
    let (bench, other) = (two_flows(&host), two_flows(&living_host));
    let mut living = start(&living_host, &other);
    let mut killed = start(&host, &bench);
    killed.signal(Signal::SIGKILL);
    killed.end();
    let left = || leftovers::of(&host, killed.pid());
    assert!(!left().is_empty(), "a killed bench cannot clean up");

    let told = host.ok(&["status"]);
    assert!(told.contains("of killed benches are left: `ccactl bench clean` removes them"), "{told}");
    let cleaned = host.json(&["bench", "clean", "--json"]);
    assert_eq!(cleaned["policies"], 2, "{cleaned}");
    eventually("everything of the killed bench to go", || left().is_empty());
    assert!(leftovers::of(&living_host, living.pid()).len() >= 5, "the living bench is untouched");

    let again = host.json(&["bench", "clean", "--json"]);
    assert_eq!(again["policies"], 0, "{again}");
    living.signal(Signal::SIGINT);
    assert_eq!(living.end().0.code(), Some(130));
    assert_eq!(leftovers::of(&living_host, living.pid()), Vec::<String>::new());
}

#[test]
fn a_sender_that_fails_is_named_and_leaves_nothing() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("60s", &flow("broken", "native:reno", "command = [\"false\"]"));
    let (status, stderr, left) = run_to_its_end(&host, &bench);
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("flow broken: expected its command"), "{stderr}");
    assert_eq!(left, Vec::<String>::new());
}
