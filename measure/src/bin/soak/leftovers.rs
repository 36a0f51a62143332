//! What ccactl could leave behind.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// The kernel frees objects a grace period after their last user.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Kernel names that start with `prefix`, the bpffs folder, and programs of the cgroup; empty when there are none, after a
/// moment's patience.
pub fn leftovers(prefix: &str, bpffs: &Path, cgroup: &Path) -> Vec<String> {
    let give_up = Instant::now() + GONE_WITHIN;
    loop {
        let found = now(prefix, bpffs, cgroup);
        if found.is_empty() || Instant::now() > give_up {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn now(prefix: &str, bpffs: &Path, cgroup: &Path) -> Vec<String> {
    let mut found: Vec<String> = registered(prefix).iter().map(|name| format!("{name} is still registered")).collect();
    if bpffs.exists() {
        found.push(format!("{} is still there", bpffs.display()));
    }
    match sockops_programs(cgroup) {
        Ok(0) => {}
        Ok(count) => found.push(format!("{} still has {count} sockops programs", cgroup.display())),
        Err(error) => found.push(format!("the programs of {} cannot be read: {error}", cgroup.display())),
    }
    found
}

/// Congestion controls of the kernel whose names start with `prefix`.
pub fn registered(prefix: &str) -> Vec<String> {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
}

fn sockops_programs(cgroup: &Path) -> std::io::Result<u32> {
    let directory = fs::File::open(cgroup)?;
    let mut options = libbpf_sys::bpf_prog_query_opts {
        sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    // SAFETY: the descriptor is open and the options are a valid struct of the size that they carry.
    let result = unsafe {
        libbpf_sys::bpf_prog_query_opts(directory.as_raw_fd(), libbpf_sys::BPF_CGROUP_SOCK_OPS, &raw mut options)
    };
    if result < 0 {
        return Err(std::io::Error::from_raw_os_error(-result));
    }
    // SAFETY: the kernel wrote this member, whichever name of the union is used.
    Ok(unsafe { options.__bindgen_anon_1.count })
}
