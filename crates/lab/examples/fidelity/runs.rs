//! The guests whose traces are compared.

use crate::Failure;
use crate::paths::Path;
use ccactl_lab::kernel::Cache;
use ccactl_lab::{Clock, Lab, Qemu, bench};
use ccactl_scenario::Scenario;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

const MEMORY_MIB: u32 = 1024;

/// Starts of a run, after a full second, in µs: spread over the 4 ms between two timer interrupts of Debian's kernels (HZ = 250).
pub const PHASES_US: [u32; 5] = [0, 800, 1600, 2400, 3200];

/// Whose window is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The BPF program.
    Ours,
    /// The module.
    Native,
}

/// Where guests run and leave their results.
pub struct Guests {
    lab: Lab,
    dir: PathBuf,
    /// Of the guests' kernel.
    pub release: String,
}

/// One of them.
struct Run {
    path: Path,
    twin: (&'static str, &'static str),
    side: Side,
    phase_us: u32,
}

impl Guests {
    /// Under a kernel of Debian's, with `ccactl` as `program`.
    pub fn new(kernel: &str, dir: PathBuf, program: PathBuf) -> Result<Guests, Failure> {
        let kernel = Cache::of_user()?.kernel(&kernel.parse()?, &mut |line| eprintln!("{line}"))?;
        let release = kernel.release.clone();
        let lab = Lab {
            qemu: Qemu::of_user(),
            kernel,
            clock: Clock::Virtual,
            memory_mib: MEMORY_MIB,
            program,
            init_argument: "__guest".to_owned(),
            limit: std::time::Duration::ZERO,
        };
        Ok(Guests { lab, dir, release })
    }

    /// The folder of a bench.
    pub fn folder(&self, path: &Path, twin: &str, side: Side, phase_us: u32) -> PathBuf {
        let side = match side {
            Side::Ours => "ours",
            Side::Native => "native",
        };
        self.dir.join(&self.release).join(path.name).join(format!("{twin}-{side}-{phase_us}us"))
    }

    /// Whether a run is there.
    pub fn has(&self, path: &Path, twin: &str, side: Side, phase_us: u32) -> bool {
        self.folder(path, twin, side, phase_us).join(bench::LAB_FILE).is_file()
    }

    /// Runs what is not there yet of so many start phases, one guest per core.
    pub fn run(&self, twins: &[(&'static str, &'static str)], paths: &[Path], phases: usize) -> Result<(), Failure> {
        let mut runs = Vec::new();
        // One phase after the other: the first alone shows where traces part, the others are for the statistics after that.
        for phase_us in PHASES_US.into_iter().take(phases) {
            for path in paths {
                for twin in twins.iter().filter(|twin| path.is_for(twin.0)) {
                    runs.extend([Side::Ours, Side::Native].map(|side| Run {
                        path: *path,
                        twin: *twin,
                        side,
                        phase_us,
                    }));
                }
            }
        }
        runs.retain(|run| !self.has(&run.path, run.twin.0, run.side, run.phase_us));
        let (all, start) = (runs.len(), Instant::now());
        let queue = Mutex::new(runs.into_iter());
        let stop = AtomicBool::new(false);
        let work = || -> Result<(), Failure> {
            loop {
                let (run, left) = {
                    let mut queue = queue.lock().expect("nobody panics with it");
                    let Some(run) = queue.next() else { return Ok(()) };
                    (run, queue.len())
                };
                self.one(&run, &stop).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
                eprintln!("{} of {all} guests ({} s)", all - left, start.elapsed().as_secs());
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
            // The first failure ends the others; theirs is that they were interrupted.
            workers.into_iter().map(|worker| worker.join().expect("no panic")).find(Result::is_err).unwrap_or(Ok(()))
        })
    }

    fn one(&self, run: &Run, stop: &AtomicBool) -> Result<(), Failure> {
        let folder = self.folder(&run.path, run.twin.0, run.side, run.phase_us);
        // What an interrupted one has left.
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let native = format!("native:{}", run.twin.1);
        let (main, other) = match run.side {
            Side::Ours => (run.twin.0, native.as_str()),
            Side::Native => (native.as_str(), run.twin.0),
        };
        let scenario = Scenario::parse("fidelity.toml", &run.path.scenario(main, other))?;
        let lab = Lab { limit: bench::default_limit(&scenario, 1), ..self.lab.clone() };
        let phase = format!("{}us", run.phase_us);
        let ran = bench::run(&lab, &scenario, 1, &["--start-phase", &phase], &folder, stop)?;
        if !folder.join("run-1/recording.parquet").is_file() {
            return Err(format!("{}: the guest left no recording: {}", folder.display(), ran.stderr.trim()).into());
        }
        Ok(())
    }
}
