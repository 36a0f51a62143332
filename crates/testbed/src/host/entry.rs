//! How a child comes into its namespace and its cgroup before the first instruction of its own.
//!
//! Code of ours between fork and exec would need a copy of our page tables. With 800 MB in memory that takes 60 ms, and
//! every write of the emulator waits for a page fault meanwhile. A start without such code shares our memory until the exec.
//! So the child begins as `ccactl __enter`, goes to its place, and becomes what was asked for.

use super::cgroup::Cgroup;
use super::netns::Netns;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// How often a child that does not answer is asked whether it still runs.
const LOOK_EVERY_MS: u8 = 50;
/// The child has its end of the pipe.
const HERE: u8 = b'!';

/// Where a child goes. It stands on its command line, in JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    parent: u32,
    /// Of the parent; the child opens it again and writes there what is in its way.
    answer: PathBuf,
    netns: PathBuf,
    /// `cgroup.procs`.
    procs: Option<PathBuf>,
}

impl Entry {
    /// Goes there and becomes `words`. Comes back only when something was in the way, of which it tells the parent.
    ///
    /// # Errors
    /// When the parent cannot be told.
    pub fn go(&self, words: &[OsString]) -> io::Result<()> {
        self.stay_with_parent()?;
        let mut answer = OpenOptions::new().write(true).open(&self.answer)?;
        answer.write_all(&[HERE])?;
        let error = match self.enter() {
            // The exec closes the answer.
            Ok(()) => Command::new(&words[0]).args(&words[1..]).exec(),
            Err(error) => error,
        };
        answer.write_all(&error.raw_os_error().unwrap_or(libc::EIO).to_ne_bytes())
    }

    /// The kernel ends us when the parent has ended, also when it did so just before.
    fn stay_with_parent(&self) -> io::Result<()> {
        set_pdeathsig(Signal::SIGKILL)?;
        let parent = nix::unistd::getppid().as_raw().cast_unsigned();
        if parent == self.parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    }

    fn enter(&self) -> io::Result<()> {
        if let Some(procs) = &self.procs {
            OpenOptions::new().write(true).open(procs)?.write_all(b"0")?;
        }
        Ok(setns(File::open(&self.netns)?.as_fd(), CloneFlags::CLONE_NEWNET)?)
    }
}

/// The parent's side of it.
pub(super) struct Awaited {
    entry: Entry,
    reader: PipeReader,
    writer: PipeWriter,
}

impl Awaited {
    pub(super) fn new(netns: &Netns, cgroup: Option<&Cgroup>) -> io::Result<Awaited> {
        let (reader, writer) = io::pipe()?;
        let parent = std::process::id();
        let own = |descriptor: i32| PathBuf::from(format!("/proc/{parent}/fd/{descriptor}"));
        let entry = Entry {
            parent,
            answer: own(writer.as_raw_fd()),
            netns: own(netns.as_fd().as_raw_fd()),
            procs: cgroup.map(Cgroup::procs),
        };
        Ok(Awaited { entry, reader, writer })
    }

    /// `program` is the `ccactl` binary.
    pub(super) fn command(&self, program: &Path, words: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.arg("__enter").arg(serde_json::to_string(&self.entry).expect("paths of ours are UTF-8"));
        command.arg("--").args(words);
        command
    }

    /// Waits until the child has become what it is to be.
    pub(super) fn wait(self, child: &mut Child) -> io::Result<()> {
        let Awaited { mut reader, writer, .. } = self;
        let mut here = [0];
        loop {
            match poll(&mut [PollFd::new(reader.as_fd(), PollFlags::POLLIN)], PollTimeout::from(LOOK_EVERY_MS)) {
                // Whoever catches the signal looks at it.
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
            if let Some(status) = child.try_wait()? {
                return Err(io::Error::other(format!("it ended before it was there ({status})")));
            }
        }
        reader.read_exact(&mut here)?;
        // With ours the last end is the child's, and an exec closes that.
        drop(writer);
        let mut errno = Vec::new();
        reader.read_to_end(&mut errno)?;
        match <[u8; 4]>::try_from(errno.as_slice()) {
            Ok(errno) => Err(io::Error::from_raw_os_error(i32::from_ne_bytes(errno))),
            Err(_) => Ok(()),
        }
    }
}
