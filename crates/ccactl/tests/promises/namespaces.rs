//! No command removes a policy whose cgroup exists, wherever it is called from.

use crate::host::{Host, cgroup2, succeeded};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};
use serde_json::Value;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the caller sees of the cgroup2 hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// As the host does.
    Same,
    /// A mount made in the namespace, in the place of the host's: in a cgroup namespace it shows a part.
    Fresh,
    /// Another file system over the cgroups with policies: their paths are not found.
    Hidden,
    /// One cgroup in the place of the root, as a container gets it.
    Part,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    namespaces: CloneFlags,
    view: View,
}

impl Place {
    /// All 16 combinations of view, cgroup and network namespace, and each view in a pid namespace.
    fn all() -> Vec<Place> {
        let (cgroup, net, pid) = (CloneFlags::CLONE_NEWCGROUP, CloneFlags::CLONE_NEWNET, CloneFlags::CLONE_NEWPID);
        let none = CloneFlags::empty();
        let views = [View::Same, View::Fresh, View::Hidden, View::Part];
        let place = |view, namespaces| Place { namespaces: namespaces | CloneFlags::CLONE_NEWNS, view };
        let sets = [none, cgroup, net, cgroup | net, cgroup | pid];
        sets.into_iter().flat_map(|set| views.map(|view| place(view, set))).collect()
    }

    /// Whether the mount that is seen there begins at the root of the host's hierarchy.
    fn sees_the_root(self) -> bool {
        match self.view {
            View::Same | View::Hidden => true,
            View::Fresh => !self.namespaces.contains(CloneFlags::CLONE_NEWCGROUP),
            View::Part => false,
        }
    }
}

/// Has a command run in such a place, as a process of `home`. For use between fork and exec: system calls only.
fn enter(place: Place, home: &Path, hidden: &Path) -> io::Result<()> {
    let root = cgroup2();
    fs::write(home.join("cgroup.procs"), "0")?;
    unshare(place.namespaces)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    match place.view {
        View::Same => {}
        View::Fresh => {
            umount2(&root, MntFlags::MNT_DETACH)?;
            mount(Some("none"), &root, Some("cgroup2"), MsFlags::empty(), None::<&str>)?;
        }
        View::Hidden => mount(Some("none"), hidden, Some("tmpfs"), MsFlags::empty(), None::<&str>)?,
        View::Part => mount(Some(home), &root, None::<&str>, MsFlags::MS_BIND, None::<&str>)?,
    }
    if place.namespaces.contains(CloneFlags::CLONE_NEWPID) {
        // The next child is the first process of the namespace: it becomes the command.
        // SAFETY: between fork and exec there is one thread; the parent only waits.
        if let ForkResult::Parent { child } = unsafe { fork() }? {
            let _ = waitpid(child, None);
            // SAFETY: ends without unwinding into the test's code.
            unsafe { libc::_exit(0) };
        }
        mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), None::<&str>)?;
    }
    Ok(())
}

/// Without it `open_by_handle_at` is refused, so that the kernel does not say whether a cgroup lives.
fn give_up_the_right_to_ask_for_a_cgroup() -> io::Result<()> {
    const CAP_DAC_READ_SEARCH: libc::c_ulong = 2;
    // SAFETY: plain integers. Root has after exec what is left in the bounding set.
    let ret = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH) };
    if ret == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn call(mut command: Command, place: Place, home: PathBuf, hidden: PathBuf) -> Output {
    // SAFETY: see `enter`.
    unsafe { command.pre_exec(move || enter(place, &home, &hidden)) };
    command.stdin(Stdio::null()).output().unwrap()
}

/// What an operator sees of every policy, other than counts of sockets.
fn policies(host: &Host) -> Vec<(Value, Value, Value)> {
    let status = host.policies();
    let row = |row: &Value| (row["cgroup"].clone(), row["kernel_name"].clone(), row["state"].clone());
    status.as_array().unwrap().iter().map(row).collect()
}

#[test]
fn loads_from_other_namespaces_leave_every_policy_of_the_host_in_place() {
    let Some(host) = Host::with_root() else { return };
    let (name, top) = (host.name(), host.cgroup());
    let cgroups: Vec<String> = ["a", "a/b", "c"].iter().map(|below| format!("{top}/{below}")).collect();
    for cgroup in &cgroups {
        host.ok(&host.load_args(&name, cgroup));
    }
    let (home, hidden) = (host.directory().join("home"), host.directory().join("a"));
    fs::create_dir(&home).unwrap();
    // Names one of them. What is not in a file stays, unless its cgroup was removed.
    let file = host.run.path().join("policy.toml");
    fs::write(&file, format!("[cgroup.\"{}\"]\nalgorithm = \"reno\"\nas = \"{name}\"\n", cgroups[2])).unwrap();
    let apply = ["apply", file.to_str().unwrap()];
    let before = policies(&host);
    assert_eq!(before.len(), cgroups.len());
    let mut without_a_right = host.command(&apply);
    // SAFETY: only a system call between fork and exec.
    unsafe { without_a_right.pre_exec(give_up_the_right_to_ask_for_a_cgroup) };
    succeeded(&without_a_right.output().unwrap(), &apply);
    assert_eq!(policies(&host), before, "without CAP_DAC_READ_SEARCH");
    let places = Place::all();
    assert_eq!(places.len(), 20);
    for place in places {
        let inner = format!("{top}/inner");
        let load = host.command(&["load", "reno", "--cgroup", &inner, "--create", "--as", &name]);
        let output = call(load, place, home.clone(), hidden.clone());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        if place.sees_the_root() {
            assert!(output.status.success(), "{place:?}: {stderr}");
            let unload = host.command(&["unload", "--cgroup", &inner]);
            call(unload, place, home.clone(), hidden.clone());
            let _ = fs::remove_dir(host.directory().join("inner"));
        } else {
            assert!(stderr.contains("shows only a part of this host's cgroups"), "{place:?}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{place:?}: {stderr}");
        }
        assert_eq!(policies(&host), before, "{place:?}: {stderr}");
        let output = call(host.command(&apply), place, home.clone(), hidden.clone());
        assert_eq!(policies(&host), before, "{place:?}: {output:?}");
    }
    host.ok(&["unload", "--all"]);
    for below in ["home", "a/b", "a", "c"] {
        fs::remove_dir(host.directory().join(below)).unwrap();
    }
}

/// A policy goes with its cgroup, and only then; the kernel says so although sockets keep the cgroup in memory.
#[test]
fn the_policy_of_a_removed_cgroup_goes_with_the_next_change() {
    let Some(host) = Host::with_root() else { return };
    let (name, top) = (host.name(), host.cgroup());
    let (gone, stays) = (format!("{top}/gone"), format!("{top}/stays"));
    host.ok(&host.load_args(&name, &gone));
    host.ok(&host.load_args(&name, &stays));
    fs::remove_dir(host.directory().join("gone")).unwrap();
    let status = host.ok(&["status"]);
    assert!(status.contains("cgroup-removed") && status.contains("was removed: `ccactl unload --id"), "{status}");
    host.ok(&host.load_args(&name, &stays));
    let left = policies(&host);
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].0, stays.as_str());
    host.ok(&["unload", "--all"]);
    fs::remove_dir(host.directory().join("stays")).unwrap();
}
