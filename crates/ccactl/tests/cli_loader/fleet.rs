//! Policy files for the cgroups of one test.

use crate::host::Host;
use nix::unistd::geteuid;
use serde_json::Value;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

/// A host with cgroups of its own below the test's, and a policy file.
pub struct Fleet {
    pub host: Host,
}

impl Fleet {
    /// `None` without root.
    pub fn new() -> Option<Self> {
        let host = Host::with_root()?;
        fs::create_dir(host.directory()).unwrap();
        Some(Self { host })
    }

    /// A cgroup as the file names it. It exists once it is made.
    pub fn cgroup(&self, name: &str) -> String {
        format!("{}/{name}", self.host.cgroup())
    }

    pub fn directory(&self, name: &str) -> PathBuf {
        self.host.directory().join(name)
    }

    /// Makes a cgroup and returns its directory.
    pub fn make(&self, name: &str) -> PathBuf {
        let directory = self.directory(name);
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    /// A kernel name that only this test has.
    pub fn name(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.host.name())
    }

    /// Where the policy file is.
    pub fn path(&self) -> PathBuf {
        self.host.run.path().join("policy.toml")
    }

    /// One table of a policy file.
    pub fn table(&self, cgroup: &str, algorithm: &str, name: &str, more: &str) -> String {
        let (cgroup, name) = (self.cgroup(cgroup), self.name(name));
        format!("[cgroup.\"{cgroup}\"]\nalgorithm = \"{algorithm}\"\nas = \"{name}\"\n{more}\n")
    }

    /// Replaces the policy file as editors do.
    pub fn write(&self, text: &str) {
        let new = self.host.run.path().join("policy.toml.new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.path()).unwrap();
    }

    /// Runs `ccactl COMMAND FILE ARGS...`.
    pub fn run(&self, command: &str, args: &[&str]) -> Output {
        let path = self.path();
        self.host.ccactl(&[&[command, path.to_str().unwrap()], args].concat())
    }

    /// Runs with `--json`; the exit code and what it printed.
    pub fn json(&self, command: &str, args: &[&str]) -> (i32, Value) {
        let output = self.run(command, &[args, &["--json"]].concat());
        let json = serde_json::from_slice(&output.stdout);
        (output.status.code().unwrap(), json.unwrap_or_else(|error| panic!("{error}: {output:?}")))
    }

    /// Kernel name and state of the policy of a cgroup as `status` shows it.
    pub fn policy(&self, cgroup: &str) -> Option<(String, String)> {
        let rows = self.host.policies();
        let row = rows.as_array().unwrap().iter().find(|row| row["cgroup"] == self.cgroup(cgroup).as_str())?;
        Some((row["kernel_name"].as_str().unwrap().to_owned(), row["state"].as_str().unwrap().to_owned()))
    }

    /// Whether the cgroup has a working policy of this name.
    pub fn is_active(&self, cgroup: &str, name: &str) -> bool {
        self.policy(cgroup) == Some((self.name(name), "active".to_owned()))
    }

    /// Opens a connection from a process of a cgroup.
    pub fn connection(&self, cgroup: &str) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (procs, port) = (self.directory(cgroup).join("cgroup.procs"), listener.local_addr().unwrap().port());
        let script = format!("echo $$ > {}; exec 3<>/dev/tcp/127.0.0.1/{port}; exec cat <&3", procs.display());
        let client = Command::new("bash").args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap();
        let mut connection = Connection { client, server: None };
        connection.server = Some(listener.accept().unwrap().0);
        connection
    }

    /// How many live sockets of a cgroup have which algorithm, as `status` shows it.
    pub fn live(&self, cgroup: &str) -> Value {
        let rows = self.host.policies();
        let row = rows.as_array().unwrap().iter().find(|row| row["cgroup"] == self.cgroup(cgroup).as_str());
        row.expect("the cgroup has a policy")["sockets"]["by_algorithm"].clone()
    }

    /// Number of all policies.
    pub fn policies(&self) -> usize {
        self.host.policies().as_array().unwrap().len()
    }
}

/// A connection that lasts as long as its value.
pub struct Connection {
    client: Child,
    server: Option<TcpStream>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if geteuid().is_root() {
            remove_below(&self.host.directory());
        }
    }
}

fn remove_below(directory: &PathBuf) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// The value of `member` of each cgroup that `apply --json` or `diff --json` printed.
pub fn column<'a>(printed: &'a Value, member: &str) -> Vec<&'a str> {
    printed["cgroups"].as_array().unwrap().iter().map(|row| row[member].as_str().unwrap()).collect()
}
