//! A compiler beside the measurement, on every CPU.

use crate::Result;
use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};

/// Functions of the file that is compiled again and again: a second or two of clang.
const FUNCTIONS: usize = 3000;

/// Compilers that run until it is dropped.
pub struct Compilers {
    children: Vec<Child>,
    _folder: tempfile::TempDir,
}

impl Compilers {
    /// Starts one per CPU.
    pub fn start() -> Result<Compilers> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("load.c");
        std::fs::write(&file, source())?;
        let compile = || {
            let script = "while :; do clang -O2 -c -o /dev/null \"$0\" || exit 1; done";
            // A group of its own, so that the compiler ends with its shell.
            let mut command = Command::new("setsid");
            command.args(["sh", "-c", script]).arg(&file).stdin(Stdio::null()).spawn()
        };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let children = (0..cpus).map(|_| compile()).collect::<std::io::Result<_>>()?;
        Ok(Compilers { children, _folder: folder })
    }
}

impl Drop for Compilers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let group = nix::unistd::Pid::from_raw(child.id() as i32);
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
            let _ = child.wait();
        }
    }
}

fn source() -> String {
    let mut text = String::new();
    for i in 0..FUNCTIONS {
        let _ = writeln!(
            text,
            "double f{i}(double *a, int n) {{ double s = {i}; for (int j = 0; j < n; j++) for (int k = j; k < n; k++) \
             s += a[j] * a[k] / (1 + s * s); return s; }}"
        );
    }
    text
}
