//! Child processes inside a namespace and a cgroup.

use super::cgroup::Cgroup;
use super::entry::Awaited;
use super::netns::Netns;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus};

/// Where a child is started.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    /// The `ccactl` binary, which brings it there.
    pub program: &'a Path,
    /// Its namespace.
    pub netns: &'a Netns,
    /// Its cgroup, if not ours.
    pub cgroup: Option<&'a Cgroup>,
}

/// A child that is killed with this value, and by the kernel when this process dies first.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a command that is in its place before it runs its first instruction; `set` adds streams and environment. Call from a
    /// thread that lives as long as the child may.
    pub fn spawn(start: Start<'_>, words: &[OsString], set: impl FnOnce(&mut Command)) -> Result<Process> {
        let action = || format!("start {:?} in namespace {}", words[0], start.netns.name());
        let awaited = Awaited::new(start.netns, start.cgroup).map_err(Error::system(action()))?;
        let mut command = awaited.command(start.program, words);
        set(&mut command);
        // A group of its own: Ctrl-C on the terminal reaches ccactl, which ends its children in order.
        command.process_group(0);
        let child = command.spawn().map_err(Error::system(action()))?;
        let mut process = Process { child };
        awaited.wait(&mut process.child).map_err(Error::system(action()))?;
        Ok(process)
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
