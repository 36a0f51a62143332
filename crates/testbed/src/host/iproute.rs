//! Commands of iproute2, for what has no netlink request here.

use crate::error::{Error, Result};
use std::io;
use std::process::{Command, Stdio};

/// Runs `ip` or `tc`; gives what it prints.
///
/// # Errors
/// [`Error::NoProgram`] when it is not installed, [`Error::Command`] with the whole command when it fails.
pub fn run(program: &'static str, arguments: &[String]) -> Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().map_err(|cause| {
        if cause.kind() == io::ErrorKind::NotFound {
            return Error::NoProgram { program };
        }
        Error::System { action: format!("run {program}"), cause }
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    // After the first line tc tells its whole syntax.
    let found = told.lines().next().unwrap_or("no explanation").to_owned();
    Err(Error::Command { line: format!("{program} {}", arguments.join(" ")), expected: "it to succeed", found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_and_one_that_fails_are_told_apart() {
        let missing = run("ccactl-no-such-program", &[]).unwrap_err();
        assert!(missing.to_string().contains("install iproute2"), "{missing}");
        let failed = run("ls", &["/nonexistent-ccactl".to_owned()]).unwrap_err();
        assert!(failed.to_string().starts_with("ls /nonexistent-ccactl: expected it to succeed, found "), "{failed}");
    }
}
