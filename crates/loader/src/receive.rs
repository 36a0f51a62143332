//! Receiving algorithms: what window the sockets of a cgroup offer.
//!
//! `receive/CGROUP_ID/{link,loaded}`: the program of the algorithm, attached to the cgroup, and what was loaded; the
//! program's id stands where that of a table stands for a sending algorithm. The map
//! `receivers` tells the programs which cgroups have one, `offers` what they have bounded. `loaded` is pinned before
//! `link` and removed after it. While a program is replaced there is a second record, `loaded_new`; the one with the id
//! of the attached program is true.

use crate::bpffs;
use crate::cgroup::{self, Life};
use crate::error::{Error, Result};
use crate::fault;
use crate::loader::{Except, Loader};
use crate::migrate::{self, Migrator, Scope};
use crate::netns;
use crate::object;
use crate::paths::Paths;
use crate::request::Loadable;
use crate::status::{self, TunableSetting};
use crate::stored;
use crate::struct_ops;
use crate::time::rfc3339;
use ccactl_abi::layout::{Loaded, ReceiverRow, name_str};
use ccactl_abi::objects::RECEIVE;
use ccactl_host::lock;
use ccactl_host::state::OFFERS_MAP;
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, OpenObject, Program, ProgramMut};
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

/// One `load --receive`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiveRequest {
    /// Algorithm and tunables: [`Loadable::receiver`].
    pub wanted: Loadable,
    /// cgroup, relative to the cgroup2 mount or absolute below it.
    pub cgroup: PathBuf,
    /// Make the cgroup when it is missing.
    pub create: bool,
    /// Only where the cgroup has a receiving algorithm already.
    pub only_swap: bool,
}

/// What happened to a cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiveChange {
    /// It had no receiving algorithm.
    Attached,
    /// It had another one, or other tunables.
    Switched {
        /// Name before.
        from: String,
    },
    /// Everything was there already.
    Unchanged,
}

/// Live sockets that an algorithm was brought to or taken from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiverSockets {
    /// Of so many.
    pub total: u64,
    /// Of them those with which the kernel cannot do it: before Linux 6.12 only new connections get an algorithm.
    pub out_of_reach: u64,
}

/// Result of [`Loader::load_receive`] and [`Loader::unload_receive`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiveOutcome {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Directory of the cgroup, unless it was removed.
    pub cgroup: Option<PathBuf>,
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// What happened; of an unload always [`ReceiveChange::Switched`].
    pub change: ReceiveChange,
    /// Live sockets.
    pub sockets: ReceiverSockets,
}

/// Condition of a receiving algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverState {
    /// The sockets of the cgroup have it.
    Active,
    /// The cgroup was removed.
    CgroupRemoved,
    /// The program is no longer attached to the cgroup.
    Detached,
}

/// One cgroup with a receiving algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverStatus {
    /// Directory of the cgroup, unless it was removed or lies outside of what this process sees.
    pub cgroup: Option<PathBuf>,
    /// The kernel's id of the cgroup.
    pub cgroup_id: u64,
    /// Name of the algorithm.
    pub algorithm: String,
    /// All tunables with the values in force, in the order of the file.
    pub tunables: Vec<TunableSetting>,
    /// Since when, RFC 3339 in UTC.
    pub attached_since: String,
    /// Whether it works.
    pub state: ReceiverState,
}

impl Loader {
    /// Gives a cgroup a receiving algorithm, in place of the one that it has: for new connections, and for live ones
    /// where the kernel can. The same request again changes nothing.
    ///
    /// # Errors
    /// Bad input, [`Error::NoReceiver`], or the kernel's refusal; after an error everything is as it was before.
    pub fn load_receive(&self, request: &ReceiveRequest) -> Result<ReceiveOutcome> {
        if !request.create {
            self.mount.resolve(&request.cgroup).map_err(Error::can_create)?;
        }
        let lock = self.lock()?;
        self.prepare(&lock, Except::Nothing)?;
        bpffs::ensure(&self.paths)?;
        let (cgroup, made) = self.mount.create(&request.cgroup)?;
        let id = cgroup::id(&cgroup)?;
        let loaded = self.give(request, &cgroup, id).inspect_err(|_| {
            self.collect_after(&lock, "load");
            cgroup::remove_made(&made);
        });
        let change = loaded?;
        self.collect_after(&lock, "load");
        let sockets = match change {
            ReceiveChange::Unchanged => ReceiverSockets::default(),
            _ => self.visit(id, Some(&cgroup), Visit::Ask)?,
        };
        let algorithm = request.wanted.algorithm.name.to_owned();
        Ok(ReceiveOutcome { algorithm, cgroup: Some(cgroup), cgroup_id: id, change, sockets })
    }

    fn give(&self, request: &ReceiveRequest, cgroup: &Path, id: u64) -> Result<ReceiveChange> {
        let wanted = &request.wanted;
        let Some(before) = read(&self.paths, id)? else {
            if request.only_swap {
                return Err(Error::NoReceiver { path: cgroup.to_owned() });
            }
            attach(&self.paths, wanted, cgroup, id).inspect_err(|_| drop(forget(&self.paths, id)))?;
            return Ok(ReceiveChange::Attached);
        };
        if struct_ops::same(&before, wanted) {
            return Ok(ReceiveChange::Unchanged);
        }
        replace(&self.paths, wanted, id)?;
        Ok(ReceiveChange::Switched { from: name_str(&before.algorithm).to_owned() })
    }

    /// Takes the receiving algorithm of a cgroup away, and gives live sockets the kernel's window back. `None` when it
    /// had none.
    ///
    /// # Errors
    /// A cgroup that does not exist, or a pin that cannot be removed.
    pub fn unload_receive(&self, cgroup: &Path) -> Result<Option<ReceiveOutcome>> {
        let id = cgroup::id(&self.mount.resolve(cgroup)?)?;
        Ok(self.unload_receivers(|found| found == id)?.pop())
    }

    /// The same for every cgroup.
    ///
    /// # Errors
    /// A pin that cannot be removed.
    pub fn unload_all_receive(&self) -> Result<Vec<ReceiveOutcome>> {
        self.unload_receivers(|_| true)
    }

    pub(crate) fn unload_receivers(&self, wanted: impl Fn(u64) -> bool) -> Result<Vec<ReceiveOutcome>> {
        let lock = self.lock()?;
        let mut outcomes = Vec::new();
        for id in ids(&self.paths)?.into_iter().filter(|id| wanted(*id)) {
            let algorithm =
                read(&self.paths, id)?.map_or("unknown".to_owned(), |loaded| name_str(&loaded.algorithm).to_owned());
            let cgroup = self.path_of(id);
            let sockets = self.take_receiver(id, cgroup.as_deref())?;
            let change = ReceiveChange::Switched { from: algorithm.clone() };
            outcomes.push(ReceiveOutcome { algorithm, cgroup, cgroup_id: id, change, sockets });
        }
        self.collect_after(&lock, "unload");
        Ok(outcomes)
    }

    /// The program first, or it would bound again what is released; the record last, so that the next call completes this.
    fn take_receiver(&self, id: u64, cgroup: Option<&Path>) -> Result<ReceiverSockets> {
        bpffs::remove_link(&link_path(&self.paths, id))?;
        fault::point("receiver-detached");
        let sockets = self.visit(id, cgroup, Visit::Release)?;
        forget(&self.paths, id)?;
        Ok(sockets)
    }

    /// Every cgroup with a receiving algorithm, by id.
    ///
    /// # Errors
    /// A pin that cannot be read.
    pub fn receivers(&self) -> Result<Vec<ReceiverStatus>> {
        let ids = ids(&self.paths)?;
        let lives: HashMap<u64, Life> = self.mount.lives(&ids).into_iter().collect();
        ids.iter().filter_map(|id| self.receiver_status(*id, &lives[id]).transpose()).collect()
    }

    fn receiver_status(&self, id: u64, life: &Life) -> Result<Option<ReceiverStatus>> {
        let Some(loaded) = read(&self.paths, id)? else { return Ok(None) };
        let state = if *life == Life::Removed {
            ReceiverState::CgroupRemoved
        } else if attached_program(&self.paths, id)?.is_some() {
            ReceiverState::Active
        } else {
            ReceiverState::Detached
        };
        let known = stored::algorithm_of(&self.paths, &loaded);
        Ok(Some(ReceiverStatus {
            cgroup: life.path().map(Path::to_owned),
            cgroup_id: id,
            algorithm: name_str(&loaded.algorithm).to_owned(),
            tunables: known.map(|row| status::settings(row, Some(&loaded))).unwrap_or_default(),
            attached_since: rfc3339(loaded.loaded_unix_ns),
            state,
        }))
    }

    /// Completes or undoes what a killed process left, and lets go of removed cgroups.
    pub(crate) fn recover_receivers(&self) -> Result<()> {
        let ids = ids(&self.paths)?;
        for (id, life) in self.mount.lives(&ids) {
            settle(&self.paths, id)?;
            if life == Life::Removed || attached_program(&self.paths, id)?.is_none() {
                tracing::warn!("taking back the receiving algorithm of cgroup {id}: it, or the cgroup, is gone");
                self.take_receiver(id, life.path())?;
            }
        }
        Ok(())
    }

    /// Goes over the live sockets of a cgroup, in every network namespace.
    fn visit(&self, id: u64, cgroup: Option<&Path>, visit: Visit) -> Result<ReceiverSockets> {
        let mut object = object::open("receive", RECEIVE)?;
        object::set_rodata(&mut object, "receive", "cgroup_id", id.cast_signed())?;
        object::set_rodata(&mut object, "receive", "is_release", i64::from(visit == Visit::Release))?;
        pin_maps(&mut object, &self.paths)?;
        let object = object::finish(object, "receive")?;
        let program = object.progs_mut().next().expect("receive.bpf.c has one program");
        let link = program.attach().map_err(Error::bpf("cannot start the iterator over sockets"))?;

        let level = cgroup.map_or(0, |cgroup| self.mount.level(cgroup));
        let finder = Migrator::rehearse(&self.paths, Scope::Policy { id, level }, cgroup, &[])?;
        let mut sockets = ReceiverSockets::default();
        for namespace in finder.namespaces()?.files() {
            for row in netns::inside(namespace, || migrate::rows::<ReceiverRow>(&link))? {
                sockets.total += 1;
                sockets.out_of_reach += u64::from(row.error != 0);
            }
        }
        Ok(sockets)
    }
}

/// What a pass over live sockets does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// The kernel is to call the program for them.
    Ask,
    /// They get the kernel's window back.
    Release,
}

fn link_path(paths: &Paths, id: u64) -> PathBuf {
    paths.receive_of(id).join("link")
}

fn loaded_path(paths: &Paths, id: u64) -> PathBuf {
    paths.receive_of(id).join("loaded")
}

fn replacing_path(paths: &Paths, id: u64) -> PathBuf {
    paths.receive_of(id).join("loaded_new")
}

fn ids(paths: &Paths) -> Result<Vec<u64>> {
    let mut ids: Vec<u64> = bpffs::names(&paths.receive())?.iter().filter_map(|name| name.parse().ok()).collect();
    ids.sort_unstable();
    Ok(ids)
}

/// What the cgroup has.
fn read(paths: &Paths, id: u64) -> Result<Option<Loaded>> {
    let attached = attached_program(paths, id)?;
    let record = struct_ops::read_record(&loaded_path(paths, id))?;
    let replacing = struct_ops::read_record(&replacing_path(paths, id))?;
    Ok(replacing.filter(|new| Some(new.struct_ops_map_id) == attached).or(record))
}

/// Hashes of the objects that receiving algorithms are of.
pub(crate) fn objects(paths: &Paths) -> Result<Vec<u64>> {
    let mut hashes = Vec::new();
    for id in ids(paths)? {
        for path in [loaded_path(paths, id), replacing_path(paths, id)] {
            hashes.extend(struct_ops::read_record(&path)?.map(|loaded| loaded.object_hash));
        }
    }
    Ok(hashes)
}

/// Id of the program that is attached to the cgroup by our link.
fn attached_program(paths: &Paths, id: u64) -> Result<Option<u32>> {
    let path = link_path(paths, id);
    if !path.exists() {
        return Ok(None);
    }
    let what = || format!("cannot read {}", path.display());
    let info = Link::open(&path).and_then(|link| link.info()).map_err(Error::bpf(what()))?;
    let is_there = matches!(info.info, LinkTypeInfo::Cgroup(cgroup) if cgroup.cgroup_id == id);
    Ok(is_there.then_some(info.prog_id))
}

/// Has the kernel verify the program of an algorithm, for no cgroup. Nothing is pinned.
pub(crate) fn verify(wanted: &Loadable) -> Result<()> {
    load(None, wanted, 0).map(drop)
}

/// The program of an algorithm for the cgroup of this id. Without `paths` its maps are its own.
fn load(paths: Option<&Paths>, wanted: &Loadable, id: u64) -> Result<Object> {
    let name = wanted.algorithm.name;
    let mut object = object::open(name, wanted.algorithm.object())?;
    object::set_rodata(&mut object, name, "rcv_cgroup_id", id.cast_signed())?;
    for (tunable, raw) in &wanted.tunables {
        object::set_rodata(&mut object, name, tunable.name, *raw)?;
    }
    match paths {
        Some(paths) => pin_maps(&mut object, paths)?,
        None => MAPS.iter().try_for_each(|map| object::keep_private(&mut object, map))?,
    }
    object::finish(object, name)
        .map_err(|error| if wanted.algorithm.is_built_in() { error.without_log() } else { error })
}

/// The maps that all programs of receiving algorithms share.
const MAPS: [&str; 2] = ["receivers", OFFERS_MAP];

fn pin_maps(object: &mut OpenObject, paths: &Paths) -> Result<()> {
    for (map, path) in MAPS.into_iter().zip([paths.receivers(), paths.offers()]) {
        object::pin_map(object, map, &path)?;
    }
    Ok(())
}

fn program(object: &mut Object) -> ProgramMut<'_> {
    object.progs_mut().next().expect("RCV_WINDOW makes one program")
}

fn program_id(program: &ProgramMut<'_>, name: &str) -> Result<u32> {
    Program::id_from_fd(program.as_fd()).map_err(Error::bpf(format!("cannot look at {name}")))
}

fn attach(paths: &Paths, wanted: &Loadable, cgroup: &Path, id: u64) -> Result<()> {
    let mut object = load(Some(paths), wanted, id)?;
    let program = program(&mut object);
    for folder in [paths.receive(), paths.receive_of(id)] {
        lock::ensure_private(&folder)?;
    }
    stored::keep(paths, wanted.algorithm)?;
    struct_ops::pin_record(
        &struct_ops::record(wanted, program_id(&program, wanted.algorithm.name)?),
        &loaded_path(paths, id),
    )?;
    mark(paths, id)?;
    fault::point("receiver-recorded");
    let what = format!("cannot attach to the cgroup {}", cgroup.display());
    let directory = File::open(cgroup).map_err(Error::io(what.clone()))?;
    let mut link = program.attach_cgroup(directory.as_raw_fd()).map_err(Error::bpf(what))?;
    let path = link_path(paths, id);
    link.pin(&path).map_err(Error::bpf(format!("cannot pin {}", path.display())))
}

/// Puts another program behind the link, in one step.
fn replace(paths: &Paths, wanted: &Loadable, id: u64) -> Result<()> {
    settle(paths, id)?;
    let mut object = load(Some(paths), wanted, id)?;
    let program = program(&mut object);
    let (pending, path) = (replacing_path(paths, id), link_path(paths, id));
    stored::keep(paths, wanted.algorithm)?;
    struct_ops::pin_record(&struct_ops::record(wanted, program_id(&program, wanted.algorithm.name)?), &pending)?;
    fault::point("receiver-replacing");
    let what = || format!("cannot replace the program of {}", path.display());
    if let Err(error) = Link::open(&path).and_then(|mut link| link.update_prog(&program)) {
        bpffs::remove_pin(&pending)?;
        return Err(Error::bpf(what())(error));
    }
    fault::point("receiver-replaced");
    settle(paths, id)
}

/// Ends a replacement, also one that a killed process has begun: the true record takes its place.
fn settle(paths: &Paths, id: u64) -> Result<()> {
    let pending = replacing_path(paths, id);
    let Some(new) = struct_ops::read_record(&pending)? else { return Ok(()) };
    if Some(new.struct_ops_map_id) != attached_program(paths, id)? {
        return bpffs::remove_pin(&pending);
    }
    fs::rename(&pending, loaded_path(paths, id)).map_err(Error::io(format!("cannot rename {}", pending.display())))
}

/// Tells the programs that the cgroup has an algorithm.
fn mark(paths: &Paths, id: u64) -> Result<()> {
    let path = paths.receivers();
    let what = || format!("cannot write {}", path.display());
    let map = MapHandle::from_pinned_path(&path).map_err(Error::bpf(what()))?;
    map.update(&id.to_ne_bytes(), &1_u64.to_ne_bytes(), MapFlags::ANY).map_err(Error::bpf(what()))
}

/// Removes all that is pinned of a cgroup.
fn forget(paths: &Paths, id: u64) -> Result<()> {
    bpffs::remove_link(&link_path(paths, id))?;
    if paths.receivers().exists() {
        let what = || format!("cannot write {}", paths.receivers().display());
        let map = MapHandle::from_pinned_path(paths.receivers()).map_err(Error::bpf(what()))?;
        // That it was not there is fine.
        let _ = map.delete(&id.to_ne_bytes());
    }
    bpffs::remove_pin(&replacing_path(paths, id))?;
    bpffs::remove_pin(&loaded_path(paths, id))?;
    bpffs::remove_dir(&paths.receive_of(id))
}
