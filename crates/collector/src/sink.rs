//! Where the stream of a recording goes while it is made.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Where the bytes of the stream go.
pub(crate) enum Sink {
    /// A file, and how much of it is complete messages.
    File(File, u64),
    /// Standard output.
    Stdout,
}

impl Sink {
    /// Bytes of complete messages in a file.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Sink::File(_, complete_bytes) => *complete_bytes,
            Sink::Stdout => 0,
        }
    }

    /// Appends complete messages. When that fails a file is cut back to the last complete one.
    pub(crate) fn append(&mut self, messages: &[u8]) -> io::Result<()> {
        match self {
            Sink::File(file, complete_bytes) => {
                if let Err(error) = file.write_all(messages) {
                    // Shrinking needs no space; if it fails too, readers cope with half a message.
                    let _ = file.set_len(*complete_bytes);
                    return Err(error);
                }
                *complete_bytes += messages.len() as u64;
                Ok(())
            }
            Sink::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(messages)?;
                stdout.flush()
            }
        }
    }
}

/// Whether standard output is a pipe or a socket that nobody reads any more. A write would tell as well, but without rows
/// there is none.
pub(crate) fn is_stdout_abandoned() -> bool {
    let stdout = io::stdout();
    // Errors and hang-ups are reported whatever is asked for.
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let is_gone = |events: PollFlags| events.intersects(PollFlags::POLLERR | PollFlags::POLLHUP);
    poll(&mut polled, PollTimeout::ZERO).is_ok() && polled[0].revents().is_some_and(is_gone)
}
