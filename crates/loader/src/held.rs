//! An algorithm for sockets that a process chooses it for itself, with `TCP_CONGESTION`, instead of a cgroup's policy. What is
//! registered for it is pinned nowhere: it goes with the process, however that ends.

use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::names;
use crate::object;
use crate::request::{Loadable, available_natives};
use ccactl_abi::layout::NAME_LEN;
use ccactl_abi::{Algorithm, native};
use ccactl_host::capabilities::Capability;
use libbpf_rs::{Link, MapCore, MapType};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::TcpCongestion};
use std::ffi::OsString;
use std::fmt;
use std::process;

/// Of the algorithm's own name, in front of what makes the registered name that of this process.
const STEM_BYTES: usize = 8;

/// An algorithm that sockets of this process can choose for as long as this value lives. Sockets that have it by then keep it.
#[derive(Debug)]
pub struct HeldAlgorithm {
    algorithm: String,
    kernel_name: String,
    _link: Option<Link>,
}

impl HeldAlgorithm {
    /// Finds what a name stands for: `native:NAME` for the kernel's own, the kernel name of one that is registered, as it is,
    /// or else a name or a file as [`Choice::parse`](crate::Choice::parse) takes it. That one is registered with its defaults
    /// under a name that no policy has. `slot`, 0 or 1, keeps two algorithms of one process apart.
    ///
    /// # Errors
    /// Unknown algorithm, missing rights, the kernel's refusal, or [`Error::NoStructOpsLink`].
    pub fn find(algorithm: &str, slot: u32) -> Result<Self> {
        let of_kernel = |kernel_name: &str| {
            choose_once(kernel_name)?;
            Ok(Self { algorithm: algorithm.to_owned(), kernel_name: kernel_name.to_owned(), _link: None })
        };
        if let Some(name) = algorithm.strip_prefix("native:") {
            if name.is_empty() || name.len() >= NAME_LEN || Algorithm::by_kernel_name(name).is_some() {
                return Err(unknown_native(name));
            }
            return of_kernel(name);
        }
        if !native::NAMES.contains(&algorithm) && names::registered()?.iter().any(|name| name == algorithm) {
            return of_kernel(algorithm);
        }
        let own = names::pick_algorithm(algorithm)?;
        Loader::open()?
            .hold(algorithm, Loadable { kernel_name: name_of_process(own, slot), ..Loadable::new(own, None)? })
    }

    /// Name that sockets show, and that `TCP_CONGESTION` takes.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }
}

impl fmt::Display for HeldAlgorithm {
    /// As it was asked for, and what sockets show where that is something else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.algorithm)?;
        let plain = self.algorithm.strip_prefix("native:").unwrap_or(&self.algorithm);
        if plain == self.kernel_name { Ok(()) } else { write!(f, " (as {})", self.kernel_name) }
    }
}

impl Loader {
    fn hold(&self, algorithm: &str, wanted: Loadable) -> Result<HeldAlgorithm> {
        let kernel_name = wanted.kernel_name.clone();
        if !self.kernel.struct_ops_links {
            return Err(Error::NoStructOpsLink { algorithm: algorithm.to_owned() });
        }
        // Where somebody records, it sees the inner state; else the map dies with us.
        let trace_pin = Some(self.paths.trace_map()).filter(|pin| pin.exists());
        let mut object = object::load(&wanted, trace_pin.as_deref(), self.kernel)?;
        let mut table = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps)
            .expect("the name was set in this very table");
        let what = format!("cannot register {kernel_name} with the kernel");
        let link = table.attach_struct_ops().map_err(Error::bpf(what))?;
        Ok(HeldAlgorithm { algorithm: algorithm.to_owned(), kernel_name, _link: Some(link) })
    }
}

/// A process id has 22 bits at most, so that with the slot it is six digits.
fn name_of_process(algorithm: &Algorithm, slot: u32) -> String {
    let stem = algorithm.name.replace('-', "_");
    format!("{}_{:06x}", stem.get(..STEM_BYTES).unwrap_or(&stem), process::id() << 1 | slot & 1)
}

/// Whether a socket can choose it, which also loads the kernel's module.
fn choose_once(name: &str) -> Result<()> {
    let probe = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|errno| Error::io("cannot open a TCP socket")(errno.into()))?;
    match setsockopt(&probe, TcpCongestion, &OsString::from(name)) {
        Ok(()) => Ok(()),
        Err(Errno::EPERM) => {
            Err(Error::MissingCapabilities { capabilities: vec![Capability::CAP_NET_ADMIN.to_string()] })
        }
        Err(_) => Err(unknown_native(name)),
    }
}

fn unknown_native(name: &str) -> Error {
    Error::UnknownNative { name: name.to_owned(), available: available_natives() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_fits_and_differs_by_slot() {
        for algorithm in ccactl_abi::ALGORITHMS.iter() {
            let [first, second] = [0, 1].map(|slot| name_of_process(algorithm, slot));
            assert!(first.len() < NAME_LEN && second.len() < NAME_LEN && first != second, "{first} {second}");
        }
    }

    #[test]
    fn the_kernels_own_is_found_under_its_prefix_only() {
        assert_eq!(HeldAlgorithm::find("native:reno", 0).unwrap().to_string(), "native:reno");
        for name in ["native:", "native:bbrv2", "native:no_such_thing"] {
            assert!(matches!(HeldAlgorithm::find(name, 0), Err(Error::UnknownNative { .. })), "{name}");
        }
        assert!(matches!(HeldAlgorithm::find("no-such-thing", 0), Err(Error::UnknownAlgorithm { .. })));
        assert!(matches!(HeldAlgorithm::find("rledbat", 0), Err(Error::WrongKind { .. })));
    }
}
