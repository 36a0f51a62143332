//! A flow whose process the scenario names.

use crate::emulator::address;
use crate::error::{Error, Result};
use crate::host::cgroup::Cgroup;
use crate::host::netns::Netns;
use crate::host::process::{Process, Start};
use ccactl_scenario::FlowSpec;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The process and when it is to run.
pub struct Foreign {
    program: PathBuf,
    flow: FlowSpec,
    words: Vec<OsString>,
    port: u16,
    process: Option<Process>,
    stopped: bool,
}

impl Foreign {
    /// Not started yet. `program` is the `ccactl` binary.
    pub fn new(program: &Path, flow: &FlowSpec, words: &[String], port: u16) -> Self {
        let words = words.iter().map(OsString::from).collect();
        Foreign { program: program.to_owned(), flow: flow.clone(), words, port, process: None, stopped: false }
    }

    /// Starts it or stops it when its time has come.
    pub fn attend(&mut self, elapsed: Duration, netns: &Netns, cgroup: &Cgroup) -> Result<()> {
        if self.stopped {
            return Ok(());
        }
        if elapsed >= self.flow.stop.into() {
            self.process = None;
            self.stopped = true;
            // The command may have children of its own.
            return cgroup.kill();
        }
        if self.process.is_none() && elapsed >= self.flow.start.into() {
            let start = Start { program: &self.program, netns, cgroup: Some(cgroup) };
            self.process = Some(Process::spawn(start, &self.words, |command| {
                command.env("CCACTL_SERVER", address::SERVER.to_string()).env("CCACTL_PORT", self.port.to_string());
                // Results are those of the recording; what the command prints would spoil the table.
                command.stdin(Stdio::null()).stdout(Stdio::null());
            })?);
        }
        let Some(process) = &mut self.process else { return Ok(()) };
        let ended = process.try_wait().map_err(Error::system("wait for a command"))?;
        match ended {
            None => Ok(()),
            Some(status) if status.success() => {
                self.stopped = true;
                Ok(())
            }
            Some(status) => Err(Error::Flow {
                flow: self.flow.name.clone(),
                message: format!("expected its command to run until its stop or to end well, found: {status}"),
            }),
        }
    }
}
