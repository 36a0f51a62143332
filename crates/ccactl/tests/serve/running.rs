//! A server, ended with its test.

use crate::host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Who waits this long for an answer has none.
const PATIENCE: Duration = Duration::from_secs(20);

/// Its state is the test's.
pub fn command(host: &Host, args: &[&str]) -> Command {
    let listens = args.contains(&"--listen");
    let place: &[&str] = if listens { &["serve"] } else { &["serve", "--listen", "127.0.0.1:0"] };
    let mut command = host.command(&[place, args].concat());
    command.env("CCACTL_STATE", host.run.path().join("state"));
    command
}

pub struct Running {
    process: Child,
    pub address: String,
    token: String,
    /// Kept open: what the server still says has somewhere to go.
    said: BufReader<ChildStderr>,
}

/// What it says to a request.
pub struct Answer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: String,
}

impl Running {
    /// It answers when this returns.
    pub fn start(host: &Host, args: &[&str]) -> Running {
        let mut process = command(host, args).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(process.stderr.take().unwrap());
        let mut running = Running { process, address: String::new(), token: String::new(), said };
        let mut line = String::new();
        while running.address.is_empty() {
            line.clear();
            let read = running.said.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "it has ended without saying where it listens");
            // Before, there may be a warning about what this kernel does not have.
            let url = line.trim().strip_prefix("live page: http://").map(|url| url.trim_end_matches('/'));
            if let Some((address, token)) = url.and_then(|url| url.split_once('/')) {
                (running.address, running.token) = (address.to_owned(), token.to_owned());
            }
        }
        running
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Something of the page.
    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("/{}/{path}", self.token), &self.address)
    }

    /// A whole answer.
    pub fn ask(&self, path: &str, host: &str) -> Answer {
        let mut stream = self.request(path, host);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{path}: {answer:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// A request of the page whose answer has not been read.
    pub fn open(&self, path: &str) -> TcpStream {
        self.request(&format!("/{}/{path}", self.token), &self.address)
    }

    fn request(&self, path: &str, host: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        stream
    }

    /// The history, so many moments, and the surroundings of a stream.
    pub fn listen(&self, moments: usize) -> (Value, Vec<Value>, Value) {
        let (mut history, mut ticks, mut around, mut name) = (Value::Null, Vec::new(), Value::Null, String::new());
        for line in BufReader::new(self.open("events")).lines() {
            let line = line.unwrap();
            if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                match name.as_str() {
                    "history" => history = data,
                    "around" => around = data,
                    _ => ticks.push(data),
                }
            }
            if ticks.len() >= moments && !around.is_null() {
                break;
            }
        }
        (history, ticks, around)
    }

    pub fn end(mut self, signal: Signal) -> ExitStatus {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
        self.process.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
