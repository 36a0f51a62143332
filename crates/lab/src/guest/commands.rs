//! The commands of a job, one after the other.

use crate::job::{CommandOutcome, End, GuestCommand, PROGRAM, printed};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running command is looked at.
const ATTENTION: Duration = Duration::from_millis(20);

/// Runs one; what it prints goes into files of `folder`.
pub(super) fn run(index: usize, command: &GuestCommand, folder: &Path) -> CommandOutcome {
    let start = Instant::now();
    let limit = Duration::from_secs(command.limit_s);
    let program = Path::new("/").join(PROGRAM);
    let end = start_command(&program, command, index, folder)
        .and_then(|child| wait(child, start, limit))
        .unwrap_or_else(|error| End::NotStarted(error.to_string()));
    CommandOutcome { arguments: command.arguments.clone(), end, took_ns: start.elapsed().as_nanos() as u64 }
}

fn start_command(program: &Path, command: &GuestCommand, index: usize, folder: &Path) -> io::Result<Child> {
    let file = |stream| File::create(folder.join(printed(index, stream)));
    Command::new(program)
        .args(&command.arguments)
        .env_clear()
        .envs([("HOME", "/"), ("PATH", "/"), ("LC_ALL", "C")])
        .stdin(Stdio::null())
        .stdout(file("stdout")?)
        .stderr(file("stderr")?)
        .spawn()
}

fn wait(mut child: Child, start: Instant, limit: Duration) -> io::Result<End> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(end_of(status));
        }
        if start.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(End::Overdue);
        }
        std::thread::sleep(ATTENTION);
    }
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exited(code),
        (None, signal) => End::Killed(signal.unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(script: &str, limit_s: u64) -> End {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        wait(child, Instant::now(), Duration::from_secs(limit_s)).unwrap()
    }

    #[test]
    fn codes_and_signals_are_told_apart() {
        assert_eq!(ended("exit 6", 60), End::Exited(6));
        assert_eq!(ended("kill -9 $$", 60), End::Killed(9));
    }

    #[test]
    fn a_command_beyond_its_limit_is_killed() {
        assert_eq!(ended("exec sleep 600", 0), End::Overdue);
    }
}
