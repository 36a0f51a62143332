//! A scenario in a guest: the same `ccactl bench`, and its folder back as if it had run here.

use crate::call::{Ran, failure};
use crate::error::{Error, Result};
use crate::job::{End, GuestCommand};
use crate::kernel::Origin;
use crate::lab::{Lab, Task};
use crate::machine::Clock;
use ccactl_abi::exit;
use ccactl_scenario::Scenario;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a guest's results were made with, in the folder of the bench: enough to make them again.
pub const LAB_FILE: &str = "lab.json";

/// The scenario in the guest; traces lie beside it.
const SCENARIO: &str = "job/scenario.toml";
/// Folder of the bench below the guest's `/results`.
const FOLDER: &str = "bench";
/// What a bench writes last.
const RESULT: &str = "result.json";

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
    /// Arguments of QEMU; files of the run are named without their folder.
    pub machine: Vec<String>,
}

/// How long a bench may take in the host's time, unless the user says otherwise.
#[must_use]
pub fn default_limit(scenario: &Scenario, attempts: u32) -> Duration {
    BOOT + guest_limit(scenario, attempts) * HOST_PER_GUEST
}

fn guest_limit(scenario: &Scenario, attempts: u32) -> Duration {
    (Duration::from(scenario.duration) + AROUND_A_RUN) * scenario.repeat * attempts
}

/// Runs `ccactl bench` for a scenario in a guest, with further `options`, and puts what it leaves into `folder`, which exists and is
/// free of results: the layout that it has on a host, and [`LAB_FILE`]. Its exit code is 0, 1 without a valid run, or 6 when a
/// threshold was missed; in what it printed this host's folder is in the place of the guest's.
///
/// # Errors
/// [`Error::Unsupported`] for a scenario that needs more than ccactl, [`Error::Command`] when the bench left no result, and all that
/// [`Lab::run`] reports.
pub fn run(
    lab: &Lab,
    scenario: &Scenario,
    attempts: u32,
    options: &[&str],
    folder: &Path,
    interrupt: &AtomicBool,
) -> Result<Ran> {
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.command.is_some()) {
        return Err(Error::Unsupported { flow: flow.name.clone() });
    }
    let description = lab.describe()?;
    let results = lab.run(&task(scenario, attempts, options), folder, interrupt)?;
    let (stdout, stderr) = (results.stdout(0)?, results.stderr(0)?);
    let bench = results.folder().join(FOLDER);
    let code = code(&results.outcome.commands[0].end, bench.join(RESULT).is_file(), &stderr)?;
    let output = |cause| Error::Results { cause };
    for entry in fs::read_dir(&bench).map_err(output)? {
        let entry = entry.map_err(output)?;
        fs::rename(entry.path(), folder.join(entry.file_name())).map_err(output)?;
    }
    let text = serde_json::to_vec_pretty(&description).expect("strings are JSON");
    fs::write(folder.join(LAB_FILE), text).map_err(output)?;
    let stdout = stdout.replace(&format!("/{}/{FOLDER}", crate::job::RESULTS), &folder.display().to_string());
    Ok(Ran { stdout, stderr, code })
}

fn task(scenario: &Scenario, attempts: u32, options: &[&str]) -> Task {
    let (scenario_file, folder) = (format!("/{SCENARIO}"), format!("/{}/{FOLDER}", crate::job::RESULTS));
    let words = ["bench", &scenario_file, "--output", &folder, "--attempts", &attempts.to_string()];
    let arguments = words.iter().chain(options).map(ToString::to_string).collect();
    let traces = scenario.links().filter_map(|(_, link)| link.rate_trace.as_ref());
    let mut files = vec![(SCENARIO.to_owned(), scenario.to_toml().into_bytes())];
    files.extend(traces.map(|trace| (format!("job/{}", trace.file_name()), trace.text().as_bytes().to_vec())));
    let limit_s = guest_limit(scenario, attempts).as_secs();
    Task { files, commands: vec![GuestCommand { arguments, limit_s }] }
}

/// The exit code of a bench that has left its result; anything else is a failure.
fn code(end: &End, has_result: bool, stderr: &str) -> Result<u8> {
    match (end, has_result) {
        (End::Exited(code), true) => Ok(u8::try_from(*code).unwrap_or(exit::FAILURE)),
        _ => Err(failure("bench", end, stderr)),
    }
}

impl Lab {
    /// What identifies this lab.
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
        let task = task(&scenario("[[flow]]\nname = 'a'\nalgorithm = 'reno'\n"), 2, &["--json"]);
        let expected = ["bench", "/job/scenario.toml", "--output", "/results/bench", "--attempts", "2", "--json"];
        assert_eq!(task.commands[0].arguments, expected);
        let (path, text) = &task.files[0];
        assert_eq!(path, SCENARIO);
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
