//! The other side: ccactl as init of a guest. It mounts what a Linux system has, loads modules, runs the commands of its job
//! and hands the results back.

mod commands;
mod kernel;

use crate::archive::Writer;
use crate::disk;
use crate::job::{JOB, Job, MODULES, OUTCOME, Outcome, PRINTED, RESULTS};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The disk of the results.
const DISK: &str = "/dev/vda";
/// How long the disk may take to come up once its driver is there.
const DISK_WITHIN: Duration = Duration::from_secs(10);

/// Does the job and ends the machine. What goes wrong is said on the console, which the host shows when no results come.
///
/// # Errors
/// Only where it is not init: in any other process it would mount file systems and end the machine.
pub fn main() -> io::Result<()> {
    if std::process::id() != 1 {
        let message = "expected to be init of a guest of the lab (process 1), found an ordinary process";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    if let Err(error) = work() {
        eprintln!("ccactl: guest: {error}");
    }
    Err(kernel::end_machine())
}

fn work() -> io::Result<()> {
    kernel::mount_all()?;
    let job: Job = serde_json::from_slice(&fs::read(Path::new("/").join(JOB))?)?;
    load(&job.modules)?;
    let results = Path::new("/").join(RESULTS);
    fs::create_dir_all(results.join(PRINTED))?;
    let release = nix::sys::utsname::uname()?.release().to_string_lossy().into_owned();
    let commands = job.commands.iter().enumerate();
    let commands = commands.map(|(index, command)| commands::run(index, command, &results.join(PRINTED))).collect();
    let outcome = Outcome { release, commands };
    fs::write(results.join(OUTCOME), serde_json::to_vec_pretty(&outcome)?)?;
    load(&job.disk_modules)?;
    wait_for(Path::new(DISK))?;
    disk::store(Path::new(DISK), |out| {
        let mut archive = Writer::new(out);
        archive.tree(&results, "")?;
        archive.finish().map(drop)
    })
    .map_err(|cause| io::Error::new(cause.kind(), format!("cannot hand the results back: {cause}")))
}

fn load(modules: &[String]) -> io::Result<()> {
    modules.iter().try_for_each(|name| {
        let file: PathBuf = ["/", MODULES, &format!("{name}.ko")].iter().collect();
        kernel::load_module(&file)
            .map_err(|cause| io::Error::new(cause.kind(), format!("cannot load the kernel module {name}: {cause}")))
    })
}

fn wait_for(device: &Path) -> io::Result<()> {
    let deadline = Instant::now() + DISK_WITHIN;
    while !device.exists() {
        if Instant::now() >= deadline {
            let message = format!("expected the device {} for the results, found none", device.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_ordinary_process_is_not_taken_for_init() {
        let error = super::main().unwrap_err();
        assert!(error.to_string().contains("expected to be init of a guest"), "{error}");
    }
}
