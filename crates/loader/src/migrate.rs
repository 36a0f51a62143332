//! `migrate.bpf.c` in user space: one pass over the live TCP sockets of this host, in every network namespace.

use crate::bpffs;
use crate::cgroup;
use crate::error::{Error, Result};
use crate::fault;
use crate::netns::{self, Namespaces};
use crate::object;
use crate::paths::Paths;
use crate::policy;
use crate::policy_state::Policy;
use crate::struct_ops;
use ccactl_abi::layout::{MIGRATE_ANY_CGROUP, MIGRATE_MOVE, MigrateConfig, NAME_LEN, Socket, SocketHolder, name_bytes};
use ccactl_abi::objects::MIGRATE;
use libbpf_rs::{Iter, Link, MapCore, MapFlags, Object};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes taken from the kernel at once. Its buffer holds 32 KiB, and a socket whose row does not fit any more is
/// visited a second time; below that the kernel stops in time by itself.
const READ_BYTES: usize = 16 * 1024;

/// Which sockets a pass is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those that the policy of this cgroup decides about.
    Policy {
        /// The kernel's id of the cgroup.
        id: u64,
        /// Its depth below the cgroup2 root.
        level: u32,
    },
    /// All of the host that have a policy, a mark, or an algorithm in BPF.
    All,
}

/// The rows of one pass.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    pub(crate) sockets: Vec<Socket>,
    /// Namespaces that were walked.
    pub(crate) namespaces: usize,
    /// Time in the iterators, without finding the namespaces.
    pub(crate) iteration: Duration,
}

/// The loaded programs.
pub(crate) struct Migrator {
    object: Object,
    scope: Scope,
    processes: Vec<u32>,
}

impl Migrator {
    /// Loads the programs; `cgroup` is the directory of the scope's cgroup, when there still is one.
    pub(crate) fn load(paths: &Paths, scope: Scope, cgroup: Option<&Path>) -> Result<Self> {
        Self::load_with(paths, scope, cgroup, None)
    }

    /// [`Migrator::load`] with other policies than those in force, to see what they would do.
    pub(crate) fn rehearse(
        paths: &Paths,
        scope: Scope,
        cgroup: Option<&Path>,
        policies: &[(u64, Policy)],
    ) -> Result<Self> {
        Self::load_with(paths, scope, cgroup, Some(policies))
    }

    fn load_with(
        paths: &Paths,
        scope: Scope,
        cgroup: Option<&Path>,
        instead: Option<&[(u64, Policy)]>,
    ) -> Result<Self> {
        let mut object = object::open("migrate", MIGRATE)?;
        policy::borrow_shared_maps(&mut object, paths, instead.is_some())?;
        let object = object::finish(object, "migrate")?;
        let migrator = Self { object, scope, processes: cgroup.map(cgroup::processes).unwrap_or_default() };
        for kernel_name in bpffs::names(&paths.algorithms())? {
            if let Some(loaded) = struct_ops::read(paths, &kernel_name)? {
                let key: [u8; NAME_LEN] = name_bytes(&kernel_name).expect("the kernel has taken the name");
                migrator.update("tables", &key, &loaded.struct_ops_map_id.to_ne_bytes())?;
            }
        }
        for (id, policy) in instead.into_iter().flatten() {
            migrator.update("policies", &id.to_ne_bytes(), bytemuck::bytes_of(&policy.raw()))?;
        }
        Ok(migrator)
    }

    /// Looks at every socket without changing any.
    pub(crate) fn look(&self) -> Result<Pass> {
        self.pass(0)
    }

    /// Brings every socket to what its policy wants.
    pub(crate) fn move_all(&self) -> Result<Pass> {
        self.pass(MIGRATE_MOVE)
    }

    fn pass(&self, flags: u32) -> Result<Pass> {
        let config = match self.scope {
            Scope::Policy { id, level } => MigrateConfig { cgroup_id: id, cgroup_level: level, flags },
            Scope::All => MigrateConfig { flags: flags | MIGRATE_ANY_CGROUP, ..MigrateConfig::default() },
        };
        self.update("config", &[0; 4], bytemuck::bytes_of(&config))?;
        let namespaces = self.namespaces()?;
        let link = self.attach("cca_migrate")?;
        let mut pass = Pass { namespaces: namespaces.len(), ..Pass::default() };
        for namespace in namespaces.files() {
            let start = Instant::now();
            pass.sockets.extend(netns::inside(namespace, || rows::<Socket>(&link))?);
            pass.iteration += start.elapsed();
            if flags & MIGRATE_MOVE != 0 {
                fault::point("moving");
            }
        }
        Ok(pass)
    }

    /// Those with a process or a name, and those of sockets that somebody holds open elsewhere.
    pub(crate) fn namespaces(&self) -> Result<Namespaces> {
        let mut namespaces = Namespaces::find(self.processes.iter().copied());
        self.clear("found")?;
        for holder in rows::<SocketHolder>(&self.attach("cca_find_namespaces")?)? {
            if namespaces.contains(holder.netns) {
                continue;
            }
            if let Err(error) = namespaces.add_of_socket(holder.pid, holder.fd) {
                tracing::warn!(
                    "sockets in network namespace {} are out of reach: descriptor {} of process {}: {error}",
                    holder.netns,
                    holder.fd,
                    holder.pid
                );
            }
        }
        Ok(namespaces)
    }

    fn attach(&self, program: &str) -> Result<Link> {
        let what = "cannot start the iterator over sockets";
        let program = self.object.progs_mut().find(|found| found.name() == program);
        program.expect("migrate.bpf.c has this program").attach().map_err(Error::bpf(what))
    }

    fn update(&self, map: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let map = self.map(map);
        map.update(key, value, MapFlags::ANY).map_err(Error::bpf("cannot set up the iterator over sockets"))
    }

    fn clear(&self, map: &str) -> Result<()> {
        let map = self.map(map);
        let keys: Vec<_> = map.keys().collect();
        for key in keys {
            map.delete(&key).map_err(Error::bpf("cannot set up the iterator over sockets"))?;
        }
        Ok(())
    }

    fn map(&self, name: &str) -> libbpf_rs::Map<'_> {
        self.object.maps().find(|map| map.name() == name).expect("migrate.bpf.c has this map")
    }
}

/// Everything that an iterator writes.
pub(crate) fn rows<T: bytemuck::AnyBitPattern>(link: &Link) -> Result<Vec<T>> {
    let what = "cannot walk the sockets of a network namespace";
    let mut iterator = Iter::new(link).map_err(Error::bpf(what))?;
    let mut bytes = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match iterator.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            // A million sockets in a row without a word: the kernel lets others run and goes on.
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(source) => return Err(Error::Io { what: what.to_owned(), source }),
        }
    }
    Ok(bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect())
}
