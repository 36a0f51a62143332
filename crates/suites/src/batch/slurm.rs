//! Slurm: `sbatch` takes an array of cells and a report that waits for it, `squeue` says how far they are.

use super::{Error, FOLDER, Job, LAB_MIB, MINUTE, Result, ranges};
use crate::folder::SuiteFolder;
use crate::runner::Ground;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What every task runs; also installed by the packages.
pub const SCRIPT: &str = include_str!("../../../../packaging/slurm/ccactl-bench.sbatch");
const SCRIPT_FILE: &str = "ccactl-bench.sbatch";
const CELLS_FILE: &str = "cells";
const REPORT_LOG: &str = "report.log";

/// An experiment as Slurm is given it.
#[derive(Debug, Clone)]
pub struct Slurm<'a> {
    job: &'a Job,
    folder: &'a Path,
}

/// What is in the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Tasks that wait.
    pub waiting: usize,
    /// Tasks that have begun.
    pub running: usize,
}

impl Seen {
    /// Whether nothing is left in the queue.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Seen::default()
    }
}

impl<'a> Slurm<'a> {
    /// For results in this folder, which all nodes reach by this path.
    #[must_use]
    pub fn new(job: &'a Job, folder: &'a Path) -> Self {
        Slurm { job, folder }
    }

    /// The command that submits these tasks.
    #[must_use]
    pub fn array(&self, tasks: &[usize]) -> Vec<String> {
        let at_once = self.job.at_once.map_or_else(String::new, |n| format!("%{n}"));
        let minutes = self.job.limit().as_secs().div_ceil(MINUTE.as_secs());
        let mut words = vec![
            "sbatch".to_owned(),
            "--parsable".to_owned(),
            format!("--array={}{at_once}", ranges(tasks)),
            format!("--time={minutes}"),
            format!("--output={}", self.file("%A_%a.log").display()),
        ];
        words.extend(match self.job.ground {
            // Links keep real time: nothing else may run there.
            Ground::Host => vec!["--exclusive".to_owned()],
            Ground::Guests => vec!["--cpus-per-task=1".to_owned(), format!("--mem={LAB_MIB}M")],
            Ground::Simulator => vec!["--cpus-per-task=1".to_owned()],
        });
        words.extend(self.job.options.iter().cloned());
        words.extend([SCRIPT_FILE, CELLS_FILE].map(|name| self.file(name).display().to_string()));
        words.extend([self.job.program.display().to_string(), "bench".to_owned(), "run".to_owned()]);
        words.extend(self.job.words.iter().cloned());
        words
    }

    /// The command that submits the report, for when these tasks have ended, however they did.
    ///
    /// # Errors
    /// When a path cannot be given to a shell.
    pub fn report(&self, array: &str) -> Result<Vec<String>> {
        let (program, folder) = (self.job.program.display().to_string(), self.folder.display().to_string());
        let words = [program.as_str(), "bench", "report", &folder];
        let wrapped = shlex::try_join(words).map_err(|_| Error::Path { found: words.join(" ") })?;
        let mut words = vec!["sbatch".to_owned(), "--parsable".to_owned()];
        words.extend(self.job.options.iter().cloned());
        // Last, so that options for the cells do not take their place.
        words.extend([
            "--job-name=ccactl-report".to_owned(),
            format!("--dependency=afterany:{array}"),
            format!("--output={}", self.file(REPORT_LOG).display()),
            format!("--wrap={wrapped}"),
        ]);
        Ok(words)
    }

    /// Submits these tasks and the report; gives the numbers of both jobs.
    ///
    /// # Errors
    /// When a file cannot be written, or Slurm refuses.
    pub fn submit(&self, folder: &SuiteFolder, tasks: &[usize]) -> crate::Result<[String; 2]> {
        let made = self.folder.join(FOLDER);
        std::fs::create_dir_all(&made).map_err(crate::Error::folder(&made, "make it"))?;
        let cells: String = self.job.matrix.iter().map(|cell| format!("{}\n", cell.id)).collect();
        folder.write(&format!("{FOLDER}/{CELLS_FILE}"), cells.as_bytes())?;
        folder.write(&format!("{FOLDER}/{SCRIPT_FILE}"), SCRIPT.as_bytes())?;
        let array = submitted(&self.array(tasks))?;
        let report = submitted(&self.report(&array)?).map_err(|cause| Error::NoReport {
            array: array.clone(),
            folder: self.folder.to_owned(),
            cause: Box::new(cause),
        })?;
        Ok([array, report])
    }

    /// What is left of these jobs in the queue.
    ///
    /// # Errors
    /// When Slurm does not answer.
    pub fn look(jobs: &[String]) -> Result<Seen> {
        let mut seen = Seen::default();
        for job in jobs {
            let words = ["squeue", "--noheader", "--array", "--format=%T", "--jobs", job].map(str::to_owned);
            let states = match said(&words) {
                // Some minutes after its end a job is forgotten.
                Err(Error::Refused { said, .. }) if said.contains("Invalid job id") => continue,
                other => other?,
            };
            let (waiting, running): (Vec<&str>, Vec<&str>) = states.lines().partition(|state| *state == "PENDING");
            seen.waiting += waiting.len();
            seen.running += running.len();
        }
        Ok(seen)
    }

    /// How a task ended, by the accounting of the cluster; `None` where there is none.
    #[must_use]
    pub fn ended(array: &str, task: usize) -> Option<String> {
        let job = format!("{array}_{task}");
        let words = ["sacct", "--noheader", "--allocations", "--parsable2", "--format=State,NodeList", "--jobs", &job];
        let answer = said(&words.map(str::to_owned)).ok()?;
        let (state, nodes) = answer.lines().last()?.split_once('|')?;
        Some(format!("{state} on {nodes}"))
    }

    /// What a task said.
    #[must_use]
    pub fn log(&self, array: &str, task: usize) -> PathBuf {
        self.file(&format!("{array}_{task}.log"))
    }

    /// What the report said.
    #[must_use]
    pub fn report_log(&self) -> PathBuf {
        self.file(REPORT_LOG)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(FOLDER).join(name)
    }
}

/// The number of a new job: `--parsable` writes it alone, or with the cluster behind a semicolon.
fn submitted(words: &[String]) -> Result<String> {
    let answer = said(words)?;
    let number = answer.trim().split(';').next().unwrap_or_default();
    if number.is_empty() || number.contains(|c: char| !c.is_ascii_digit()) {
        return Err(Error::Answer { command: words.join(" "), expected: "the number of a job", found: answer });
    }
    Ok(number.to_owned())
}

fn said(words: &[String]) -> Result<String> {
    let [program, arguments @ ..] = words else { unreachable!("commands have a name") };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let name = ["sbatch", "squeue", "sacct"].into_iter().find(|name| name == program).expect("one of these");
    let output = output.map_err(|cause| Error::Start { program: name, cause })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Refused { command: words.join(" "), status: output.status, said });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ground: Ground) -> Job {
        let cells = ccactl_scenario::ScenarioFile::open("interaction-single", &[]).unwrap().cells().to_vec();
        Job {
            program: "/opt/a b/ccactl".into(),
            words: vec!["interaction-single".to_owned(), "-o".to_owned(), "/shared/it's".to_owned()],
            matrix: cells.clone(),
            cells,
            ground,
            at_once: Some(8),
            options: vec!["--partition=lab".to_owned()],
        }
    }

    #[test]
    fn a_cell_in_a_guest_asks_for_a_cpu_and_one_in_real_time_for_the_host() {
        let of = |ground| Slurm::new(&job(ground), Path::new("/shared/it's")).array(&[1, 2, 5]).join(" ");
        let guests = of(Ground::Guests);
        assert!(guests.starts_with("sbatch --parsable --array=1-2,5%8 --time="), "{guests}");
        assert!(guests.contains("--cpus-per-task=1 --mem=2048M --partition=lab /shared/it's/.batch/"), "{guests}");
        assert!(guests.ends_with("/opt/a b/ccactl bench run interaction-single -o /shared/it's"), "{guests}");
        let host = of(Ground::Host);
        assert!(host.contains(" --exclusive --partition=lab ") && !host.contains("--mem"), "{host}");
    }

    #[test]
    fn the_report_waits_for_all_and_its_paths_are_quoted() {
        let words = Slurm::new(&job(Ground::Guests), Path::new("/shared/it's")).report("77").unwrap();
        assert!(words.contains(&"--dependency=afterany:77".to_owned()), "{words:?}");
        let wrapped = words.last().unwrap().strip_prefix("--wrap=").unwrap();
        assert_eq!(shlex::split(wrapped).unwrap(), ["/opt/a b/ccactl", "bench", "report", "/shared/it's"]);
    }

    #[test]
    fn a_script_without_a_task_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join(SCRIPT_FILE);
        std::fs::write(&script, SCRIPT).unwrap();
        let cells = folder.path().join(CELLS_FILE);
        std::fs::write(&cells, "axis=a\naxis=b with a blank\n").unwrap();
        let run = |task: Option<&str>| {
            let mut command = Command::new("sh");
            command
                .args([&script, &cells])
                .args(["printf", "[%s]"])
                .env_remove("SLURM_ARRAY_TASK_ID")
                .env("TMPDIR", "/node");
            if let Some(task) = task {
                command.env("SLURM_ARRAY_TASK_ID", task);
            }
            let output = command.output().unwrap();
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            (output.status.code(), text(output.stdout), text(output.stderr))
        };
        let (code, said, _) = run(Some("2"));
        assert_eq!(code, Some(0));
        assert!(said.ends_with("[--cell][axis=b with a blank][--scratch][/node]"), "{said}");
        assert!(run(Some("3")).2.contains("expected a cell in line 3, found none"));
        assert!(run(None).2.contains("expected a task of a job array"));
    }
}
