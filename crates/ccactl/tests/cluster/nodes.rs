//! A Slurm of one controller and some nodes.

use crate::hosts::{CONTROLLER, Hosts, NET};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

const PROGRAMS: [&str; 4] = ["slurmctld", "slurmd", "sbatch", "squeue"];

pub struct Cluster {
    pub hosts: Hosts,
}

impl Cluster {
    /// So many nodes, all idle; none where that cannot be done here.
    pub fn of(nodes: usize) -> Option<Cluster> {
        let mut cluster = Cluster { hosts: Hosts::of(nodes, &PROGRAMS)? };
        cluster.configure(nodes);
        cluster.begin(CONTROLLER, &["slurmctld", "-D", "-i"]);
        for node in 1..=nodes {
            let host = format!("n{node}");
            cluster.begin(&host, &["slurmd", "-D", "-N", &host]);
        }
        let idle = format!("{nodes} idle");
        cluster.eventually("all nodes are idle", |cluster| {
            let said = cluster.run(&["sinfo", "-h", "-o", "%D %t"]).stdout;
            String::from_utf8_lossy(&said).trim() == idle
        });
        Some(cluster)
    }

    pub fn shared(&self) -> &Path {
        self.hosts.shared.path()
    }

    fn configure(&self, nodes: usize) {
        let at = |name: &str| self.shared().join(name);
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

    fn begin(&mut self, host: &str, words: &[&str]) {
        let conf = self.conf();
        self.hosts.begin(host, words, &[("SLURM_CONF", conf)]);
    }

    fn conf(&self) -> String {
        self.shared().join("slurm.conf").display().to_string()
    }

    /// A command for somebody who works on the controller's host.
    pub fn run(&self, words: &[&str]) -> Output {
        self.hosts.command(CONTROLLER, words).env("SLURM_CONF", self.conf()).output().unwrap()
    }

    pub fn eventually(&self, what: &str, mut holds: impl FnMut(&Cluster) -> bool) {
        self.hosts.eventually(what, |_| holds(self));
    }

    pub fn logs(&self) -> String {
        self.hosts.logs()
    }
}
