//! What the running kernel offers, one line each, before minutes are spent on a build.

use super::privilege::{Privilege, is_root};
use crate::error::{Error, KERNEL, PERMISSION, Result};
use crate::shell::succeeds;
use std::fs;
use std::path::Path;

const BPFFS: &str = "/sys/fs/bpf";
const BTF: &str = "/sys/kernel/btf/vmlinux";
const TUN: &str = "/dev/net/tun";
/// Type that the kernel's BTF has when TCP congestion control may be written in BPF (5.6 and later).
const STRUCT_OPS_TYPE: &[u8] = b"bpf_struct_ops_tcp_congestion_ops";

/// One thing that `ccactl` needs of the host.
#[derive(Debug, PartialEq, Eq)]
pub struct Fact {
    pub name: &'static str,
    /// What was found, or what is missing and what to do, with the exit code for it.
    pub found: std::result::Result<String, (u8, String)>,
}

/// Everything that `ccactl` needs of the host, in the order of the preflight.
pub fn inspect() -> Vec<Fact> {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let lacks = |code, text: &str| Err((code, text.to_owned()));
    let privilege = match Privilege::current() {
        Privilege::Root => Ok("yes".to_owned()),
        Privilege::Sudo => Ok("through sudo".to_owned()),
        Privilege::None => {
            lacks(PERMISSION, "neither root nor a sudo that works; BPF, namespaces and cgroups need it: repeat as root")
        }
    };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let btf = fs::read(BTF).ok();
    let struct_ops = btf.as_ref().is_some_and(|btf| contains(btf, STRUCT_OPS_TYPE));
    let cgroup2 = mount_point(&mounts, "cgroup2");
    let facts = [
        ("root", privilege),
        ("kernel", Ok(release.trim().to_owned())),
        match &btf {
            Some(_) => ("BTF", Ok(BTF.to_owned())),
            None => ("BTF", lacks(KERNEL, "no /sys/kernel/btf/vmlinux: boot a kernel with CONFIG_DEBUG_INFO_BTF=y")),
        },
        if struct_ops {
            ("struct_ops", Ok("TCP congestion control in BPF".to_owned()))
        } else {
            let text = "no TCP congestion control in BPF: boot a kernel with CONFIG_BPF_JIT=y and CONFIG_BPF_SYSCALL=y, 6.4 or later";
            ("struct_ops", lacks(KERNEL, text))
        },
        match cgroup2 {
            Some(path) => ("cgroup2", Ok(path.to_owned())),
            None => {
                let text =
                    "not mounted: `mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none /sys/fs/cgroup/unified`";
                ("cgroup2", lacks(KERNEL, text))
            }
        },
        match bpffs_mounted(&mounts) {
            true => ("bpffs", Ok(BPFFS.to_owned())),
            // Not a reason to stop: ccactl mounts it as well, and it runs as root.
            false => ("bpffs", Ok(format!("not mounted; ccactl mounts it at {BPFFS}"))),
        },
        match Path::new(TUN).exists() {
            true => ("tun", Ok(TUN.to_owned())),
            false => ("tun", lacks(KERNEL, "no /dev/net/tun: `modprobe tun` (the testbed's links need it)")),
        },
    ];
    facts.into_iter().map(|(name, found)| Fact { name, found }).collect()
}

/// One line per fact.
pub fn print(facts: &[Fact]) {
    for fact in facts {
        let text = match &fact.found {
            Ok(text) => text.clone(),
            Err((_, text)) => format!("MISSING  {text}"),
        };
        println!("{:<11} {text}", fact.name);
    }
}

/// The first thing that is missing, as an error.
pub fn require(facts: &[Fact]) -> Result {
    match facts.iter().find_map(|fact| fact.found.as_ref().err().map(|found| (fact.name, found))) {
        Some((name, (code, text))) => Err(Error::new(*code, format!("{name}: {text}"))),
        None => Ok(()),
    }
}

/// Mounts bpffs where it belongs, if this is root and nobody has. Whether it worked shows in [`inspect`].
pub fn mount_bpffs() {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    if is_root() && !bpffs_mounted(&mounts) {
        let mounted = succeeds(std::process::Command::new("mount").args(["-t", "bpf", "bpf", BPFFS]));
        println!("bpffs was not mounted: `mount -t bpf bpf {BPFFS}` {}", if mounted { "done" } else { "failed" });
    }
}

fn bpffs_mounted(mounts: &str) -> bool {
    entries(mounts).any(|(path, kind)| path == BPFFS && kind == "bpf")
}

/// Where a file system type is mounted first: `/sys/fs/cgroup` or, on hybrid hierarchies, below it.
fn mount_point<'a>(mounts: &'a str, kind: &str) -> Option<&'a str> {
    entries(mounts).find(|(_, k)| *k == kind).map(|(path, _)| path)
}

/// Mount point and type of each line of `/proc/mounts`.
fn entries(mounts: &str) -> impl Iterator<Item = (&str, &str)> {
    mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
sysfs /sys sysfs rw 0 0
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
none /sys/fs/bpf bpf rw 0 0
";

    #[test]
    fn the_cgroup2_mount_of_a_hybrid_hierarchy_is_found() {
        assert_eq!(mount_point(HYBRID, "cgroup2"), Some("/sys/fs/cgroup/unified"));
        assert_eq!(mount_point("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n", "cgroup2"), None);
    }

    #[test]
    fn bpffs_counts_only_where_it_belongs() {
        assert!(bpffs_mounted(HYBRID));
        assert!(!bpffs_mounted("bpf /tmp/bpf bpf rw 0 0\n"));
        assert!(!bpffs_mounted("tmpfs /sys/fs/bpf tmpfs rw 0 0\n"));
    }

    #[test]
    fn the_first_missing_fact_decides_the_exit_code() {
        let ok = || Fact { name: "root", found: Ok("yes".to_owned()) };
        let lacks = |name, code| Fact { name, found: Err((code, "do this".to_owned())) };
        assert_eq!(require(&[ok()]), Ok(()));
        let error = require(&[ok(), lacks("BTF", KERNEL), lacks("tun", PERMISSION)]).expect_err("BTF is missing");
        assert_eq!(error, Error::new(KERNEL, "BTF: do this"));
    }

    #[test]
    fn a_type_name_is_found_anywhere_in_the_bytes() {
        assert!(contains(b"\0tcp\0bpf_struct_ops_tcp_congestion_ops\0", STRUCT_OPS_TYPE));
        assert!(!contains(b"\0bpf_struct_ops_tcp\0", STRUCT_OPS_TYPE));
        assert!(!contains(b"", STRUCT_OPS_TYPE));
    }
}
