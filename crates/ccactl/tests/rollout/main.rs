//! A policy file onto a fleet by `packaging/ansible`, over three hosts and one that is held back, each with sshd, an exporter and
//! traffic through a bottleneck; Prometheus watches. A good policy goes through three stages, a spoiled one is taken back after the
//! first host, and so is one beside which an exporter dies.
//!
//! It takes minutes: `cargo test --release --workspace --test rollout -- --ignored --nocapture`.

#[path = "../hosts/mod.rs"]
mod hosts;

use hosts::{CONTROLLER, Hosts, NET};
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

const CCACTL: &str = env!("CARGO_BIN_EXE_ccactl");
const RENO: &str = include_str!("../../../../bpf/cc/reno.bpf.c");
const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
const PROGRAMS: [&str; 6] = ["sshd", "ssh-keygen", "ansible-playbook", "prometheus", "promtool", "nsenter"];
/// The last one is held back.
const HOSTS: usize = 4;
const CONNECTIONS: usize = 4;
const SINK: u16 = 5001;

struct Fleet {
    hosts: Hosts,
    cgroups: PathBuf,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn sh(words: &[&str]) -> Output {
    let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}{}", text(&output.stdout), text(&output.stderr));
    output
}

impl Fleet {
    fn new() -> Option<Fleet> {
        let hosts = Hosts::of(HOSTS, &PROGRAMS)?;
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mount = mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[2] == "cgroup2").then(|| fields[1].to_owned())
        });
        let cgroups = Path::new(&mount.expect("cgroup2")).join(format!("ccactl-rollout-{}", std::process::id()));
        let mut fleet = Fleet { hosts, cgroups };
        fs::create_dir(&fleet.cgroups).unwrap();
        fleet.listen();
        fleet.keys();
        for node in 1..=HOSTS {
            fleet.host(node);
        }
        fleet.prometheus();
        fleet.inventory();
        Some(fleet)
    }

    fn at(&self, name: &str) -> String {
        self.hosts.shared.path().join(name).display().to_string()
    }

    fn pins(node: usize) -> String {
        format!("/sys/fs/bpf/ccactl-rollout-{}-n{node}", std::process::id())
    }

    /// Takes what all hosts send, on the controller.
    fn listen(&self) {
        let namespace = format!("/run/netns/ccactl-h{}-{CONTROLLER}", std::process::id());
        std::thread::spawn(move || {
            let namespace = fs::File::open(namespace).unwrap();
            nix::sched::setns(&namespace, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
            let listener = TcpListener::bind(("0.0.0.0", SINK)).unwrap();
            for mut stream in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || {
                    let mut buffer = [0; 64 * 1024];
                    while matches!(stream.read(&mut buffer), Ok(1..)) {}
                });
            }
        });
    }

    fn keys(&self) {
        for key in ["host", "user"] {
            sh(&["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", &self.at(key)]);
        }
        let keys = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\n\
             PasswordAuthentication no\nSubsystem sftp internal-sftp\n",
            self.at("host"),
            self.at("user.pub")
        );
        fs::write(self.at("sshd.conf"), keys).unwrap();
        fs::set_permissions(self.at("user"), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn host(&mut self, node: usize) {
        let name = format!("n{node}");
        let pins = [("CCACTL_BPFFS", Fleet::pins(node))];
        fs::create_dir(self.cgroups.join(&name)).unwrap();
        fs::create_dir(self.at(&name)).unwrap();
        self.hosts.narrow(node, "20mbit", "160kb");
        // The policy that it has had for long.
        let policy = self.at(&format!("{name}/policy.toml"));
        fs::write(&policy, self.policy("native:cubic", None).replace("{{ inventory_hostname }}", &name)).unwrap();
        let applied = self.hosts.command(&name, &[CCACTL, "apply", &policy]).envs(pins.clone()).output().unwrap();
        assert!(applied.status.success(), "{}{}", text(&applied.stdout), text(&applied.stderr));
        self.hosts.begin(&name, &["/usr/sbin/sshd", "-D", "-e", "-f", &self.at("sshd.conf")], &pins);
        let cgroup = self.cgroups.join(&name).display().to_string();
        let exporter = [CCACTL, "exporter", "--listen", "0.0.0.0:9097", "--cgroup", &cgroup];
        self.hosts.beside(&name, &format!("{name}-exporter"), &exporter, &pins);
        for number in 1..=CONNECTIONS {
            let script =
                format!("echo $$ > {cgroup}/cgroup.procs; exec 3<>/dev/tcp/{NET}.100/{SINK}; exec cat /dev/zero >&3");
            self.hosts.beside(&name, &format!("{name}-sender{number}"), &["bash", "-c", &script], &[]);
        }
    }

    /// A kernel name stands for one code, and these hosts share a kernel: what is not the kernel's own has a name for each host.
    /// Only the spoiled algorithm is: where a kernel skips programs, a loss may leave any other one with garbage as its window.
    fn policy(&self, algorithm: &str, name: Option<&str>) -> String {
        let cgroup = format!("/{}", self.cgroups.file_name().unwrap().display());
        let host = "{{ inventory_hostname }}";
        let name = name.map_or_else(String::new, |name| format!("as = \"{name}-{host}\"\n"));
        format!("[cgroup.\"{cgroup}/{host}\"]\nalgorithm = \"{algorithm}\"\n{name}")
    }

    fn prometheus(&mut self) {
        let mut config = format!(
            "global: {{ scrape_interval: 2s, evaluation_interval: 2s }}\nrule_files: [\"{PACKAGING}/prometheus/ccactl.rules.yml\"]\n\
             scrape_configs:\n- job_name: ccactl\n  static_configs:\n"
        );
        for node in 1..=HOSTS {
            let group = if node == HOSTS { "held-back" } else { "changed" };
            writeln!(config, "  - {{ targets: [\"{NET}.{node}:9097\"], labels: {{ ccactl_group: {group} }} }}")
                .unwrap();
        }
        let (file, data) = (self.at("prometheus.yml"), self.at("data"));
        fs::write(&file, config).unwrap();
        let words = [
            format!("--config.file={file}"),
            format!("--storage.tsdb.path={data}"),
            "--web.listen-address=127.0.0.1:9090".to_owned(),
        ];
        let words: Vec<&str> = std::iter::once("prometheus").chain(words.iter().map(String::as_str)).collect();
        self.hosts.beside(CONTROLLER, "prometheus", &words, &[]);
    }

    fn inventory(&self) {
        let mut hosts = String::from("[ccactl]\n");
        for node in 1..=HOSTS {
            writeln!(
                hosts,
                "n{node} ansible_host={NET}.{node} file={}/policy.toml ccactl='env CCACTL_BPFFS={} {CCACTL}'",
                self.at(&format!("n{node}")),
                Fleet::pins(node)
            )
            .unwrap();
        }
        write!(
            hosts,
            "[ccactl_held_back]\nn{HOSTS}\n[all:vars]\nansible_user=root\nansible_python_interpreter=/usr/bin/python3\n\
             ansible_ssh_private_key_file={}\nansible_ssh_common_args='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
             -o ConnectTimeout=5'\n",
            self.at("user")
        )
        .unwrap();
        fs::write(self.at("hosts.ini"), hosts).unwrap();
    }

    /// Until rates over a minute are there, and no alert fires.
    fn settle(&self) {
        let query = |query: &str| {
            let url = "http://127.0.0.1:9090";
            text(&self.hosts.run(CONTROLLER, &["promtool", "query", "instant", url, query]).stdout)
        };
        self.hosts.eventually("both sides have rates, and no alert fires", |_| {
            let there = query("count(baseline:ccactl_tcp_retransmitted:ratio_rate1m)").contains("=> 1 ")
                && query("count(algorithm:ccactl_tcp_retransmitted:ratio_rate1m)").contains("=> ");
            there && query("ALERTS{alertstate=~\"firing|pending\"}").trim().is_empty()
        });
    }

    fn roll_out(&self, policy: &str, beside: impl FnOnce(&Fleet)) -> (bool, String) {
        fs::write(self.at("new.toml"), policy).unwrap();
        let begun = Instant::now();
        let playbook = format!("{PACKAGING}/ansible/rollout.yml");
        let words = [
            "ansible-playbook".to_owned(),
            "-i".to_owned(),
            self.at("hosts.ini"),
            playbook,
            "-e".to_owned(),
            format!("policy={} prometheus=http://127.0.0.1:9090 settle=45 looks=6 every=5", self.at("new.toml")),
            "-e".to_owned(),
            "{\"stages\": [1, 1, \"100%\"]}".to_owned(),
        ];
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let child = self
            .hosts
            .command(CONTROLLER, &words)
            .env("ANSIBLE_NOCOLOR", "1")
            .env("ANSIBLE_LOCAL_TEMP", self.at("ansible"))
            .env("ANSIBLE_REMOTE_TEMP", self.at("ansible-remote"))
            .env("LC_ALL", "C.UTF-8")
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        beside(self);
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stdout) + &text(&output.stderr);
        eprintln!("{said}\n{:.0} s", begun.elapsed().as_secs_f64());
        (output.status.success(), said)
    }

    /// Algorithms in force, host by host, without the host in their names.
    fn in_force(&self) -> Vec<String> {
        let of = |node: usize| {
            let mut status = Command::new(CCACTL);
            let output = status.args(["status", "--json"]).env("CCACTL_BPFFS", Fleet::pins(node)).output().unwrap();
            let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let name = status["policies"][0]["kernel_name"].as_str().unwrap_or("-").to_owned();
            name.split('_').next().unwrap().to_owned()
        };
        (1..=HOSTS).map(of).collect()
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        for node in (1..=HOSTS).rev() {
            for number in 1..=CONNECTIONS {
                self.hosts.kill(&format!("n{node}-sender{number}"));
            }
            let _ = Command::new(CCACTL).args(["unload", "--all"]).env("CCACTL_BPFFS", Fleet::pins(node)).output();
            let _ = fs::remove_dir_all(Fleet::pins(node));
            let _ = fs::remove_dir(self.cgroups.join(format!("n{node}")));
        }
        let _ = fs::remove_dir(&self.cgroups);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_good_policy_reaches_all_and_a_bad_one_is_taken_back_from_the_first() {
    let Some(fleet) = Fleet::new() else { return };
    fleet.settle();
    let (done, said) = fleet.roll_out(&fleet.policy("native:reno", None), |_| {});
    assert!(done, "{said}");
    assert_eq!(fleet.in_force(), ["reno", "reno", "reno", "cubic"]);

    // Its window never falls below 2000 packets.
    let changes = [
        ("\"reno\"", "\"spoiled\""),
        ("\"bpf_reno\"", "\"spoiled\""),
        ("return tcp_reno_ssthresh(sk);", "return 2000;"),
    ];
    let spoiled = changes.iter().fold(RENO.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    let file = fleet.at("spoiled.bpf.c");
    fs::write(&file, spoiled).unwrap();
    fleet.settle();
    let (done, said) = fleet.roll_out(&fleet.policy(&file, Some("bad")), |_| {});
    assert!(!done && said.contains("CcactlRolloutRetransmissions"), "{said}");
    assert_eq!(fleet.in_force(), ["reno", "reno", "reno", "cubic"], "as before, everywhere");

    // The exporter of a host that has not had its turn dies in the first stage.
    fleet.settle();
    let (done, said) = fleet.roll_out(&fleet.policy("native:cubic", None), |fleet| {
        fleet.hosts.eventually("the first host has it", |_| fleet.in_force()[0] == "cubic");
        sh(&[
            "pkill",
            "-KILL",
            "-f",
            &format!("exporter --listen 0.0.0.0:9097 --cgroup {}/n3", fleet.cgroups.display()),
        ]);
    });
    assert!(!done && said.contains("CcactlRolloutBlind"), "{said}");
    assert_eq!(fleet.in_force(), ["reno", "reno", "reno", "cubic"]);
}
