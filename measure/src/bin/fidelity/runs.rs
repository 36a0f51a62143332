//! The guests whose traces are compared.

use crate::Failure;
use crate::paths::Path;
use ccactl_lab::Lab;
use ccactl_lab::bench::{self, Bench};
use ccactl_scenario::Scenario;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// Starts of a run, after a full second, in µs: spread over the 4 ms between two timer interrupts of Debian's kernels (HZ = 250), every
/// five of them evenly.
pub const PHASES_US: [u32; 20] = [
    0, 800, 1600, 2400, 3200, //
    400, 1200, 2000, 2800, 3600, //
    200, 1000, 1800, 2600, 3400, //
    600, 1400, 2200, 3000, 3800,
];

/// How many of them are run unless asked otherwise. More show whether a twin that draws random numbers was unlucky.
pub const USUAL_PHASES: usize = 5;

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

/// One of them: runs at so many start phases, one after the other. The first is the same whatever their number.
struct Guest {
    path: Path,
    twin: (&'static str, &'static str),
    side: Side,
    phases: usize,
}

impl Guests {
    /// In a lab whose limit is set for each guest; results go below `dir`.
    pub fn new(lab: Lab, dir: PathBuf) -> Guests {
        Guests { release: lab.kernel.release.clone(), lab, dir }
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
        let mut guests = Vec::new();
        for path in paths {
            for twin in twins.iter().filter(|twin| path.is_for(twin.0)) {
                guests.extend([Side::Ours, Side::Native].map(|side| Guest { path: *path, twin: *twin, side, phases }));
            }
        }
        guests.retain(|guest| {
            let is_there = |phase_us: &u32| self.has(&guest.path, guest.twin.0, guest.side, *phase_us);
            !PHASES_US.iter().take(phases).all(is_there)
        });
        let (all, start) = (guests.len(), Instant::now());
        let queue = Mutex::new(guests.into_iter());
        let stop = AtomicBool::new(false);
        // The first one ends the others, whose own failure is then that they were interrupted.
        let failure = Mutex::new(None);
        let work = || {
            loop {
                let (guest, left) = {
                    let mut queue = queue.lock().expect("nobody panics with it");
                    let Some(guest) = queue.next() else { return };
                    (guest, queue.len())
                };
                if let Err(error) = self.one(&guest, &stop) {
                    failure.lock().expect("nobody panics with it").get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
                eprintln!("{} of {all} guests ({} s)", all - left, start.elapsed().as_secs());
            }
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            for _ in 0..cores {
                scope.spawn(work);
            }
        });
        failure.into_inner().expect("nobody panicked with it").map_or(Ok(()), Err)
    }

    fn one(&self, guest: &Guest, stop: &AtomicBool) -> Result<(), Failure> {
        let native = format!("native:{}", guest.twin.1);
        let (main, other) = match guest.side {
            Side::Ours => (guest.twin.0, native.as_str()),
            Side::Native => (native.as_str(), guest.twin.0),
        };
        let scenario = Scenario::parse("fidelity.toml", &guest.path.scenario(main, other))?;
        let phases = &PHASES_US[..guest.phases];
        let folders: Vec<PathBuf> =
            phases.iter().map(|phase_us| self.folder(&guest.path, guest.twin.0, guest.side, *phase_us)).collect();
        for folder in &folders {
            // What an interrupted one has left.
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
            fs::create_dir_all(folder)?;
        }
        let words: Vec<[String; 2]> =
            phases.iter().map(|phase_us| ["--start-phase".to_owned(), format!("{phase_us}us")]).collect();
        let words: Vec<[&str; 2]> = words.iter().map(|words| words.each_ref().map(String::as_str)).collect();
        let bench =
            |(options, folder)| Bench { scenario: &scenario, attempts: 1, options, kernel_carries: false, folder };
        let benches: Vec<Bench<'_>> =
            words.iter().map(<[&str; 2]>::as_slice).zip(folders.iter().map(PathBuf::as_path)).map(bench).collect();
        let limit = bench::default_limit(&scenario, 1) * u32::try_from(phases.len())?;
        let ran = bench::run_all(&Lab { limit, ..self.lab.clone() }, &benches, stop)?;
        for (folder, ran) in folders.iter().zip(ran) {
            if !folder.join("run-1/recording.parquet").is_file() {
                return Err(format!("{}: the guest left no recording: {}", folder.display(), ran.stderr.trim()).into());
            }
        }
        Ok(())
    }
}
