//! `apply --watch` and what another hand does to the cgroups of its file. The tests wait for its lines, whenever they come.

use crate::fleet::Fleet;
use crate::host::eventually;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A service that looks often, and what it prints.
struct Service {
    child: Child,
    lines: Receiver<Value>,
}

impl Service {
    /// It is up: the first apply was told.
    fn start(fleet: &Fleet, args: &[&str]) -> Self {
        let path = fleet.path();
        let all = [&["apply", "--watch", "--json", "--every", "100ms", path.to_str().unwrap()], args].concat();
        let mut command = fleet.host.command(&all);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = send.send(serde_json::from_str(&line).unwrap());
            }
        });
        let service = Self { child, lines };
        assert!(service.line()["cgroups"].is_array());
        service
    }

    fn line(&self) -> Value {
        self.lines.recv_timeout(PATIENCE).expect("a line in time")
    }

    /// The one row of the next line, which has to be about drift.
    #[track_caller]
    fn drift(&self) -> Value {
        let line = self.line();
        let rows = line["drift"].as_array().unwrap_or_else(|| panic!("{line}"));
        assert_eq!(rows.len(), 1, "{line}");
        rows[0].clone()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// Ends it: nothing else was said, and no complaint.
    fn end(self) {
        assert_eq!(self.stderr_at_the_end(), "");
    }

    /// Ends it: nothing else was said.
    fn stderr_at_the_end(mut self) -> String {
        self.signal(Signal::SIGTERM);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(self.lines.iter().collect::<Vec<_>>(), Vec::<Value>::new());
        stderr
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn mended(fleet: &Fleet, cgroup: &str) -> Value {
    let rows = fleet.host.policies();
    let row = rows.as_array().unwrap().iter().find(|row| row["cgroup"] == fleet.cgroup(cgroup).as_str());
    row.map_or(Value::Null, |row| row["mended"].clone())
}

#[test]
fn each_kind_of_foreign_change_is_put_back_told_and_counted() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    fleet.write(&(fleet.table("a", "reno", "a", "") + &fleet.table("b", "reno", "b", "")));
    let service = Service::start(&fleet, &[]);
    let (cgroup, other, name) = (fleet.cgroup("a"), fleet.name("o"), fleet.name("a"));
    let id = nix::sys::stat::stat(&fleet.directory("a")).unwrap().st_ino;
    let pins = fleet.host.bpffs();
    let ours = format!("{name} (reno)");
    let changes: [(&dyn Fn(), String); 5] = [
        (&|| drop(fleet.host.ok(&["unload", "--cgroup", &cgroup])), "no policy".to_owned()),
        (&|| drop(fleet.host.ok(&["load", "cubic", "--cgroup", &cgroup, "--as", &other])), format!("{other} (cubic)")),
        (
            &|| drop(fleet.host.ok(&["swap", "reno", "--cgroup", &cgroup, "--as", &name, "--enforce"])),
            format!("{ours}, enforced"),
        ),
        (&|| fs::remove_file(pins.join(format!("cgroups/{id}/link"))).unwrap(), format!("{ours}, detached")),
        (&|| fs::remove_dir_all(pins.join("algorithms").join(&name)).unwrap(), format!("{name}, unregistered")),
    ];
    for (times, (change, found)) in (1..).zip(changes) {
        change();
        let line = service.line();
        let rows = line["drift"].as_array().unwrap_or_else(|| panic!("{line}"));
        let row = rows.iter().find(|row| row["cgroup"] == cgroup.as_str()).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((row["found"].as_str(), row["wanted"].as_str()), (Some(&*found), Some(&*ours)), "{line}");
        assert_eq!((row["result"].as_str(), row["mended"].as_u64()), (Some("put-back"), Some(times)), "{line}");
        assert!(fleet.is_active("a", "a"), "{found}");
        assert_eq!(mended(&fleet, "a"), times, "{found}");
    }
    assert_eq!(mended(&fleet, "b"), 0);
    assert_eq!(shown_by_the_exporter(&fleet, &cgroup).as_deref(), Some("5"));
    // The programs go on using the map of all policies, so nothing has changed but that nobody else finds it.
    fs::remove_file(pins.join("policies")).unwrap();
    eventually("the pin is put back", || pins.join("policies").exists());
    let told = service.stderr_at_the_end();
    assert!(told.contains("policies: it was put back"), "{told}");

    // The number outlives the service.
    let service = Service::start(&fleet, &[]);
    fleet.host.ok(&["unload", "--cgroup", &fleet.cgroup("b")]);
    assert_eq!(service.drift()["mended"], 1);
    fs::remove_file(pins.join(format!("cgroups/{id}/link"))).unwrap();
    assert_eq!(service.drift()["mended"], 6);
    service.end();
}

/// Value of `ccactl_policy_mended_total` of a cgroup.
fn shown_by_the_exporter(fleet: &Fleet, cgroup: &str) -> Option<String> {
    let mut command = fleet.host.command(&["exporter", "--listen", "127.0.0.1:0"]);
    let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(process.stderr.take().unwrap()).lines();
    let address = said.find_map(|line| {
        let line = line.unwrap();
        Some(line.strip_prefix("metrics on http://")?.strip_suffix("/metrics")?.to_owned())
    });
    let mut stream = TcpStream::connect(address.unwrap()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let label = format!("cgroup=\"{cgroup}\"");
    let line = page.lines().find(|line| line.starts_with("ccactl_policy_mended_total{") && line.contains(&label))?;
    Some(line.rsplit(' ').next().unwrap().to_owned())
}

#[test]
fn drift_that_is_to_be_left_alone_is_told_once_and_stays_until_somebody_says_so() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    let third = fleet.table("c", "reno", "c", "");
    fleet.write(&(fleet.table("a", "reno", "a", "") + &fleet.table("b", "reno", "b", "") + &third));
    let service = Service::start(&fleet, &["--leave-drift"]);
    for cgroup in ["a", "b"] {
        fleet.host.ok(&["unload", "--cgroup", &fleet.cgroup(cgroup)]);
        let row = service.drift();
        // The look that finds the second one has seen the first one again.
        assert_eq!(row["cgroup"], fleet.cgroup(cgroup).as_str());
        assert_eq!((row["found"].as_str(), row["result"].as_str()), (Some("no policy"), Some("left")));
    }
    // An apply for another cgroup leaves them alone as well.
    fleet.make("c");
    let line = service.line();
    let results: Vec<&Value> = line["cgroups"].as_array().unwrap().iter().map(|row| &row["result"]).collect();
    assert_eq!(results, ["left", "left", "loaded"], "{line}");
    assert_eq!((fleet.policy("a"), fleet.is_active("c", "c")), (None, true));

    service.signal(Signal::SIGHUP);
    let line = service.line();
    let results: Vec<&Value> = line["cgroups"].as_array().unwrap().iter().map(|row| &row["result"]).collect();
    assert_eq!(results, ["loaded", "loaded", "unchanged"], "{line}");
    assert_eq!(mended(&fleet, "a"), 0, "that was no mending");
    service.end();
}

#[test]
fn what_cannot_be_put_back_is_told_once_with_the_reason() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let service = Service::start(&fleet, &[]);
    // Somebody else takes the name for other code.
    let (other, name) = (fleet.cgroup("b"), fleet.name("a"));
    fleet.host.ok(&["load", "cubic", "--cgroup", &other, "--as", &name, "--replace"]);
    let row = service.drift();
    assert_eq!(row["result"], "failed", "{row}");
    assert!(row["problem"].as_str().unwrap().contains("give it another name with `as`"), "{row}");
    fleet.host.ok(&["load", "reno", "--cgroup", &other, "--as", &name, "--replace"]);
    // Nothing to say about the cure; the next line is about the next drift.
    eventually("it is as the file says", || fleet.is_active("a", "a"));
    fleet.host.ok(&["unload", "--cgroup", &fleet.cgroup("a")]);
    assert_eq!(service.drift()["result"], "put-back");
    service.end();
}

/// What is found is the same before and after: only the plan says that something can be done now.
#[test]
fn what_could_not_be_put_back_is_put_back_as_soon_as_that_is_possible() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.make("b");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let service = Service::start(&fleet, &[]);
    let (cgroup, other, name) = (fleet.cgroup("a"), fleet.cgroup("b"), fleet.name("a"));
    service.signal(Signal::SIGSTOP);
    fleet.host.ok(&["unload", "--cgroup", &cgroup]);
    fleet.host.ok(&["load", "cubic", "--cgroup", &other, "--as", &name]);
    service.signal(Signal::SIGCONT);
    let row = service.drift();
    assert_eq!((row["found"].as_str(), row["result"].as_str()), (Some("no policy"), Some("failed")), "{row}");
    fleet.host.ok(&["unload", "--cgroup", &other]);
    let row = service.drift();
    assert_eq!((row["found"].as_str(), row["result"].as_str()), (Some("no policy"), Some("put-back")), "{row}");
    service.end();
}

#[test]
fn a_canary_whose_watcher_was_killed_is_taken_back() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let service = Service::start(&fleet, &[]);
    let _connections: Vec<_> = (0..12).map(|_| fleet.connection("a")).collect();
    let (cgroup, canary) = (fleet.cgroup("a"), fleet.name("y"));
    let evidence = fleet.host.run.path().join("evidence");
    let args = ["swap", "cubic", "--cgroup", &cgroup, "--as", &canary, "--canary", "50%", "--min-flows", "1"];
    let rule = ["--revert-if", "retransmit_rate > 2 * baseline", "--evidence", evidence.to_str().unwrap()];
    let mut command = fleet.host.command(&[&args[..], &rule].concat());
    let output = command.env("CCACTL_FAULT", "canary-moved").output().unwrap();
    assert_eq!(output.status.signal(), Some(Signal::SIGKILL as i32), "{output:?}");
    let line = service.line();
    assert_eq!((line["cgroup"].as_str(), line["canary_reverted"].as_str()), (Some(&*cgroup), Some(&*canary)), "{line}");
    assert!(fleet.host.policies()[0]["canary"].is_null());
    assert!(fleet.is_active("a", "a"));
    let said = service.stderr_at_the_end();
    assert!(said.contains("reverting the canary") && said.lines().count() == 1, "{said}");
}

#[test]
fn a_person_reads_one_line_per_cgroup() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.make("a");
    fleet.write(&fleet.table("a", "reno", "a", ""));
    let (path, cgroup, name) = (fleet.path(), fleet.cgroup("a"), fleet.name("a"));
    let mut command = fleet.host.command(&["apply", "--watch", "--every", "100ms", path.to_str().unwrap()]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |text: &str| lines.find(|line| line.as_ref().unwrap().contains(text)).unwrap().unwrap();
    until("1 in force");
    for more in ["", ", 2 times so far"] {
        fleet.host.ok(&["unload", "--cgroup", &cgroup]);
        assert_eq!(until("found"), format!("{cgroup}: found no policy: put back {name} (reno){more}"));
    }
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    child.wait().unwrap();
    assert_eq!(lines.count(), 0, "no table beside it");
}

#[test]
fn an_interval_needs_a_watch_and_has_bounds() {
    let host = crate::host::Host::new();
    for (args, expected) in [
        (&["--watch", "--every", "99ms"][..], "expected 100ms to 24h"),
        (&["--watch", "--every", "3000000000000000h"], "expected 100ms to 24h"),
        (&["--watch", "--every", "10"], "is not a duration"),
        (&["--every", "10s"], "--watch"),
        (&["--leave-drift"], "--watch"),
    ] {
        let output = host.ccactl(&[&["apply", "policy.toml"], args].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(expected), "{args:?}: {said}");
    }
}
