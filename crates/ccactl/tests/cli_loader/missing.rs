//! Hosts that lack something: rights, kernel features, mounts, cgroups.

use crate::host::{Host, cgroup2, eventually, failed, registered, succeeded};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;

#[test]
fn each_missing_capability_is_named() {
    let Some(host) = Host::with_root() else { return };
    for (bit, name) in [(12_u64, "CAP_NET_ADMIN"), (21, "CAP_SYS_ADMIN"), (39, "CAP_BPF")] {
        for args in [&["status"][..], &["probe"], &["load", "reno", "--cgroup", "/x"], &["run", "reno", "--", "true"]] {
            let mut command = host.command(args);
            // SAFETY: prctl is a plain system call, fine between fork and exec. root gets at exec what is left in the
            // bounding set.
            unsafe {
                command.pre_exec(move || match libc::prctl(libc::PR_CAPBSET_DROP, bit, 0, 0, 0) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                });
            }
            failed(&command.output().unwrap(), 4, &[&format!("missing {name}:"), "root"]);
        }
    }
}

#[test]
fn a_kernel_without_type_information_or_struct_ops_is_told() {
    let Some(host) = Host::with_root() else { return };
    let load = |btf: &Path| {
        host.command(&["load", "reno", "--cgroup", &host.cgroup(), "--create"]).env("CCACTL_BTF", btf).output().unwrap()
    };
    let file = host.run.path().join("btf");
    failed(&load(&file), 3, &["no kernel type information", "CONFIG_DEBUG_INFO_BTF"]);

    // The header of a BTF file that holds no type, and its one empty string.
    let header: Vec<u8> = [24_u32, 0, 0, 0, 1].into_iter().flat_map(u32::to_ne_bytes).collect();
    fs::write(&file, [&0xeb9f_u16.to_ne_bytes()[..], &[1, 0], &header, &[0]].concat()).unwrap();
    failed(&load(&file), 3, &["cannot take congestion control from BPF", "6.1"]);
    assert!(!host.directory().exists() && !host.bpffs().exists());
}

#[test]
fn l4s_is_refused_where_the_kernel_has_no_accurate_ecn_and_goes_with_classic_ecn() {
    let Some(host) = Host::with_root() else { return };
    let probe = host.json(&["probe", "--json"]);
    let rows = probe["algorithms"].as_array().unwrap();
    let prague = rows.iter().find(|row| row["name"] == "prague").unwrap();
    if prague["classic_ecn"] == false {
        eprintln!("not run: {} has Accurate ECN; crates/lab/tests/linux_7.rs is for such kernels", probe["kernel"]);
        return;
    }
    let (cgroup, name) = (host.cgroup(), host.name());
    let load = ["load", "prague", "--cgroup", &cgroup, "--create", "--as", &name];
    failed(&host.ccactl(&load), 3, &["prague asks for Accurate ECN and ECT(1)", "Linux 7.0", "--set classic_ecn=1"]);
    assert!(!host.directory().exists(), "a load that failed has made nothing");
    assert!(!host.bpffs().exists());

    let classic = host.json(&[&load[..], &["--set", "classic_ecn=1", "--json"]].concat());
    assert_eq!((&classic["change"], &classic["ect1_interfaces"]), (&"attached".into(), &serde_json::json!([])));
    host.ok(&["unload", "--cgroup", &cgroup]);
    fs::remove_dir(host.directory()).unwrap();
}

#[test]
fn a_host_without_cgroup2_is_told() {
    let Some(host) = Host::with_root() else { return };
    let mounts = host.run.path().join("mounts");
    fs::write(&mounts, "proc /proc proc rw 0 0\n").unwrap();
    let output = host.command(&["load", "reno", "--cgroup", "/x"]).env("CCACTL_MOUNTS", &mounts).output().unwrap();
    failed(&output, 3, &["no cgroup2 mount", "mount -t cgroup2"]);
}

#[test]
fn a_cgroup_that_is_missing_on_cgroup1_or_the_root_is_refused() {
    let Some(host) = Host::with_root() else { return };
    let load = |cgroup: &str| host.ccactl(&["load", "reno", "--cgroup", cgroup]);
    failed(&load(&host.cgroup()), 2, &[host.directory().to_str().unwrap(), "--create"]);
    failed(&host.ccactl(&["unload", "--cgroup", &host.cgroup()]), 2, &["no cgroup"]);
    failed(&load("/"), 2, &["root cgroup"]);
    failed(&load(cgroup2().to_str().unwrap()), 2, &["root cgroup"]);
    failed(&load("/a/../.."), 2, &["not below the cgroup2 mount"]);

    let mounts = host.run.path().join("mounts");
    let v2 = cgroup2();
    fs::write(&mounts, format!("cgroup /mnt/v1/memory cgroup rw 0 0\ncgroup2 {} cgroup2 rw 0 0\n", v2.display()))
        .unwrap();
    let on_v1 = ["load", "reno", "--cgroup", "/mnt/v1/memory/bench", "--create"];
    let output = host.command(&on_v1).env("CCACTL_MOUNTS", &mounts).output().unwrap();
    failed(&output, 2, &["/mnt/v1/memory/bench", "cgroup1", v2.to_str().unwrap()]);
}

#[test]
fn bpffs_is_mounted_when_missing_and_told_when_that_fails() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    let args = host.load_args(&name, &cgroup);
    let no_bpffs = || {
        unshare(CloneFlags::CLONE_NEWNS)?;
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
        umount2("/sys/fs/bpf", MntFlags::MNT_DETACH)
    };
    let mut command = host.command(&args);
    // SAFETY: only system calls between fork and exec.
    unsafe { command.pre_exec(move || no_bpffs().map_err(io::Error::from)) };
    succeeded(&command.output().unwrap(), &args);
    // The mount, the pins in it and with them the registration end with that mount namespace.
    eventually("the end of the registration", || !registered(&name));
    fs::remove_dir(host.directory()).unwrap();

    // A /sys/fs without the directory to mount it on.
    let mut command = host.command(&args);
    let no_sys_fs = move || {
        no_bpffs()?;
        mount(Some("tmpfs"), "/sys/fs", Some("tmpfs"), MsFlags::MS_RDONLY, None::<&str>)
    };
    // SAFETY: only system calls between fork and exec.
    unsafe { command.pre_exec(move || no_sys_fs().map_err(io::Error::from)) };
    failed(&command.output().unwrap(), 3, &["no BPF file system", "mount -t bpf"]);

    let elsewhere = host.run.path().join("pins");
    let output = host.command(&args).env("CCACTL_BPFFS", &elsewhere).output().unwrap();
    failed(&output, 3, &["no BPF file system", elsewhere.to_str().unwrap()]);
    assert!(!elsewhere.exists() && !registered(&name) && !host.directory().exists(), "nothing is left half made");
}
