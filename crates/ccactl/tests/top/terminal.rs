//! `top` on a terminal of its own: a pseudo-terminal whose other side is the test.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process on a terminal of 80 × 24.
pub struct OnTerminal {
    pub process: Child,
    terminal: OwnedFd,
    master: Option<File>,
    shown: Arc<Mutex<Vec<u8>>>,
    is_hung_up: Arc<AtomicBool>,
    reader: Option<JoinHandle<()>>,
}

impl OnTerminal {
    /// Starts a command as the leader of a session with that terminal, or as one that only has it open.
    pub fn start(mut command: Command, is_stranger: bool) -> OnTerminal {
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the pointers are to locals that outlive the call, or null where that is allowed.
        let made = unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
        assert_eq!(made, 0);
        // A child that had the other side open itself would never see it hang up.
        // SAFETY: openpty has made this descriptor.
        assert_eq!(unsafe { libc::fcntl(master, libc::F_SETFD, libc::FD_CLOEXEC) }, 0);
        // SAFETY: openpty has made both, and nobody else owns them.
        let (master, terminal) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let stdio = || Stdio::from(terminal.try_clone().unwrap());
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        // SAFETY: both calls are async-signal-safe; standard input is the terminal.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                if !is_stranger {
                    libc::ioctl(0, libc::TIOCSCTTY, 0);
                }
                Ok(())
            });
        }
        let process = command.spawn().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (sink, mut source) = (Arc::clone(&shown), master.try_clone().unwrap());
        let is_hung_up = Arc::new(AtomicBool::new(false));
        let hung_up = Arc::clone(&is_hung_up);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !hung_up.load(Ordering::Relaxed) {
                let mut input = [PollFd::new(source.as_fd(), PollFlags::POLLIN)];
                if poll(&mut input, PollTimeout::from(20_u8)) == Ok(0) {
                    continue;
                }
                match source.read(&mut buffer) {
                    Ok(n @ 1..) => sink.lock().unwrap().extend_from_slice(&buffer[..n]),
                    _ => break,
                }
            }
        });
        OnTerminal { process, terminal, master: Some(master), shown, is_hung_up, reader: Some(reader) }
    }

    pub fn press(&mut self, keys: &str) {
        self.master.as_mut().expect("nobody hung up").write_all(keys.as_bytes()).unwrap();
    }

    /// Closes our side, as a connection does that breaks.
    pub fn hang_up(&mut self) {
        self.is_hung_up.store(true, Ordering::Relaxed);
        self.reader.take().map(JoinHandle::join);
        self.master = None;
    }

    /// Waits until this text was written, escape sequences included.
    pub fn wait_for(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.shown().contains(text) {
            assert!(Instant::now() < deadline, "{text:?} did not come in {:?}", self.shown());
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Whether lines are edited and keys are echoed, as a shell wants it.
    pub fn is_sane(&self) -> bool {
        // SAFETY: an all-zero termios is valid, and it outlives the call.
        let modes = unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            assert_eq!(libc::tcgetattr(self.terminal.as_raw_fd(), &mut modes), 0);
            modes
        };
        let wanted = libc::ICANON | libc::ECHO | libc::ISIG;
        modes.c_lflag & wanted == wanted
    }

    /// Waits for the end; its exit code.
    pub fn end(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
