//! Rights that are given up once they have been used.
//!
//! They belong to a thread, and a thread that it starts inherits them. So they are given up in each thread that runs, and
//! others are started afterwards.

pub use caps::Capability;
use caps::errors::CapsError;
use caps::{CapSet, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;
use std::fs;
use std::io;
use std::path::Path;

/// Rights could not be given up.
#[derive(Debug, thiserror::Error)]
#[error("cannot give up rights that are not needed any more: {0}")]
pub struct Error(String);

/// The calling thread keeps those of its rights that are in `needed`, and gives up all others for good: neither a program
/// that it starts nor anything else brings them back.
///
/// # Errors
/// [`Error`]; the kernel does not refuse this unless it is told to by a filter of system calls.
pub fn keep_only(needed: &[Capability]) -> Result<(), Error> {
    let failed = |error: CapsError| Error(error.to_string());
    let permitted = caps::read(None, CapSet::Permitted).map_err(failed)?;
    let kept: CapsHashSet = needed.iter().copied().filter(|capability| permitted.contains(capability)).collect();
    // This one needs a right of its own, without which the bounding set stays: then the flag below keeps it from mattering.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP).map_err(failed)? {
        for capability in caps::read(None, CapSet::Bounding).map_err(failed)?.difference(&kept) {
            caps::drop(None, CapSet::Bounding, *capability).map_err(failed)?;
        }
    }
    caps::clear(None, CapSet::Inheritable).map_err(failed)?;
    caps::set(None, CapSet::Effective, &kept).map_err(failed)?;
    caps::set(None, CapSet::Permitted, &kept).map_err(failed)?;
    set_no_new_privs().map_err(|errno| Error(errno.to_string()))
}

/// Which of these a process does not have, by name: in the order of `needed`. `status` is its `/proc/PID/status`; one that
/// does not say has none.
///
/// # Errors
/// When the file cannot be read.
pub fn missing(status: &Path, needed: &[Capability]) -> io::Result<Vec<String>> {
    let effective = effective_in(&fs::read_to_string(status)?);
    let lacks = |capability: &&Capability| effective & capability.bitmask() == 0;
    Ok(needed.iter().filter(lacks).map(ToString::to_string).collect())
}

fn effective_in(status: &str) -> u64 {
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    u64::from_str_radix(bits.trim(), 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Capability::{CAP_BPF, CAP_NET_ADMIN, CAP_SYS_ADMIN};
    use super::*;
    use std::thread;

    #[test]
    fn what_is_missing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let status = dir.path().join("status");
        let missing = |effective: &str| {
            fs::write(&status, format!("Name:\tx\nCapPrm:\t0\nCapEff:\t{effective}\n")).unwrap();
            missing(&status, &[CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_BPF]).unwrap()
        };
        assert_eq!(missing("000001ffffffffff"), Vec::<String>::new());
        assert_eq!(missing("0000017fffdfffff"), ["CAP_SYS_ADMIN", "CAP_BPF"]);
        assert_eq!(missing("garbage"), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN", "CAP_BPF"]);
        assert!(super::missing(&dir.path().join("none"), &[]).is_err());
    }

    /// Reads the rights of the calling thread as the kernel tells them, by the name of the set.
    fn own(set: &str) -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(set)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    }

    #[test]
    fn a_thread_keeps_what_it_needs_and_has_and_so_do_those_that_it_starts() {
        let before = own("CapPrm:");
        let kept = CAP_BPF.bitmask() & before;
        thread::spawn(move || {
            keep_only(&[CAP_BPF]).unwrap();
            let sets = || ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"].map(own);
            assert_eq!(sets(), [kept, kept, 0, 0]);
            assert_eq!(thread::spawn(sets).join().unwrap(), [kept, kept, 0, 0]);
            if before & Capability::CAP_SETPCAP.bitmask() != 0 {
                assert_eq!(own("CapBnd:"), kept);
            }
            assert_eq!(own("NoNewPrivs:"), 1);
            // Nor does it come back by asking for it.
            keep_only(&[CAP_BPF, CAP_SYS_ADMIN]).unwrap();
            assert_eq!(sets(), [kept, kept, 0, 0]);
        })
        .join()
        .unwrap();
        assert_eq!(own("CapPrm:"), before, "another thread keeps its own");
    }
}
