//! Everything that the soak makes: a cgroup, a load in it, and a ccactl with folders and names of its own.

use crate::leftovers::leftovers;
use crate::settings::Settings;
use crate::{Faults, Result};
use ccactl_loader::{Choice, LoadRequest, Loader, Paths};
use ccactl_testbed::host::cgroup::Cgroup;
use ccactl_testbed::host::run_id::{PREFIX, RunId};
use ccactl_testbed::traffic::checked::{Bottleneck, CheckedLoad, Finish, LoadOptions, Sample};
use rand::Rng;
use rand::rngs::StdRng;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Algorithms that take turns: loss, model and delay.
pub const ALGORITHMS: [&str; 5] = ["cubic", "bbr", "bbrv2", "vegas", "f-bbrv2"];

/// Payload of each connection in each direction, in bytes per second.
const RATE_PER_CONNECTION: u64 = 5_000;
/// What the links carry beyond the payload, so that queues build up and overflow now and then but data gets through.
const LINK_OVER_PAYLOAD: f64 = 1.15;
const BURST_BYTES: u32 = 64 * 1024;
/// Of a link: how long its queue may get.
const QUEUE_MS: u64 = 20;

pub struct World {
    // The order of the fields is that of the removal: processes before the cgroups that they are in.
    load: CheckedLoad,
    pub loader: Loader,
    cgroup: Cgroup,
    _parent: Cgroup,
    program: PathBuf,
    tag: String,
    interrupted: Arc<AtomicBool>,
}

/// After the last connection was closed.
pub struct Ending {
    pub finish: Finish,
    pub kernel_resets: u64,
    pub faults: Faults,
}

impl World {
    pub fn start(settings: &Settings) -> Result<Self> {
        let program =
            std::env::var_os("CCACTL").map(PathBuf::from).ok_or("CCACTL is not set: `cargo xtask soak` does")?;
        let id = RunId::new();
        let tag = format!("s{:x}", std::process::id());
        let bpffs = PathBuf::from(format!("/sys/fs/bpf/ccactl-soak-{tag}"));
        let loader = Loader::with_paths(Paths { bpffs, ..Paths::default() })?;
        // Names by which `ccactl bench clean` finds what a killed soak leaves.
        let parent = Cgroup::create(loader.mount().path().join(format!("{PREFIX}-bench-{id}")))?;
        let cgroup = Cgroup::create(parent.path().join("load"))?;
        let rate_bytes_per_s = RATE_PER_CONNECTION * u64::from(settings.connections);
        let link = rate_bytes_per_s as f64 * LINK_OVER_PAYLOAD;
        let options = LoadOptions {
            connections: settings.connections,
            pairs: 1,
            opening_bytes: 1000,
            rate_bytes_per_s,
            bottleneck: Some(Bottleneck {
                rate_bytes_per_s: link as u32,
                burst_bytes: BURST_BYTES,
                limit_bytes: (link as u64 * QUEUE_MS / 1000) as u32,
            }),
            seed: settings.seed,
        };
        let interrupted = Arc::default();
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        let load = CheckedLoad::start(&program, id, &options, &cgroup)?;
        Ok(Self { load, loader, cgroup, _parent: parent, program, tag, interrupted })
    }

    /// An error after SIGINT or SIGTERM, so that everything is removed on the way out.
    pub fn go_on(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) { Err("interrupted".into()) } else { Ok(()) }
    }

    /// Sockets that are to be alive all the time.
    pub fn sockets(&self) -> u64 {
        self.load.sockets()
    }

    /// Listening sockets, which the cgroup has besides.
    pub fn listeners(&self) -> u64 {
        self.load.listeners()
    }

    pub fn cgroup(&self) -> &Path {
        self.cgroup.path()
    }

    pub fn cgroup_id(&self) -> u64 {
        self.cgroup.id()
    }

    /// What all kernel names here begin with.
    pub fn name_prefix(&self) -> String {
        format!("{}_", self.tag)
    }

    /// Kernel name of an algorithm here.
    pub fn name(&self, algorithm: &str) -> String {
        let place = ALGORITHMS.iter().position(|candidate| *candidate == algorithm).unwrap_or(ALGORITHMS.len());
        format!("{}{place}", self.name_prefix())
    }

    pub fn request(&self, algorithm: &str) -> LoadRequest {
        let choice = Choice::parse(algorithm, &[], Some(&self.name(algorithm))).unwrap();
        LoadRequest::new(choice, self.cgroup())
    }

    /// One of the algorithms, but not that with the kernel name `current`.
    pub fn another(&self, random: &mut StdRng, current: &str) -> &'static str {
        loop {
            let algorithm = ALGORITHMS[random.random_range(0..ALGORITHMS.len())];
            if self.name(algorithm) != current {
                return algorithm;
            }
        }
    }

    /// The binary, on this world's folders.
    pub fn ccactl(&self, args: &[OsString]) -> Command {
        let mut command = Command::new(&self.program);
        let paths = self.loader.paths();
        command.args(args).env("CCACTL_BPFFS", &paths.bpffs).stdin(Stdio::null());
        command
    }

    pub fn sample(&mut self) -> Result<Sample> {
        Ok(self.load.sample()?)
    }

    /// Closes all connections; nothing of ccactl may be left then.
    pub fn end(self) -> Result<Ending> {
        let prefix = self.name_prefix();
        let kernel_resets = self.load.kernel_resets()?;
        let finish = self.load.finish()?;
        let mut faults = finish.faults.clone();
        if kernel_resets > 0 {
            faults.push(format!("the kernel counted {kernel_resets} resets"));
        }
        // Marks of sockets stay as long as the sockets; whatever command comes next removes the rest.
        self.loader.unload_all()?;
        faults.extend(leftovers(&prefix, &self.loader.paths().bpffs, self.cgroup.path()));
        Ok(Ending { finish, kernel_resets, faults })
    }
}
