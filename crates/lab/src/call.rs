//! One call of ccactl in a guest, for its own sake.

use crate::error::{Error, Result};
use crate::job::{End, GuestCommand};
use crate::lab::{Lab, Task};
use ccactl_abi::exit;
use std::sync::atomic::AtomicBool;

/// Last lines of a failed command that an error shows.
const LAST_LINES: usize = 5;

/// What a command in a guest said and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: u8,
}

impl Lab {
    /// Boots a guest for one command, which finds `files` (see [`Task::files`]) and may take `limit_s` of the guest's time.
    ///
    /// # Errors
    /// [`Error::Command`] when it does not end by itself, and all that [`Lab::run`] reports.
    pub fn call(
        &self,
        arguments: &[&str],
        files: Vec<(String, Vec<u8>)>,
        limit_s: u64,
        interrupt: &AtomicBool,
    ) -> Result<Ran> {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let name = arguments.first().cloned().unwrap_or_default();
        let task = Task { files, commands: vec![GuestCommand { arguments, limit_s }], ..Task::default() };
        let results = self.run(&task, &std::env::temp_dir(), interrupt)?;
        let (stdout, stderr) = (results.stdout(0)?, results.stderr(0)?);
        match &results.outcome.commands[0].end {
            End::Exited(code) => Ok(Ran { stdout, stderr, code: u8::try_from(*code).unwrap_or(exit::FAILURE) }),
            end => Err(failure(&name, end, &stderr)),
        }
    }
}

/// An error with the guest's own last words, and its exit code where it has a telling one.
pub(crate) fn failure(command: &str, end: &End, stderr: &str) -> Error {
    let (found, code) = match end {
        End::Exited(code) => {
            let code = u8::try_from(*code).ok().filter(|code| *code != exit::OK).unwrap_or(exit::FAILURE);
            (format!("ended with {code}"), code)
        }
        End::Killed(signal) => (format!("was ended by signal {signal}"), exit::FAILURE),
        End::Overdue => ("took longer than it may".to_owned(), exit::FAILURE),
        End::NotStarted(why) => (format!("did not start ({why})"), exit::FAILURE),
    };
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let words = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    Error::Command { command: command.to_owned(), found, words, code }
}
