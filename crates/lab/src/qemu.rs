//! Running QEMU within bounds.

use crate::error::{Error, Result};
use std::env;
use std::ffi::OsString;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Debian's name of the emulator of x86-64 machines.
const PROGRAM: &str = "qemu-system-x86_64";
/// How often a running guest is looked at.
const ATTENTION: Duration = Duration::from_millis(50);

/// The emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    program: PathBuf,
}

/// How a guest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It switched its machine off, or rebooted.
    ByItself,
    /// It took too long and was ended.
    Overdue,
}

impl Qemu {
    /// What `CCACTL_QEMU` names, or the one in `PATH`.
    #[must_use]
    pub fn of_user() -> Qemu {
        Qemu::at(env::var_os("CCACTL_QEMU").unwrap_or_else(|| PROGRAM.into()))
    }

    /// This program.
    #[must_use]
    pub fn at(program: impl Into<PathBuf>) -> Qemu {
        Qemu { program: program.into() }
    }

    /// The first line of `--version`.
    ///
    /// # Errors
    /// [`Error::NoQemu`].
    pub fn version(&self) -> Result<String> {
        let output = Command::new(&self.program).arg("--version").stdin(Stdio::null()).output();
        let output = output.map_err(|cause| self.missing(cause))?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned())
    }

    /// Runs a machine, with `environment` on top of this process's, until it ends, `limit` of the host's time is over, or `interrupt`
    /// is set.
    pub(crate) fn run(
        &self,
        arguments: &[OsString],
        environment: &[(&str, OsString)],
        limit: Duration,
        interrupt: &AtomicBool,
    ) -> Result<Ending> {
        let system =
            |cause| Error::Qemu { program: self.name(), status: "no start".to_owned(), words: format!("{cause}") };
        // A file, not a pipe: nobody need read while it runs.
        let mut said = tempfile::tempfile().map_err(system)?;
        let mut command = Command::new(&self.program);
        command.args(arguments).envs(environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(system)?);
        // A guest must not outlive whoever waits for it.
        // SAFETY: between fork and exec only prctl runs, which is async-signal-safe.
        unsafe {
            command.pre_exec(|| nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).map_err(Into::into));
        }
        let mut guest = Guest(command.spawn().map_err(|cause| self.missing(cause))?);
        let deadline = Instant::now() + limit;
        let status = loop {
            if let Some(status) = guest.0.try_wait().map_err(system)? {
                break status;
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if Instant::now() >= deadline {
                return Ok(Ending::Overdue);
            }
            std::thread::sleep(ATTENTION);
        };
        if status.success() {
            return Ok(Ending::ByItself);
        }
        let mut words = String::new();
        let _ = said.rewind().and_then(|()| said.read_to_string(&mut words));
        Err(Error::Qemu { program: self.name(), status: status.to_string(), words: words.trim().to_owned() })
    }

    fn name(&self) -> String {
        self.program.display().to_string()
    }

    fn missing(&self, cause: std::io::Error) -> Error {
        Error::NoQemu { program: self.name(), cause }
    }
}

/// A running QEMU, which ends with this value.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // Both fail harmlessly when it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A program in the place of QEMU.
    fn fake(script: &str) -> (tempfile::TempDir, Qemu) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("qemu");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        (folder, Qemu::at(path))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_missing_qemu_is_told_with_the_package() {
        let error = Qemu::at("/nonexistent/qemu").run(&[], &[], LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("apt-get install qemu-system-x86"), "{error}");
    }

    #[test]
    fn what_qemu_complains_about_is_in_the_error() {
        let (_folder, qemu) = fake("echo no such machine >&2; exit 1");
        let error = qemu.run(&[], &[], LONG, &AtomicBool::new(false)).unwrap_err();
        assert!(error.to_string().contains("no such machine"), "{error}");
    }

    #[test]
    fn a_guest_that_does_not_end_is_ended_and_so_is_an_interrupted_one() {
        let (folder, qemu) = fake("echo $$ > $0.pid; exec sleep 600");
        let ending = qemu.run(&[], &[], Duration::from_millis(500), &AtomicBool::new(false)).unwrap();
        assert_eq!(ending, Ending::Overdue);
        let pid = fs::read_to_string(folder.path().join("qemu.pid")).unwrap();
        assert!(!PathBuf::from("/proc").join(pid.trim()).exists(), "it has been ended and waited for");
        let error = qemu.run(&[], &[], LONG, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(error, Error::Interrupted));
    }
}
