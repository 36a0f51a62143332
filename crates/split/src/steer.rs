//! The entrance of a transparent proxy: `bpf/steer.bpf.c` hands connections to other addresses to our listener. Nothing is pinned:
//! the link goes with the process.

use crate::error::{Error, Result};
use crate::target::Target;
use aya::maps::lpm_trie::Key;
use aya::maps::{LpmTrie, SockMap};
use aya::programs::SkLookup;
use aya::{Ebpf, EbpfLoader};
use ccactl_abi::objects::STEER;
use nix::errno::Errno;
use std::error::Error as Cause;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// `struct steer_target` after its length: family and port, which match as a whole, and the address.
type Place = [u8; 20];

const WHOLE_BITS: u32 = 32;
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// The attached program; dropping it detaches it.
#[derive(Debug)]
pub(crate) struct Steering {
    _program: Ebpf,
}

impl Steering {
    /// From now on new connections to `targets` in this thread's network namespace are `listener`'s.
    pub(crate) fn begin(listener: &OwnedFd, targets: &[Target]) -> Result<Self> {
        let mut words = vec![0_u64; STEER.len().div_ceil(size_of::<u64>())];
        // The ELF reader wants its tables aligned; embedded bytes have any alignment.
        let aligned = &mut bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..STEER.len()];
        aligned.copy_from_slice(STEER);
        let mut program = EbpfLoader::new().load(aligned).map_err(|error| refused(&error))?;
        let map = program.map_mut("targets").expect("steer.bpf.c has it");
        let mut map: LpmTrie<_, Place, u32> = map.try_into().map_err(|error| refused(&error))?;
        for target in targets {
            map.insert(&key(target), 1, 0).map_err(|error| refused(&error))?;
        }
        let map = program.map_mut("listener").expect("steer.bpf.c has it");
        let mut map: SockMap<_> = map.try_into().map_err(|error| refused(&error))?;
        map.set(0, listener, 0).map_err(|error| refused(&error))?;
        let namespace = File::open(OWN_NAMESPACE).map_err(Error::system("open the network namespace"))?;
        let lookup = program.program_mut("steer").expect("steer.bpf.c has it");
        let lookup: &mut SkLookup = lookup.try_into().map_err(|error| refused(&error))?;
        lookup.load().map_err(|error| refused(&error))?;
        lookup.attach(namespace).map_err(|error| refused(&error))?;
        Ok(Self { _program: program })
    }
}

fn key(target: &Target) -> Key<Place> {
    let mut place: Place = [0; 20];
    let family = if target.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    place[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    place[2..4].copy_from_slice(&target.port().to_ne_bytes());
    match target.address() {
        IpAddr::V4(address) => place[4..8].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => place[4..].copy_from_slice(&address.octets()),
    }
    Key::new(WHOLE_BITS + u32::from(target.prefix_bits()), place)
}

/// The kernel's answer is the innermost cause; of a verifier's log the last line tells most.
fn refused(error: &(dyn Cause + 'static)) -> Error {
    let mut innermost: &(dyn Cause + 'static) = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    let denied = |io: &io::Error| matches!(io.raw_os_error().map(Errno::from_raw), Some(Errno::EPERM | Errno::EACCES));
    let is_denied = innermost.downcast_ref::<io::Error>().is_some_and(denied);
    let (outer, inner) = (error.to_string(), innermost.to_string());
    let last = |text: &str| text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    let reason = if outer.contains(&inner) { last(&outer) } else { format!("{}: {}", last(&outer), last(&inner)) };
    Error::Steer { reason, is_denied }
}
