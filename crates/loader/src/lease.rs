//! The lease of a canary: `leases`, cgroup id → deadline. The program of the cgroup compares the deadline with the clock,
//! so a canary whose watcher has died gets no new sockets, and no daemon is needed for that.

use crate::error::{Error, Result};
use crate::paths::Paths;
use crate::policy::{self, Policies};
use crate::policy_state::Policy;
use ccactl_abi::layout::MAX_POLICIES;
use libbpf_rs::{ErrorKind, MapCore, MapFlags, MapHandle, MapType};
use nix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A renewal may be late by three of its intervals.
const RENEWALS: u32 = 4;

/// A lease that a thread of this process renews until it is dropped, or the cgroup has another canary.
#[derive(Debug)]
pub(crate) struct Lease {
    stop: Option<Sender<()>>,
    renewer: Option<JoinHandle<()>>,
}

impl Lease {
    /// `since_unix_ns`: when the canary began, which is in its policy as soon as there is one.
    pub(crate) fn begin(paths: &Paths, id: u64, since_unix_ns: u64, length: Duration) -> Result<Self> {
        let leases = Leases::ensure(paths)?;
        leases.renew(id, length, MapFlags::ANY)?;
        let (stop, stopped) = mpsc::channel::<()>();
        let paths = paths.clone();
        // This process may have been stopped while somebody ended our canary and began another one there.
        let is_anothers = move || {
            let policy = Policies::open(&paths).and_then(|policies| policies.map_or(Ok(None), |all| all.get(id)));
            matches!(policy, Ok(Some(Policy { canary: Some(trial), .. })) if trial.since_unix_ns != since_unix_ns)
        };
        let renew = move || {
            while stopped.recv_timeout(length / RENEWALS) == Err(RecvTimeoutError::Timeout) {
                if is_anothers() {
                    return;
                }
                match leases.renew(id, length, MapFlags::EXIST) {
                    Ok(()) => {}
                    // Somebody has ended the canary.
                    Err(Error::Bpf { source, .. }) if source.kind() == ErrorKind::NotFound => return,
                    Err(error) => tracing::warn!("{error}"),
                }
            }
            if !is_anothers() {
                leases.end(id);
            }
        };
        let renewer = thread::Builder::new()
            .name("ccactl-lease".to_owned())
            .spawn(renew)
            .map_err(Error::io("cannot start a thread"))?;
        Ok(Self { stop: Some(stop), renewer: Some(renewer) })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(renewer) = self.renewer.take() {
            let _ = renewer.join();
        }
    }
}

/// How long a lease still runs; `None` when there is none or it has run out.
pub(crate) fn left(paths: &Paths, id: u64) -> Result<Option<Duration>> {
    let Some(leases) = Leases::open(paths)? else { return Ok(None) };
    let bytes = leases.map.lookup(&id.to_ne_bytes(), MapFlags::ANY).map_err(leases.error("read"))?;
    let deadline = bytes.and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
    Ok(deadline.and_then(|deadline| deadline.checked_sub(now_ns())).filter(|left| *left > 0).map(Duration::from_nanos))
}

/// Ends the leases that are not to be kept.
pub(crate) fn retain(paths: &Paths, keep: impl Fn(u64) -> bool) -> Result<()> {
    let Some(leases) = Leases::open(paths)? else { return Ok(()) };
    let ids: Vec<u64> = leases.map.keys().filter_map(|key| key.try_into().ok().map(u64::from_ne_bytes)).collect();
    ids.into_iter().filter(|id| !keep(*id)).for_each(|id| leases.end(id));
    Ok(())
}

struct Leases {
    map: MapHandle,
    path: PathBuf,
}

impl Leases {
    fn open(paths: &Paths) -> Result<Option<Self>> {
        Ok(policy::shared_map(paths, &paths.leases())?.map(|map| Self { map, path: paths.leases() }))
    }

    /// A cgroup whose program is older than leases has not made the map.
    fn ensure(paths: &Paths) -> Result<Self> {
        if let Some(leases) = Self::open(paths)? {
            return Ok(leases);
        }
        let path = paths.leases();
        let what = || format!("cannot pin {}", path.display());
        let opts = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: libbpf_sys::BPF_F_NO_PREALLOC,
            ..Default::default()
        };
        let bytes = size_of::<u64>() as u32;
        let mut map = MapHandle::create(MapType::Hash, Some("leases"), bytes, bytes, MAX_POLICIES, &opts)
            .map_err(Error::bpf(what()))?;
        map.pin(&path).map_err(Error::bpf(what()))?;
        Ok(Self { map, path })
    }

    fn renew(&self, id: u64, length: Duration, flags: MapFlags) -> Result<()> {
        let deadline = now_ns().saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX));
        self.map.update(&id.to_ne_bytes(), &deadline.to_ne_bytes(), flags).map_err(self.error("write"))
    }

    fn end(&self, id: u64) {
        if let Err(error) = self.map.delete(&id.to_ne_bytes()) {
            tracing::debug!("ending the lease of cgroup {id}: {error}");
        }
    }

    fn error(&self, verb: &str) -> impl FnOnce(libbpf_rs::Error) -> Error {
        Error::bpf(format!("cannot {verb} {}", self.path.display()))
    }
}

/// The clock of `bpf_ktime_get_boot_ns`, which goes on while the host sleeps.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_BOOTTIME).expect("Linux has this clock");
    u64::try_from(Duration::from(now).as_nanos()).unwrap_or(u64::MAX)
}
