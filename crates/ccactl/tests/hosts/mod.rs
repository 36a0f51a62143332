//! Hosts on this machine, each in network, UTS, PID and mount namespaces of its own, for tests of what several machines do together.
//!
//! They share the file system, as the nodes of a cluster share `/home`, and the kernel with its cgroups and BPF. `/run` is a host's
//! own, and stands for its local disk. When the first process of a host is killed, all that runs there is gone, as when it loses its
//! power.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A network that nothing else reaches.
pub const NET: &str = "10.77.31";
/// The host in the middle, where whoever works with the others sits: `NET.100`.
pub const CONTROLLER: &str = "ctl";
const PATIENCE: Duration = Duration::from_secs(240);
/// In every host: a name, a `/proc` and a `/run` of its own.
const HOST: &str = "hostname \"$0\"; mount --make-rprivate /; mount -t proc proc /proc; mount -t tmpfs -o size=2g tmpfs /run; \
                    mkdir /run/local /run/sshd; exec \"$@\"";

pub struct Hosts {
    /// Shared by all, and not below `/tmp`, which hosts may have for themselves.
    pub shared: tempfile::TempDir,
    prefix: String,
    daemons: Vec<(String, Child)>,
}

impl Hosts {
    /// The controller and hosts `n1` to `nN`; none where that cannot be done here, or a program that they need is missing.
    pub fn of(nodes: usize, programs: &[&str]) -> Option<Hosts> {
        let missing: Vec<&str> = programs.iter().copied().filter(|name| !is_there(name)).collect();
        let problem = match (nix::unistd::geteuid().is_root(), missing.is_empty()) {
            (true, true) => None,
            (false, _) => Some("root".to_owned()),
            (_, false) => Some(missing.join(", ")),
        };
        if let Some(problem) = problem {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs the tests of several hosts: {problem}");
            eprintln!("not run: needs {problem}");
            return None;
        }
        let shared = tempfile::Builder::new().prefix("ccactl-hosts-").tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let hosts = Hosts { shared, prefix: format!("ccactl-h{}", std::process::id()), daemons: Vec::new() };
        hosts.network(nodes);
        Some(hosts)
    }

    /// Each host has a bridge of its own before the common one, where a bottleneck may be.
    fn network(&self, nodes: usize) {
        let ctl = self.namespace(CONTROLLER);
        ip(&["netns", "add", &ctl]);
        let inside = |words: &[&str]| ip(&[&["-n", &ctl], words].concat());
        inside(&["link", "set", "lo", "up"]);
        inside(&["link", "add", "br0", "type", "bridge"]);
        inside(&["addr", "add", &format!("{NET}.100/24"), "dev", "br0"]);
        inside(&["link", "set", "br0", "up"]);
        for node in 1..=nodes {
            let name = self.namespace(&format!("n{node}"));
            let [bridge, port, towards, behind] = ["b", "v", "w", "x"].map(|kind| format!("{kind}{node}"));
            ip(&["netns", "add", &name]);
            ip(&["-n", &name, "link", "set", "lo", "up"]);
            inside(&["link", "add", &bridge, "type", "bridge"]);
            inside(&["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &name]);
            inside(&["link", "add", &towards, "type", "veth", "peer", "name", &behind]);
            for (device, master) in [(&port, &bridge), (&towards, &bridge), (&behind, &"br0".to_owned())] {
                inside(&["link", "set", device, "master", master, "up"]);
            }
            inside(&["link", "set", &bridge, "up"]);
            ip(&["-n", &name, "addr", "add", &format!("{NET}.{node}/24"), "dev", "eth0"]);
            ip(&["-n", &name, "link", "set", "eth0", "up"]);
        }
    }

    /// A bottleneck for what a host sends.
    #[allow(dead_code, reason = "not every test has one")]
    pub fn narrow(&self, node: usize, rate: &str, limit: &str) {
        let device = format!("w{node}");
        let words = ["tc", "qdisc", "add", "dev", &device, "root", "tbf", "rate", rate, "burst", "5kb", "limit", limit];
        let output = self.run(CONTROLLER, &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts a daemon as the first process of a host of this name.
    pub fn begin(&mut self, host: &str, words: &[&str], settings: &[(&str, String)]) {
        let log = fs::File::create(self.shared.path().join(format!("{host}.log"))).unwrap();
        let mut command = self.enter(host);
        command.args(["unshare", "--uts", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", HOST, host]);
        command.args(words).envs(settings.iter().map(|(name, value)| (*name, value.as_str())));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push((host.to_owned(), command.spawn().unwrap()));
    }

    /// Starts another process in the network of a host, outside of what its end takes along.
    #[allow(dead_code, reason = "not every test has one")]
    pub fn beside(&mut self, host: &str, name: &str, words: &[&str], settings: &[(&str, String)]) {
        let log = fs::File::create(self.shared.path().join(format!("{name}.log"))).unwrap();
        let mut command = self.enter(host);
        command.args(words).envs(settings.iter().map(|(name, value)| (*name, value.as_str())));
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push((name.to_owned(), command.spawn().unwrap()));
    }

    /// Takes a host, or another process that was started, its power.
    pub fn kill(&mut self, name: &str) {
        let at = self.daemons.iter().position(|(other, _)| other == name).expect("it runs");
        let (_, mut daemon) = self.daemons.remove(at);
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// Not `ip netns exec`, which hides the cgroups behind a `/sys` of its own.
    fn enter(&self, host: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", self.namespace(host)));
        command
    }

    /// A command in the network of a host.
    pub fn command(&self, host: &str, words: &[&str]) -> Command {
        let mut command = self.enter(host);
        command.args(words);
        command
    }

    pub fn run(&self, host: &str, words: &[&str]) -> Output {
        self.command(host, words).output().unwrap()
    }

    pub fn eventually(&self, what: &str, mut holds: impl FnMut(&Hosts) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(Instant::now() < end, "{what}: not after {PATIENCE:?}\n{}", self.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// What all daemons have said.
    pub fn logs(&self) -> String {
        let mut text = String::new();
        for entry in fs::read_dir(self.shared.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.extension().is_some_and(|extension| extension == "log") {
                let said = fs::read_to_string(&entry).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(25).collect();
                text += &format!("{}:\n{}\n", entry.display(), last.into_iter().rev().collect::<Vec<_>>().join("\n"));
            }
        }
        text
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.prefix)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for (_, daemon) in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let listed =
            Command::new("ip").args(["netns", "list"]).output().map(|output| output.stdout).unwrap_or_default();
        for name in String::from_utf8_lossy(&listed).lines().filter_map(|line| line.split_whitespace().next()) {
            if name.starts_with(&self.prefix) {
                let _ = Command::new("ip").args(["netns", "delete", name]).status();
            }
        }
    }
}

fn ip(words: &[&str]) {
    let output = Command::new("ip").args(words).output().unwrap();
    assert!(output.status.success(), "ip {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|folder: PathBuf| folder.join(program).is_file())
}
