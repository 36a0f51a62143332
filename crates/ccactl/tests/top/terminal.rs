//! `top` on a terminal of its own: a pseudo-terminal whose other side is the test.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process on a terminal of 80 × 24.
pub struct OnTerminal {
    pub process: Child,
    terminal: OwnedFd,
    master: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl OnTerminal {
    /// Starts a command as the leader of a session with that terminal.
    pub fn start(mut command: Command) -> OnTerminal {
        let (mut master, mut slave) = (0, 0);
        let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: the pointers are to locals that outlive the call, or null where that is allowed.
        let made = unsafe { libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size) };
        assert_eq!(made, 0);
        // SAFETY: openpty has made both, and nobody else owns them.
        let (master, terminal) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let stdio = || Stdio::from(terminal.try_clone().unwrap());
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        // SAFETY: both calls are async-signal-safe; standard input is the terminal.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let process = command.spawn().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (sink, mut source) = (Arc::clone(&shown), master.try_clone().unwrap());
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = source.read(&mut buffer) {
                sink.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        OnTerminal { process, terminal, master, shown }
    }

    pub fn press(&mut self, keys: &str) {
        std::io::Write::write_all(&mut self.master, keys.as_bytes()).unwrap();
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
