//! A Slurm of one controller and some nodes on this machine, each in network, UTS, PID and mount namespaces of its own.
//!
//! The nodes share the file system, as those of a cluster share `/home`. `/run` is a node's own, and stands for its local disk. When
//! the first process of a node is killed, all that runs there is gone, as when it loses its power.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAMS: [&str; 5] = ["slurmctld", "slurmd", "sbatch", "squeue", "scontrol"];
/// Where the controller and the nodes are, in a network that nothing else reaches.
const NET: &str = "10.77.31";
const CONTROLLER: &str = "ctl";
const PATIENCE: Duration = Duration::from_secs(240);
/// In every host: a name, a `/proc` and a `/run` of its own.
const HOST: &str = "hostname \"$0\"; mount --make-rprivate /; mount -t proc proc /proc; mount -t tmpfs -o size=2g tmpfs /run; \
                    mkdir /run/local; exec \"$@\"";

pub struct Cluster {
    /// Shared by all, and not below `/tmp`, which nodes may have for themselves.
    pub shared: tempfile::TempDir,
    prefix: String,
    daemons: Vec<(String, Child)>,
}

impl Cluster {
    /// So many nodes, all idle; none where that cannot be done here.
    pub fn of(nodes: usize) -> Option<Cluster> {
        let missing: Vec<&str> = PROGRAMS.into_iter().filter(|name| !is_there(name)).collect();
        let problem = match (nix::unistd::geteuid().is_root(), missing.is_empty()) {
            (true, true) => None,
            (false, _) => Some("root".to_owned()),
            (_, false) => Some(missing.join(", ")),
        };
        if let Some(problem) = problem {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs the tests of the cluster: {problem}");
            eprintln!("not run: needs {problem}");
            return None;
        }
        let shared = tempfile::Builder::new().prefix("ccactl-cluster-").tempdir_in("/var/tmp").unwrap();
        let mut cluster = Cluster { shared, prefix: format!("ccactl-cl{}", std::process::id()), daemons: Vec::new() };
        cluster.network(nodes);
        cluster.configure(nodes);
        cluster.begin(CONTROLLER);
        (1..=nodes).for_each(|node| cluster.begin(&format!("n{node}")));
        let idle = format!("{nodes} idle");
        cluster
            .eventually("all nodes are idle", |cluster| cluster.says(&["sinfo", "-h", "-o", "%D %t"]).trim() == idle);
        Some(cluster)
    }

    fn network(&self, nodes: usize) {
        let ctl = self.namespace(CONTROLLER);
        ip(&["netns", "add", &ctl]);
        ip(&["-n", &ctl, "link", "set", "lo", "up"]);
        ip(&["-n", &ctl, "link", "add", "br0", "type", "bridge"]);
        ip(&["-n", &ctl, "addr", "add", &format!("{NET}.100/24"), "dev", "br0"]);
        ip(&["-n", &ctl, "link", "set", "br0", "up"]);
        for node in 1..=nodes {
            let (name, end) = (self.namespace(&format!("n{node}")), format!("v{node}"));
            ip(&["netns", "add", &name]);
            ip(&["-n", &name, "link", "set", "lo", "up"]);
            ip(&["-n", &ctl, "link", "add", &end, "type", "veth", "peer", "name", "eth0", "netns", &name]);
            ip(&["-n", &ctl, "link", "set", &end, "master", "br0", "up"]);
            ip(&["-n", &name, "addr", "add", &format!("{NET}.{node}/24"), "dev", "eth0"]);
            ip(&["-n", &name, "link", "set", "eth0", "up"]);
        }
    }

    fn configure(&self, nodes: usize) {
        let at = |name: &str| self.shared.path().join(name);
        fs::set_permissions(self.shared.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(at("state")).unwrap();
        let prolog = at("prolog");
        fs::write(&prolog, "#!/bin/sh\necho export TMPDIR=/run/local\n").unwrap();
        fs::set_permissions(&prolog, fs::Permissions::from_mode(0o755)).unwrap();
        let mut conf = format!(
            "ClusterName=test\nSlurmctldHost={CONTROLLER}({NET}.100)\nSlurmUser=root\nAuthType=auth/none\nCredType=cred/none\n\
             StateSaveLocation={}\nSlurmdSpoolDir=/run/spool\nSlurmctldPidFile=/run/ctld.pid\nSlurmdPidFile=/run/d.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nTaskProlog={}\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nSlurmdTimeout=15\nInactiveLimit=0\nKillWait=5\nMpiDefault=none\n\
             SchedulerParameters=sched_interval=2,bf_interval=2\n",
            at("state").display(),
            prolog.display()
        );
        // Two guests at a time are what the machine has CPUs for; the nodes say so.
        for node in 1..=nodes {
            conf += &format!("NodeName=n{node} NodeAddr={NET}.{node} CPUs=1 RealMemory=4000 State=UNKNOWN\n");
        }
        conf += &format!("PartitionName=lab Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP\n");
        fs::write(at("slurm.conf"), conf).unwrap();
        fs::write(at("cgroup.conf"), "CgroupPlugin=cgroup/v1\n").unwrap();
    }

    /// Starts the daemon of a host.
    pub fn begin(&mut self, host: &str) {
        let daemon: &[&str] =
            if host == CONTROLLER { &["slurmctld", "-D", "-i"] } else { &["slurmd", "-D", "-N", host] };
        let log = fs::File::create(self.shared.path().join(format!("{host}.log"))).unwrap();
        let mut command = self.on(host);
        command.args(daemon).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push((host.to_owned(), command.spawn().unwrap()));
    }

    /// Takes a host its power.
    pub fn kill(&mut self, host: &str) {
        let at = self.daemons.iter().position(|(name, _)| name == host).expect("it runs");
        let (_, mut daemon) = self.daemons.remove(at);
        daemon.kill().unwrap();
        daemon.wait().unwrap();
    }

    /// A command on a host; it is the first process there, and takes all others with it.
    fn on(&self, host: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host)]);
        command.args(["unshare", "--uts", "--pid", "--mount", "--fork", "--kill-child", "sh", "-c", HOST, host]);
        command.env("SLURM_CONF", self.shared.path().join("slurm.conf"));
        command
    }

    /// A command for somebody who works on the controller's host.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(CONTROLLER)]).args(words);
        command.env("SLURM_CONF", self.shared.path().join("slurm.conf"));
        command
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub fn says(&self, words: &[&str]) -> String {
        String::from_utf8_lossy(&self.run(words).stdout).into_owned()
    }

    pub fn eventually(&self, what: &str, mut holds: impl FnMut(&Cluster) -> bool) {
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

impl Drop for Cluster {
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
    std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|folder: PathBuf| Path::is_file(&folder.join(program)))
}
