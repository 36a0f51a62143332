//! Which sockets a command looks at, and what is known of their algorithms: shared by those that record.

use crate::error::Result;
use ccactl_abi::Algorithm;
use ccactl_collector::{CgroupFilter, KnownAlgorithm, RecordOptions, netns_inode};
use ccactl_loader::{Choice, Loader, RegisteredAlgorithm, cgroup};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(clap::Args)]
pub struct Filters {
    /// Only sockets of this cgroup and its descendants; relative to the cgroup2 mount (/bench) or absolute
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,
    /// Only sockets with this local or remote port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Only sockets of this network namespace: a name of `ip netns list`, or a path such as /proc/PID/ns/net
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Only sockets that this process has open, opens or accepts
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// Only sockets while they have this algorithm: a name of `ccactl list`, native:NAME for the kernel's own, or a name
    /// in the kernel
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
}

impl Filters {
    /// Puts the filters into `options`, and makes it know the loaded algorithms.
    pub fn apply(&self, options: &mut RecordOptions) -> Result<()> {
        options.cgroup = self.cgroup.as_deref().map(cgroup_filter).transpose()?;
        options.netns = self.netns.as_deref().map(netns_inode).transpose()?;
        options.port = self.port;
        options.pid = self.pid;
        // Opened once: what it needs to be opened is given up when the recorder runs, and reading what is registered needs
        // nothing.
        let loader = Loader::open();
        if let Err(error) = &loader {
            tracing::warn!("the recording does not know the loaded algorithms: {error}");
        }
        let loaded = move || loader.as_ref().map(loaded_algorithms).unwrap_or_default();
        options.loaded = loaded();
        options.algorithm = self.algorithm.as_deref().map(|name| kernel_name(name, &options.loaded)).transpose()?;
        // An algorithm may be loaded under another name while the recording runs.
        options.resolve = Arc::new(move |name| {
            loaded().into_iter().find(|known| known.kernel_name == name).or_else(|| KnownAlgorithm::from_registry(name))
        });
        Ok(())
    }

    /// The filters as a line says them; empty when there is none.
    pub fn text(&self) -> String {
        let parts = [
            self.cgroup.as_ref().map(|path| path.display().to_string()),
            self.netns.as_ref().map(|name| format!("netns {name}")),
            self.port.map(|port| format!("port {port}")),
            self.pid.map(|pid| format!("pid {pid}")),
            self.algorithm.clone(),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn cgroup_filter(given: &Path) -> Result<CgroupFilter> {
    let mount = cgroup::Mount::find(Path::new("/proc/mounts"))?;
    let path = mount.resolve(given)?;
    Ok(CgroupFilter { path: mount.display(&path), id: cgroup::id(&path)?, level: mount.level(&path) })
}

/// What sockets show for an algorithm, as the other commands understand its name; `load --as` makes names of its own.
fn kernel_name(name: &str, loaded: &[KnownAlgorithm]) -> Result<String> {
    let is_in_kernel = || loaded.iter().any(|known| known.kernel_name == name);
    match Choice::parse(name, &[], None) {
        Ok(choice) => {
            choice.check_native()?;
            Ok(choice.kernel_name().to_owned())
        }
        Err(_) if is_in_kernel() || Algorithm::by_kernel_name(name).is_some() => Ok(name.to_owned()),
        Err(error) => Err(error.into()),
    }
}

/// The registered algorithms, with the values of their tunables. Without them a recording is poorer, not wrong.
fn loaded_algorithms(loader: &Loader) -> Vec<KnownAlgorithm> {
    let registered = loader.registered().unwrap_or_else(|error| {
        tracing::warn!("the recording does not know the loaded algorithms: {error}");
        Vec::new()
    });
    registered.into_iter().map(known_algorithm).collect()
}

fn known_algorithm(registered: RegisteredAlgorithm) -> KnownAlgorithm {
    let values = registered.tunables.iter();
    let tunables =
        values.map(|setting| (setting.tunable.name.to_owned(), setting.tunable.display(setting.raw))).collect();
    KnownAlgorithm { kernel_name: registered.kernel_name, algorithm: registered.algorithm, tunables }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_is_known_by_its_name_and_by_its_kernel_name() {
        let web = KnownAlgorithm {
            kernel_name: "web_bic".to_owned(),
            ..KnownAlgorithm::with_defaults(Algorithm::by_name("bic").unwrap())
        };
        let name = |given| kernel_name(given, std::slice::from_ref(&web));
        assert_eq!(name("f-bbrv2").unwrap(), "f_bbrv2");
        assert_eq!(name("f_bbrv2").unwrap(), "f_bbrv2");
        assert_eq!(name("cubic").unwrap(), "bpf_cubic");
        assert_eq!(name("native:reno").unwrap(), "reno");
        assert_eq!(name("web_bic").unwrap(), "web_bic");
        assert!(name("web_cubic").is_err());
    }
}
