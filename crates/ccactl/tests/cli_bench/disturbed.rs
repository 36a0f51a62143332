//! The validity gate on purpose. A run during which something with more priority than the emulator holds all CPUs is told apart, tried
//! again, and in no mean. So is one whose sender does not run. An emulator of a fast link has CPU time reserved.

use crate::figures;
use crate::host::Host;
use crate::scenario::{Bench, flow};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Above the emulator's 40 and below the kernel's own threads.
const PRIORITY: libc::c_int = 45;
/// So long in every period, on all CPUs at once: a tenth of all packets are late by up to this, where the limit is 1 ms for the
/// hundredth. What the kernel leaves to real-time priorities (0.95 s of each second) is not touched.
const BURST: Duration = Duration::from_millis(15);
const PERIOD: Duration = Duration::from_millis(150);
/// Whatever happens to the bench.
const AT_MOST: Duration = Duration::from_secs(40);

/// Threads that hold every CPU in bursts; dropped, they end.
struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    /// Until `done` says that it is enough.
    fn start(done: impl Fn() -> bool + Clone + Send + 'static) -> Hogs {
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().unwrap().get();
        let hog = |cpu| {
            let (stop, done) = (Arc::clone(&stop), done.clone());
            std::thread::spawn(move || {
                raise(cpu);
                let started = Instant::now();
                while !stop.load(Ordering::Relaxed) && !done() && started.elapsed() < AT_MOST {
                    burst();
                }
            })
        };
        let threads = (0..cpus).map(hog).collect();
        Hogs { stop, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking(), "a hog could not be raised");
        }
    }
}

/// Real-time priority on one CPU for the calling thread.
fn raise(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu).unwrap();
    sched_setaffinity(Pid::from_raw(0), &cpus).unwrap();
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the call reads one sched_param, which outlives it; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// Sleeps until a period begins, which all threads find by the same clock, and holds the CPU for a burst.
fn burst() {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let into = Duration::from_nanos((since.as_nanos() % PERIOD.as_nanos()) as u64);
    std::thread::sleep(PERIOD - into);
    let began = Instant::now();
    while began.elapsed() < BURST {
        std::hint::spin_loop();
    }
}

fn is_second_attempt(output: &Path) -> bool {
    output.join("run-1-attempt-2").exists()
}

#[test]
fn a_run_beside_something_with_more_priority_is_rejected_tried_again_and_in_no_mean() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("2s", &flow("only", "native:reno", ""));
    let output = bench.output();
    let hogs = Hogs::start({
        let output = output.clone();
        move || is_second_attempt(&output)
    });
    let (result, process, left) = figures::run_with(&host, &bench, &["--attempts", "2"]);
    drop(hogs);
    assert_eq!(left, Vec::<String>::new());
    let runs = result["runs"].as_array().unwrap();
    let (disturbed, again) = (&runs[0], &runs[1]);
    assert_eq!((runs.len(), &disturbed["valid"]), (2, &Value::Bool(false)), "{}", disturbed["problems"]);
    let problems = disturbed["problems"].as_array().unwrap();
    let is_lateness = |problem: &Value| problem.as_str().unwrap().starts_with("lateness p99 ");
    assert!(problems.iter().any(is_lateness), "{problems:?}");
    assert_eq!(disturbed["link"]["reserved"], false);
    assert!(lateness_p99(disturbed) > BURST / 3, "{}", disturbed["link"]["lateness"]);

    // The machine may be busy by itself: then the second attempt does not count either.
    if again["valid"] == Value::Bool(false) {
        assert_eq!((&result["aggregate"], process.status.code()), (&Value::Null, Some(1)));
        return;
    }
    let sum = &result["aggregate"];
    assert_eq!((&sum["valid_runs"], &sum["invalid_runs"]), (&1.into(), &1.into()));
    assert_eq!(sum["flows"][0]["goodput_bps"]["mean"], again["flows"][0]["metrics"]["goodput_bps"]);
    assert_eq!(process.status.code(), Some(0));
}

/// What `/proc/PID/task/TID/stat` calls `SCHED_FIFO` and `SCHED_DEADLINE`.
const FIFO: u32 = 1;
const DEADLINE: u32 = 6;

/// How the kernel schedules the emulator's thread of the bench that writes to `output`, once that is no ordinary thread.
fn policy_of_the_emulator(output: &Path) -> u32 {
    let deadline = Instant::now() + AT_MOST;
    while Instant::now() < deadline {
        let policies = threads_named("ccactl-emulator", output);
        if let Some(policy) = policies.into_iter().find(|policy| *policy != 0) {
            return policy;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no emulator with a policy of its own writes to {}", output.display());
}

/// Scheduling policies of the threads with this name in processes that have `argument` on their command line.
fn threads_named(name: &str, argument: &Path) -> Vec<u32> {
    let argument = argument.to_str().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter(|process| {
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(argument)
    });
    let threads = processes.filter_map(|process| std::fs::read_dir(process.path().join("task")).ok()).flatten();
    let stats = threads.flatten().filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
    stats.filter_map(|stat| policy_in(&stat, name)).collect()
}

/// Field 41 of proc_pid_stat(5), where the name in parentheses is field 2.
fn policy_in(stat: &str, name: &str) -> Option<u32> {
    let (begin, fields) = stat.rsplit_once(')')?;
    let of_name = begin.split_once('(')?.1 == name;
    of_name.then(|| fields.split_whitespace().nth(41 - 3)?.parse().ok()).flatten()
}

/// What the kernel says of the thread is what the result says. That `SCHED_DEADLINE` comes before any fixed priority, the hogs'
/// too, is the kernel's own promise. How late packets are beside other load is measured in docs/performance.md: a hypervisor that
/// takes the CPUs away makes packets late whatever the policy, so lateness cannot decide a test.
#[test]
fn an_emulator_of_a_fast_link_has_cpu_time_reserved_or_says_that_it_has_not() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("2s", &flow("only", "native:reno", ""));
    let output = bench.output();
    let (policy, (result, process, left)) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| policy_of_the_emulator(&output));
        let ended = figures::run_with(&host, &bench, &["--attempts", "1", "--set", "link.rate=250Mbit/s"]);
        (looking.join().unwrap(), ended)
    });
    assert_eq!(left, Vec::<String>::new());
    let reserved = figures::last_run(&result)["link"]["reserved"].as_bool().unwrap();
    let stderr = String::from_utf8_lossy(&process.stderr);
    assert_eq!(policy, if reserved { DEADLINE } else { FIFO }, "{stderr}");
    // Two other runs on the machine may have reserved it all.
    assert_eq!(reserved, !stderr.contains("no CPU time reserved"), "{stderr}");
}

fn lateness_p99(run: &Value) -> Duration {
    Duration::from_secs_f64(run["link"]["lateness"]["p99_us"].as_f64().unwrap() / 1e6)
}

/// The only process of the cgroup of a flow, once it is there.
fn sender_of(flow: &str) -> Option<Pid> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let of_flow = |pid: &i32| {
        let cgroups = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        cgroups.lines().any(|line| line.ends_with(&format!("/{flow}")))
    };
    pids.find(of_flow).map(Pid::from_raw)
}

/// Stops a process for a while, as a machine does that has no CPU for it.
fn starve(flow: &str) {
    const FULL_SPEED: Duration = Duration::from_millis(1200);
    const STARVED: Duration = Duration::from_millis(1500);
    let deadline = Instant::now() + AT_MOST;
    let sender = loop {
        match sender_of(flow) {
            Some(pid) => break pid,
            None => assert!(Instant::now() < deadline, "no sender of {flow}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    std::thread::sleep(FULL_SPEED);
    kill(sender, Signal::SIGSTOP).unwrap();
    std::thread::sleep(STARVED);
    kill(sender, Signal::SIGCONT).unwrap();
}

#[test]
fn a_run_whose_sender_does_not_run_is_rejected() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    let bench = Bench::new("4s", &flow(&name, "native:reno", ""));
    let (result, _, left) = std::thread::scope(|scope| {
        let starving = scope.spawn(|| starve(&name));
        let ended = figures::run_with(&host, &bench, &["--attempts", "1"]);
        starving.join().unwrap();
        ended
    });
    assert_eq!(left, Vec::<String>::new());
    let run = figures::last_run(&result);
    // The socket bridges a part of the time.
    let empty = run["flows"][0]["socket_empty"].as_f64().unwrap();
    assert!((0.05..0.5).contains(&empty), "{empty}");
    let problems: Vec<&str> = run["problems"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    let expected = format!("the sending process of flow {name} left the socket empty");
    assert!(problems.iter().any(|problem| problem.contains(&expected)), "{problems:?}");
    assert_eq!((&run["valid"], &result["aggregate"]), (&Value::Bool(false), &Value::Null));
}
