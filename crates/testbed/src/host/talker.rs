//! A child process that is spoken to in lines: see [`crate::traffic`] for what is said.

use super::priority;
use super::process::{Process, Start};
use crate::error::{Error, Result};
use crate::traffic::{End, READY};
use ccactl_link::Nanos;
use serde::de::DeserializeOwned;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How long a child may take to say that it is ready, or to report after its stop. Wide: a loaded machine
/// must not look like a fault.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A built-in end of a flow.
pub(crate) struct Talker {
    name: String,
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Talker {
    /// Starts an end with both its ends of the talk piped.
    pub(crate) fn start(name: &str, end: &End, start: Start<'_>) -> Result<Self> {
        let mut process = Process::spawn(start, &end.words(start.program), |command| {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        })?;
        let stdin = process.stdin();
        let lines = read_lines(process.stdout().expect("the output is piped"));
        Ok(Talker { name: name.to_owned(), process, stdin, lines })
    }

    /// An error with the name of the flow.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Error {
        Error::Flow { flow: self.name.clone(), message: message.into() }
    }

    fn line(&mut self, patience: Duration) -> Result<String> {
        self.lines.recv_timeout(patience).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                self.fault(format!("expected an answer of its process within {} s, found none", patience.as_secs()))
            }
            RecvTimeoutError::Disconnected => {
                let status = self.process.try_wait().ok().flatten();
                let status = status.map_or_else(|| "it closed its output".to_owned(), |status| status.to_string());
                self.fault(format!("expected an answer of its process, found that it has ended ({status})"))
            }
        })
    }

    /// Waits for the line by which a child says that it can start.
    pub(crate) fn wait_ready(&mut self) -> Result<()> {
        self.wait_ready_within(ANSWER_WITHIN)
    }

    /// The same for a child that has much to do before.
    pub(crate) fn wait_ready_within(&mut self, patience: Duration) -> Result<()> {
        let line = self.line(patience)?;
        if line == READY { Ok(()) } else { Err(self.fault(format!("expected {READY:?}, found {line:?}"))) }
    }

    /// Whether it runs with real-time priority; known once it is ready.
    pub(crate) fn is_realtime(&self) -> bool {
        priority::ENDS.is_of(self.process.id())
    }

    /// Begins the run at `t0`.
    pub(crate) fn go(&mut self, t0: Nanos) -> Result<()> {
        self.say(&format!("go {t0}"))
    }

    /// Says one line.
    pub(crate) fn say(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().expect("closed only at the end");
        writeln!(stdin, "{line}").map_err(Error::system(format!("say {line:?} to {}", self.name)))
    }

    /// Closes the child's standard input, by which it knows that nothing more will be said.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// An error when the child has ended other than well.
    pub(crate) fn check_running(&mut self) -> Result<()> {
        let ended = self.process.try_wait().map_err(Error::system("wait for a sender"))?;
        match ended.filter(|status| !status.success()) {
            None => Ok(()),
            Some(status) => Err(self.fault(format!("expected its sender to run until its stop, found: {status}"))),
        }
    }

    /// The next line, as JSON.
    pub(crate) fn report<T: DeserializeOwned>(&mut self) -> Result<T> {
        self.report_within(ANSWER_WITHIN)
    }

    /// The same for an answer that takes its time.
    pub(crate) fn report_within<T: DeserializeOwned>(&mut self, patience: Duration) -> Result<T> {
        let line = self.line(patience)?;
        serde_json::from_str(&line).map_err(|_| self.fault(format!("expected a report in JSON, found {line:?}")))
    }
}

/// Lines of a child, read by a thread that ends with the child's output.
fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(io::Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}
