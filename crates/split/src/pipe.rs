//! Pipes, which hold what has been read from one leg and not been written to the other. Only a direction with data in it has one.

use crate::socket::splice;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::unistd::{pipe2, write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most bytes of one direction in the proxy itself, and the pipe's size: 64 buffers, of which each holds a part of a packet.
pub(crate) const PIPE_BYTES: usize = 256 * 1024;

/// Pipes that are kept for the next direction with data.
const SPARE_PIPES: usize = 64;

/// A pipe, and how much is in it.
#[derive(Debug)]
pub(crate) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    held: usize,
}

impl Pipe {
    fn make() -> nix::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        // Beyond the user's share of pipes the kernel refuses; then it is the usual size, which only costs more calls.
        let _ = fcntl(&write, FcntlArg::F_SETPIPE_SZ(PIPE_BYTES as libc::c_int));
        Ok(Self { read, write, held: 0 })
    }

    /// Bytes in it.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Whether it takes no more.
    pub(crate) fn is_full(&self) -> bool {
        self.held >= PIPE_BYTES
    }

    /// Reads from a socket; 0 is the end.
    pub(crate) fn fill(&mut self, from: BorrowedFd<'_>) -> nix::Result<usize> {
        let moved = splice(from, self.write.as_fd(), PIPE_BYTES - self.held)?;
        self.held += moved;
        Ok(moved)
    }

    /// Puts one byte in.
    pub(crate) fn push(&mut self, byte: u8) -> nix::Result<()> {
        write(&self.write, &[byte])?;
        self.held += 1;
        Ok(())
    }

    /// Writes to a socket.
    pub(crate) fn drain(&mut self, to: BorrowedFd<'_>) -> nix::Result<usize> {
        let moved = splice(self.read.as_fd(), to, self.held)?;
        self.held -= moved;
        Ok(moved)
    }
}

/// Empty pipes.
#[derive(Debug, Default)]
pub(crate) struct Pool(Vec<Pipe>);

impl Pool {
    /// A pipe with nothing in it.
    pub(crate) fn take(&mut self) -> nix::Result<Pipe> {
        self.0.pop().map_or_else(Pipe::make, Ok)
    }

    /// Takes one back. What is in it goes.
    pub(crate) fn give(&mut self, pipe: Pipe) {
        if pipe.held == 0 && self.0.len() < SPARE_PIPES {
            self.0.push(pipe);
        }
    }
}
