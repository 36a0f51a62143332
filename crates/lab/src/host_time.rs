//! The host's time of day, which QEMU must not see: `preload/host_time.c` says why.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A shared object with QEMU's source of the time of day.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host_time.so"));
/// Known to the library, too.
const ASKED: &str = "CCACTL_HOST_TIME_ASKED";
const PRELOAD: &str = "LD_PRELOAD";

/// The library in a folder.
#[derive(Debug)]
pub(crate) struct HostTime {
    library: PathBuf,
    /// A file that the library makes when it is asked for the first time.
    asked: PathBuf,
}

impl HostTime {
    /// Puts the library into `folder`.
    pub(crate) fn hide(folder: &Path) -> io::Result<HostTime> {
        let library = folder.join("host_time.so");
        fs::write(&library, LIBRARY)?;
        Ok(HostTime { library, asked: folder.join("host_time_asked") })
    }

    /// What QEMU is started with; libraries that the user has preloaded stay.
    pub(crate) fn environment(&self) -> [(&'static str, OsString); 2] {
        let mut preload = self.library.clone().into_os_string();
        if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            preload.push(":");
            preload.push(others);
        }
        [(PRELOAD, preload), (ASKED, self.asked.clone().into_os_string())]
    }

    /// Whether the program has asked the library, and so not the host.
    pub(crate) fn is_hidden(&self) -> bool {
        self.asked.exists()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs in this process, and as a process of its own in the other test.
    #[test]
    fn time_of_day() {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the call writes one timeval, which outlives it.
        assert_eq!(unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) }, 0);
        println!("it is {}.{:06}", time.tv_sec, time.tv_usec);
    }

    #[test]
    fn a_program_that_asks_gets_a_time_that_stands_still_and_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let time = HostTime::hide(folder.path()).unwrap();
        let asks = |environment: &[(&str, OsString)]| {
            let mut program = Command::new(env::current_exe().unwrap());
            program.args(["--exact", "host_time::tests::time_of_day", "--nocapture"]);
            let environment = environment.iter().map(|(name, value)| (name, value));
            String::from_utf8_lossy(&program.envs(environment).output().unwrap().stdout).into_owned()
        };
        let still = "it is 1735689600.000000\n";
        assert!(!asks(&[]).contains(still) && !time.is_hidden());
        assert!(asks(&time.environment()).contains(still));
        assert!(time.is_hidden());
    }
}
