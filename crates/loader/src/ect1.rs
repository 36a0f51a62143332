//! ECT(1) on the packets of L4S senders: `bpf/ect1.bpf.c` at the exit of every interface of a network namespace, and
//! `ect1/NAMESPACE-INTERFACE`, where the links are pinned that are to stay.

use crate::bpffs;
use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::object;
use crate::paths::Paths;
use crate::policy::Policies;
use crate::request::Choice;
use ccactl_abi::EcnNeed;
use ccactl_abi::objects::ECT1;
use ccactl_host::lock;
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{AsRawLibbpf, Link, Object};
use nix::net::if_::if_nameindex;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// The program at the exits of the interfaces that a namespace had when it was put there. Dropped, it is gone.
#[derive(Debug)]
pub struct Ect1 {
    _links: Vec<Link>,
}

impl Ect1 {
    /// Puts it at all exits of this thread's network namespace, for as long as the value lives.
    ///
    /// # Errors
    /// Interfaces that cannot be listed, or the kernel's refusal.
    pub fn in_this_namespace() -> Result<Self> {
        let object = program()?;
        let interfaces = interfaces()?;
        let links = interfaces.iter().map(|interface| attach(&object, interface)).collect::<Result<_>>()?;
        Ok(Self { _links: links })
    }
}

impl Loader {
    /// Has senders of this thread's network namespace send ECT(1), if that is what the algorithm needs, until no policy
    /// needs it any more. Only interfaces that are there now are changed. Returns the names of all.
    pub(crate) fn ensure_ect1(&self, choice: &Choice) -> Result<Vec<String>> {
        if !self.sends_ect1 || choice.ecn() != EcnNeed::Accurate {
            return Ok(Vec::new());
        }
        let folder = self.paths.ect1();
        lock::ensure_private(&folder)?;
        let namespace =
            fs::metadata(OWN_NAMESPACE).map_err(Error::io(format!("cannot look at {OWN_NAMESPACE}")))?.ino();
        let mut object = None;
        let interfaces = interfaces()?;
        for interface in &interfaces {
            let pin = folder.join(format!("{namespace}-{}", interface.index));
            if is_attached(&pin, interface.index)? {
                continue;
            }
            bpffs::remove_link(&pin)?;
            let object = match &object {
                Some(object) => object,
                None => object.insert(program()?),
            };
            let mut link = attach(object, interface)?;
            link.pin(&pin).map_err(Error::bpf(format!("cannot pin {}", pin.display())))?;
        }
        Ok(interfaces.into_iter().map(|interface| interface.name).collect())
    }
}

/// Removes the pinned ones unless a policy needs them.
pub(crate) fn retain(paths: &Paths) -> Result<()> {
    let folder = paths.ect1();
    if !folder.exists() || Policies::all(paths)?.iter().any(|(_, policy)| policy.needs_accecn()) {
        return Ok(());
    }
    for name in bpffs::names(&folder)? {
        bpffs::remove_link(&folder.join(name))?;
    }
    bpffs::remove_dir(&folder)
}

#[derive(Debug)]
struct Interface {
    index: u32,
    name: String,
}

fn interfaces() -> Result<Vec<Interface>> {
    let found = if_nameindex().map_err(|errno| Error::io("cannot list the network interfaces")(errno.into()))?;
    let named =
        found.iter().map(|one| Interface { index: one.index(), name: one.name().to_string_lossy().into_owned() });
    Ok(named.collect())
}

fn program() -> Result<Object> {
    object::finish(object::open("ect1", ECT1)?, "ect1")
}

/// Behind the programs of others, which then see ECT(0) as without us.
fn attach(object: &Object, interface: &Interface) -> Result<Link> {
    let program = object.progs().next().expect("ect1.bpf.c has one program");
    let index = i32::try_from(interface.index).expect("the kernel counts interfaces in an int");
    // SAFETY: the program belongs to the object, which outlives the call, and no options are passed.
    let link = unsafe { libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), index, ptr::null()) };
    // SAFETY: a fresh link that nobody else has; libbpf returns null with errno set otherwise.
    NonNull::new(link).map(|link| unsafe { Link::from_ptr(link) }).ok_or_else(|| {
        let source = std::io::Error::last_os_error().into();
        Error::Bpf { what: format!("cannot have {} send ECT(1)", interface.name), source }
    })
}

/// Whether the pinned link is at this interface still; that of a removed one is at none.
fn is_attached(pin: &Path, index: u32) -> Result<bool> {
    if !pin.exists() {
        return Ok(false);
    }
    let what = || format!("cannot read {}", pin.display());
    let info = Link::open(PathBuf::from(pin)).and_then(|link| link.info()).map_err(Error::bpf(what()))?;
    Ok(matches!(info.info, LinkTypeInfo::Tcx(tcx) if tcx.ifindex == index))
}
