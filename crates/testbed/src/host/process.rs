//! Child processes inside a namespace and a cgroup.

use super::cgroup::Cgroup;
use super::netns::Netns;
use crate::error::{Error, Result};
use nix::sched::{CloneFlags, setns};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};

/// A child that is killed with this value, and by the kernel when this process dies first.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a command that is inside `netns`, and inside `cgroup` if there is one, before it runs its first
    /// instruction. Call from a thread that lives as long as the child may.
    pub fn spawn(command: &mut Command, netns: &Netns, cgroup: Option<&Cgroup>) -> Result<Process> {
        let action = format!("start {:?} in namespace {}", command.get_program(), netns.name());
        let namespace = netns.as_fd().try_clone_to_owned().map_err(Error::system(action.clone()))?;
        let mut procs = cgroup.map(Cgroup::procs).transpose()?;
        let parent = std::process::id();
        let enter = move || -> io::Result<()> {
            if let Some(procs) = &mut procs {
                procs.write_all(b"0")?;
            }
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET)?;
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            if nix::unistd::getppid().as_raw().cast_unsigned() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        };
        // A group of its own: Ctrl-C on the terminal reaches ccactl, which ends its children in order.
        command.process_group(0);
        // SAFETY: between fork and exec the closure makes plain system calls on descriptors that were opened
        // before; it neither allocates nor takes a lock.
        unsafe { command.pre_exec(enter) };
        command.spawn().map(|child| Process { child }).map_err(Error::system(action))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child's standard input, once.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The child's standard output, once.
    pub fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// Whether and how the child has ended.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail harmlessly when the child has ended and been waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
