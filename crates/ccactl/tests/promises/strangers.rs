//! No unprivileged process delays ccactl: what it makes, nobody else can open, list or lock.

use crate::host::{Host, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NOBODY: u32 = 65534;

/// Everything in a folder, and the folder itself.
fn tree(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(tree(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// Whether nobody can do it: the exit status of a command as that user.
fn nobody_can(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).uid(NOBODY).gid(NOBODY).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

#[test]
fn nobody_else_can_open_list_or_lock_what_ccactl_makes() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    let mut load = host.command(&host.load_args(&name, &cgroup));
    // SAFETY: umask is a plain system call, fine between fork and exec.
    unsafe {
        load.pre_exec(|| {
            libc::umask(0);
            Ok::<(), io::Error>(())
        });
    }
    assert!(load.status().unwrap().success());
    // Even what an earlier version has left open to all is closed by the next change.
    fs::set_permissions(host.bpffs(), fs::Permissions::from_mode(0o755)).unwrap();
    host.ok(&host.load_args(&name, &cgroup));

    assert!(nobody_can("test", &["-r", "/proc/self/stat"]), "the user can do something at all");
    let made = tree(&host.bpffs());
    assert!(made.len() > 5, "{made:?}");
    for path in &made {
        let text = path.to_str().unwrap();
        let mode = fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{text} has mode {mode:o}");
        assert!(!nobody_can("flock", &["--nonblock", text, "true"]), "{text} can be locked");
        assert!(!nobody_can("ls", &[text]), "{text} can be listed");
        for right in ["-r", "-w", "-x", "-e"] {
            let expected = path == &host.bpffs() && right == "-e";
            assert_eq!(nobody_can("test", &[right, text]), expected, "{text} {right}");
        }
    }
}

/// The lock on the stream says whether somebody still records it.
#[test]
fn nobody_else_can_lock_the_stream_of_a_recording() {
    let Some(host) = Host::with_root() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["x.parquet", "x.arrows"] {
        let file = folder.path().join(name);
        let stream = folder.path().join(format!("{name}.partial.arrows"));
        let args = ["record", "--port", "1", "--duration", "60s", "-o", file.to_str().unwrap()];
        let mut recorder = host.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("it records", || fs::metadata(&stream).is_ok_and(|stream| stream.len() > 0));
        assert!(!nobody_can("flock", &["--nonblock", "--shared", stream.to_str().unwrap(), "true"]), "{name}");
        assert_eq!(fs::metadata(&stream).unwrap().mode() & 0o777, 0o600, "{name}");
        kill(Pid::from_raw(recorder.id().cast_signed()), Signal::SIGINT).unwrap();
        assert!(recorder.wait().unwrap().success());
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o644, "{name} is made to be handed on");
    }
}

/// With the state in bpffs and the lock beside it there is nothing in /run that two mount namespaces could disagree on.
#[test]
fn changes_from_mount_namespaces_with_another_run_do_not_interleave() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    for _ in 0..5 {
        let mut children: Vec<_> = (0..8)
            .map(|turn| {
                let other = format!("{name}{}", turn % 2);
                let algorithm = if turn % 2 == 0 { "reno" } else { "cubic" };
                let mut command = host.command(&["swap", algorithm, "--cgroup", &cgroup, "--as", &other]);
                // SAFETY: only system calls between fork and exec.
                unsafe { command.pre_exec(own_run) };
                command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        for child in children.drain(..) {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

fn own_run() -> io::Result<()> {
    use nix::mount::{MsFlags, mount};
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?;
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>)?;
    Ok(())
}
