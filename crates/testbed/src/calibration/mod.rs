//! What this host carries: how punctual emulated links are at which rates, and how many runs may go side by side. Measured by
//! `ccactl bench calibrate`, kept in the user's cache folder, read by whoever plans runs.

mod measure;

pub use measure::{Plan, measure};

use crate::bench::Limits;
use crate::error::{Error, Result};
use ccactl_host::output::{self, Folder, Replace};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Raised when the file changes its meaning.
const VERSION: u32 = 2;

/// A host's limits as they were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Of the format.
    pub version: u32,
    /// Where and when it was measured.
    pub host: Host,
    /// Version of ccactl.
    pub ccactl_version: String,
    /// When, UTC, as `20261120T185110Z`.
    pub date: String,
    /// Short runs and fewer points.
    pub quick: bool,
    /// What a valid run keeps to.
    pub limits: Limits,
    /// All measurements, by rate, delay and number of runs.
    pub points: Vec<Point>,
}

/// What the measurements hold for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// CPUs that this process may use.
    pub cpus: usize,
}

/// Runs of one kind side by side. Where there are several, figures are those of the worst.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Rate of the emulated link.
    pub rate_bps: u64,
    /// Its base RTT.
    pub base_rtt_us: u64,
    /// Runs side by side, each with an emulator and a saturating TCP flow that is recorded.
    pub parallel: usize,
    /// Whether all of them were valid.
    pub valid: bool,
    /// Why they were not.
    pub problems: Vec<String>,
    /// Median of the lateness.
    pub lateness_p50_us: f64,
    /// 99th percentile.
    pub lateness_p99_us: f64,
    /// 99.9th percentile.
    pub lateness_p999_us: f64,
    /// Rate while backlogged against the link's, as a share; the largest deviation. None when there was too little backlog.
    pub rate_error: Option<f64>,
    /// CPU time per time and run: emulator, sender and receiver, without the recorder.
    pub cpus_per_run: f64,
    /// Share of the time in which a sender or receiver waited for a CPU; the largest.
    pub cpu_waiting: Option<f64>,
}

/// Why there is no calibration to go by.
#[derive(Debug, thiserror::Error)]
pub enum NotCalibrated {
    /// Nobody has measured yet.
    #[error("calibration {}: expected the limits of this host, found no file; run `ccactl bench calibrate`", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// It is of another host, kernel or number of CPUs.
    #[error("calibration {}: expected {expected}, found {found}; run `ccactl bench calibrate` again", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// This host.
        expected: String,
        /// That of the file.
        found: String,
    },
    /// It cannot be read.
    #[error("calibration {}: expected the limits of this host, found: {cause}; run `ccactl bench calibrate` again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: io::Error,
    },
    /// There is no folder for it.
    #[error("calibration: expected a cache folder, found neither XDG_CACHE_HOME nor HOME; set one of them")]
    NoFolder,
}

/// The calibration of this host.
///
/// # Errors
/// [`NotCalibrated`] with what to do.
pub fn load() -> Result<Calibration, NotCalibrated> {
    let path = path().ok_or(NotCalibrated::NoFolder)?;
    load_from(&path, &Host::this())
}

fn load_from(path: &Path, this: &Host) -> Result<Calibration, NotCalibrated> {
    let path = path.to_owned();
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(NotCalibrated::Missing { path }),
        Err(cause) => return Err(NotCalibrated::Unreadable { path, cause }),
    };
    let calibration: Calibration = match serde_json::from_slice(&text) {
        Ok(calibration) => calibration,
        Err(error) => return Err(NotCalibrated::Unreadable { path, cause: error.into() }),
    };
    if (&calibration.host, calibration.version) != (this, VERSION) {
        let found = calibration.host.describe(calibration.version);
        return Err(NotCalibrated::Other { path, expected: this.describe(VERSION), found });
    }
    Ok(calibration)
}

/// `ccactl/calibration.json` below the user's cache folder; none when the environment names no such folder.
#[must_use]
pub fn path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("ccactl/calibration.json"))
}

impl Calibration {
    pub(super) fn new(quick: bool, limits: Limits, points: Vec<Point>) -> Self {
        Calibration {
            version: VERSION,
            host: Host::this(),
            ccactl_version: env!("CARGO_PKG_VERSION").to_owned(),
            date: ccactl_collector::utc_compact(),
            quick,
            limits,
            points,
        }
    }

    /// How many runs with links of this rate may go side by side: of the next higher rate that was measured, at every delay. 0 when
    /// not even one was valid there, or nothing so fast was measured.
    #[must_use]
    pub fn parallel_runs(&self, rate_bps: u64) -> usize {
        let Some(rate) = self.points.iter().map(|point| point.rate_bps).filter(|rate| *rate >= rate_bps).min() else {
            return 0;
        };
        let of_rate = || self.points.iter().filter(move |point| point.rate_bps == rate);
        let delays = of_rate().map(|point| point.base_rtt_us);
        let carried = |delay: u64| {
            let of_delay = || of_rate().filter(move |point| point.base_rtt_us == delay);
            let first_bad = of_delay().filter(|point| !point.valid).map(|point| point.parallel).min();
            let good = of_delay().filter(|point| point.valid && first_bad.is_none_or(|bad| point.parallel < bad));
            good.map(|point| point.parallel).max().unwrap_or(0)
        };
        delays.map(carried).min().unwrap_or(0)
    }

    /// Keeps it for later; gives the file.
    ///
    /// # Errors
    /// When there is no cache folder or it cannot be written.
    pub fn store(&self) -> Result<PathBuf> {
        let path = path().ok_or(NotCalibrated::NoFolder).map_err(|error| Error::Calibration(error.to_string()))?;
        self.store_in(&path).map_err(Error::system(format!("write calibration {}", path.display())))?;
        Ok(path)
    }

    fn store_in(&self, path: &Path) -> io::Result<()> {
        Folder::make_for_state(path.parent().expect("it has a name and a folder"))?;
        Ok(output::write(path, &serde_json::to_vec_pretty(self)?, Replace::Ours)?)
    }
}

impl Host {
    /// The one that this process runs on.
    #[must_use]
    pub fn this() -> Self {
        let names = nix::sys::utsname::uname().ok();
        let name = |of: fn(&nix::sys::utsname::UtsName) -> &std::ffi::OsStr| {
            names.as_ref().map_or_else(String::new, |names| of(names).to_string_lossy().into_owned())
        };
        Host {
            name: name(|names| names.nodename()),
            kernel: name(|names| names.release()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }

    fn describe(&self, version: u32) -> String {
        format!("host {}, kernel {}, {} CPUs, format {version}", self.name, self.kernel, self.cpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn point(rate_mbit: u64, base_rtt_ms: u64, parallel: usize, valid: bool) -> Point {
        Point {
            rate_bps: rate_mbit * 1_000_000,
            base_rtt_us: base_rtt_ms * 1000,
            parallel,
            valid,
            problems: Vec::new(),
            lateness_p50_us: 20.0,
            lateness_p99_us: 100.0,
            lateness_p999_us: 900.0,
            rate_error: None,
            cpus_per_run: 0.5,
            cpu_waiting: Some(0.1),
        }
    }

    fn calibration() -> Calibration {
        let points = vec![
            point(10, 10, 1, true),
            point(10, 10, 2, true),
            point(100, 10, 1, true),
            point(100, 10, 2, true),
            point(100, 10, 3, false),
            point(100, 10, 4, true),
            point(100, 100, 1, true),
            point(100, 100, 2, true),
            point(400, 10, 1, true),
            point(400, 100, 1, false),
        ];
        Calibration::new(false, Limits::default(), points)
    }

    #[test]
    fn runs_side_by_side_are_those_before_the_first_that_was_not_valid_at_any_delay() {
        let calibration = calibration();
        for (mbit, expected) in [(1, 2), (10, 2), (11, 2), (100, 2), (101, 0), (400, 0), (401, 0)] {
            assert_eq!(calibration.parallel_runs(mbit * 1_000_000), expected, "{mbit} Mbit/s");
        }
    }

    #[test]
    fn what_was_stored_is_loaded_and_what_does_not_fit_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calibration.json");
        let this = Host::this();
        let problem = || load_from(&path, &this).unwrap_err().to_string();
        assert!(problem().contains("found no file; run `ccactl bench calibrate`"));
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "as it was").unwrap();
        symlink(&victim, path.with_extension("json.partial")).unwrap();
        symlink(&victim, &path).unwrap();
        let error = calibration().store_in(&path).unwrap_err().to_string();
        assert!(error.starts_with("it is a symbolic link"), "{error}");
        std::fs::remove_file(&path).unwrap();
        calibration().store_in(&path).unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"as it was");
        assert_eq!(load_from(&path, &this).unwrap(), calibration_dated(&path));
        let other = Host { cpus: this.cpus + 1, ..this.clone() };
        let error = load_from(&path, &other).unwrap_err().to_string();
        assert!(error.contains(&format!("expected host {}", other.name)) && error.contains("again"), "{error}");
        std::fs::write(&path, "{").unwrap();
        assert!(problem().contains("EOF"), "{}", problem());
    }

    /// Its date is that of the file.
    fn calibration_dated(path: &Path) -> Calibration {
        let stored: Calibration = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        Calibration { date: stored.date, ..calibration() }
    }
}
