//! A scenario in a guest: the same `ccactl bench`, and its folder back as if it had run here.

use crate::call::{Ran, failure};
use crate::error::{Error, Result};
use crate::job::{End, GuestCommand};
use crate::kernel::Origin;
use crate::lab::{Lab, Task};
use crate::machine::Clock;
use ccactl_abi::exit;
use ccactl_host::output::{self, Replace};
use ccactl_scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a guest's results were made with, in the folder of the bench: enough to make them again.
pub const LAB_FILE: &str = "lab.json";

/// The scenario in the guest, in a folder for each bench; traces lie beside it.
const SCENARIO: &str = "scenario.toml";
/// What a bench writes last.
const RESULT: &str = "result.json";

/// Said where a guest's clock is not all that it should be.
const NOT_REPEATABLE: &str = "warning: expected QEMU to take the time of day from the lab (LD_PRELOAD), found that it does not: how busy this \
     host is may show in the guest, by nanoseconds first, and other runs be other ones; a QEMU that is linked statically and a folder for \
     temporary files (TMPDIR) that is mounted noexec are known causes\n";

/// Setting a run up and evaluating it, in the guest's time.
const AROUND_A_RUN: Duration = Duration::from_secs(60);
/// Booting, in the host's time; a host that does other things needs many times the seconds that an idle one does.
const BOOT: Duration = Duration::from_secs(600);
/// The host's seconds per second of a guest before it counts as hung: forty times what a run at 20 Mbit/s needs on an idle host.
const HOST_PER_GUEST: u32 = 80;

/// [`LAB_FILE`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Version of ccactl.
    pub version: String,
    /// SHA-256 of the program in the guest; another build of the same version may take other moments.
    pub program_sha256: String,
    /// The guest's kernel, as `uname -r` shows it.
    pub kernel: String,
    /// Image and packages of the kernel.
    pub origin: Origin,
    /// First line of QEMU's `--version`.
    pub qemu: String,
    /// `virtual` or `host`.
    pub clock: String,
    /// See [`crate::Results::repeatable`].
    pub repeatable: bool,
    /// Arguments of QEMU; files of the run are named without their folder.
    pub machine: Vec<String>,
}

/// How long a bench may take in the host's time, unless the user says otherwise.
#[must_use]
pub fn default_limit(scenario: &Scenario, attempts: u32) -> Duration {
    BOOT + guest_limit(scenario, attempts) * HOST_PER_GUEST
}

fn guest_limit(scenario: &Scenario, attempts: u32) -> Duration {
    (Duration::from(scenario.with_warm_up()) + AROUND_A_RUN) * scenario.repeat * attempts
}

/// A bench of a guest.
#[derive(Debug, Clone, Copy)]
pub struct Bench<'a> {
    /// What to run.
    pub scenario: &'a Scenario,
    /// How often a run is tried until it is valid.
    pub attempts: u32,
    /// Further options of `ccactl bench`.
    pub options: &'a [&'a str],
    /// Whether it asks for a back end inside the kernel.
    pub kernel_carries: bool,
    /// Where its results go: a folder that exists and is free of results.
    pub folder: &'a Path,
}

/// Runs `ccactl bench` in a guest, and puts what it leaves into its folder: the layout that it has on a host, and [`LAB_FILE`]. Its exit
/// code is 0, 1 without a valid run, or 6 when a threshold was missed; in what it printed this host's folder is in the place of the
/// guest's.
///
/// # Errors
/// [`Error::Unsupported`] for a scenario that needs more than ccactl, [`Error::Command`] when the bench left no result, and all that
/// [`Lab::run`] reports.
pub fn run(lab: &Lab, bench: Bench<'_>, interrupt: &AtomicBool) -> Result<Ran> {
    run_all(lab, &[bench], interrupt).map(|mut ran| ran.remove(0))
}

/// Runs several in one guest, one after the other; their folders are of one file system. All results or none: where one fails, nothing of
/// the others is kept.
///
/// # Errors
/// Those of [`run`].
pub fn run_all(lab: &Lab, benches: &[Bench<'_>], interrupt: &AtomicBool) -> Result<Vec<Ran>> {
    let flows = benches.iter().flat_map(|bench| &bench.scenario.flows);
    if let Some(flow) = flows.into_iter().find(|flow| flow.command.is_some()) {
        return Err(Error::Unsupported { flow: flow.name.clone() });
    }
    let Some(first) = benches.first() else { return Ok(Vec::new()) };
    let description = lab.describe()?;
    let results = lab.run(&task(benches), first.folder, interrupt)?;
    let description = Description { repeatable: results.repeatable, ..description };
    let ended = |index: usize| -> Result<Ran> {
        let (stdout, mut stderr) = (results.stdout(index)?, results.stderr(index)?);
        let has_result = results.folder().join(result_folder(index)).join(RESULT).is_file();
        let code = code(&results.outcome.commands[index].end, has_result, &stderr)?;
        let guests = format!("/{}/{}", crate::job::RESULTS, result_folder(index));
        let stdout = stdout.replace(&guests, &benches[index].folder.display().to_string());
        if lab.clock == Clock::Virtual && !results.repeatable {
            stderr += NOT_REPEATABLE;
        }
        Ok(Ran { stdout, stderr, code })
    };
    let ran = (0..benches.len()).map(ended).collect::<Result<Vec<Ran>>>()?;
    for (index, bench) in benches.iter().enumerate() {
        take(&results.folder().join(result_folder(index)), &description, bench.folder)
            .map_err(|cause| Error::Results { cause })?;
    }
    Ok(ran)
}

fn take(results: &Path, description: &Description, folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(results)? {
        let entry = entry?;
        fs::rename(entry.path(), folder.join(entry.file_name()))?;
    }
    Ok(output::write(&folder.join(LAB_FILE), &serde_json::to_vec_pretty(description)?, Replace::Ours)?)
}

/// Of a bench below the guest's `/results`.
fn result_folder(index: usize) -> String {
    format!("bench-{index}")
}

fn task(benches: &[Bench<'_>]) -> Task {
    let mut task = Task { kernel_carries: benches.iter().any(|bench| bench.kernel_carries), ..Task::default() };
    for (index, bench) in benches.iter().enumerate() {
        let job = format!("job/{index}");
        let (file, folder) =
            (format!("/{job}/{SCENARIO}"), format!("/{}/{}", crate::job::RESULTS, result_folder(index)));
        let words = ["bench", &file, "--output", &folder, "--attempts", &bench.attempts.to_string()];
        let arguments = words.iter().chain(bench.options).map(ToString::to_string).collect();
        let limit_s = guest_limit(bench.scenario, bench.attempts).as_secs();
        task.commands.push(GuestCommand { arguments, limit_s });
        task.files.push((format!("{job}/{SCENARIO}"), bench.scenario.to_toml().into_bytes()));
        let files = bench.scenario.files();
        task.files.extend(files.into_iter().map(|(name, content)| (format!("{job}/{name}"), content)));
    }
    task
}

/// The exit code of a bench that has left its result; anything else is a failure.
fn code(end: &End, has_result: bool, stderr: &str) -> Result<u8> {
    match (end, has_result) {
        (End::Exited(code), true) => Ok(u8::try_from(*code).unwrap_or(exit::FAILURE)),
        _ => Err(failure("bench", end, stderr)),
    }
}

impl Lab {
    /// What identifies this lab; whether its results are repeatable shows when there are some.
    ///
    /// # Errors
    /// [`Error::NoQemu`] and [`Error::Program`].
    pub fn describe(&self) -> Result<Description> {
        let program_sha256 = crate::kernel::sha256_of(&self.program)
            .map_err(|cause| Error::Program { path: self.program.clone(), found: cause.to_string() })?;
        let clock = match self.clock {
            Clock::Virtual => "virtual",
            Clock::Host => "host",
        };
        Ok(Description {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program_sha256,
            kernel: self.kernel.release.clone(),
            origin: self.kernel.origin.clone(),
            qemu: self.qemu.version()?,
            clock: clock.to_owned(),
            repeatable: false,
            machine: self.machine_words(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(text: &str) -> Scenario {
        let head = "name = 'x'\ndescription = 'x'\nduration = '2s'\n[link]\nrate = '10Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'\n";
        ccactl_scenario::ScenarioFile::parse("x.toml", &format!("{head}{text}"), &[]).unwrap().scenario
    }

    #[test]
    fn a_bench_without_a_result_fails_with_the_guests_own_words_and_code() {
        let error = code(&End::Exited(3), false, "a\n\nccactl: no BTF\n").unwrap_err();
        assert_eq!(error.exit_code(), exit::KERNEL);
        assert!(error.to_string().ends_with("ended with 3: a\nccactl: no BTF"), "{error}");
        assert!(code(&End::Exited(0), false, "").is_err(), "a success without a result is none");
        assert!(code(&End::Killed(9), true, "").unwrap_err().to_string().ends_with("was ended by signal 9"));
    }

    #[test]
    fn a_bench_with_a_result_keeps_its_code() {
        for expected in [exit::OK, exit::FAILURE, exit::THRESHOLD] {
            assert_eq!(code(&End::Exited(expected.into()), true, "not valid").unwrap(), expected);
        }
    }

    #[test]
    fn the_guest_runs_the_resolved_scenario_with_the_options() {
        let scenario = scenario("[[flow]]\nname = 'a'\nalgorithm = 'reno'\n");
        let bench = Bench {
            scenario: &scenario,
            attempts: 2,
            options: &["--json"],
            kernel_carries: false,
            folder: Path::new("/"),
        };
        let task = task(&[bench, Bench { options: &[], ..bench }]);
        let expected = ["bench", "/job/0/scenario.toml", "--output", "/results/bench-0", "--attempts", "2", "--json"];
        assert_eq!(task.commands[0].arguments, expected);
        assert_eq!(task.commands[1].arguments[3], "/results/bench-1");
        let (path, text) = &task.files[0];
        assert_eq!(path, "job/0/scenario.toml");
        let again = ccactl_scenario::ScenarioFile::parse("x.toml", std::str::from_utf8(text).unwrap(), &[]).unwrap();
        assert_eq!(again.scenario.flows[0].algorithm, "reno");
    }

    #[test]
    fn the_limits_grow_with_the_scenario() {
        let short = scenario("[[flow]]\nname = 'a'\nalgorithm = 'reno'\n");
        assert_eq!(guest_limit(&short, 3), Duration::from_secs(3 * 62));
        assert!(default_limit(&short, 3) > default_limit(&short, 1));
    }
}
