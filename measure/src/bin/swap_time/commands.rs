//! The same from the shell's side: the process, its libraries, the programs that it loads.

use crate::Result;
use ccactl_loader::{Choice, LoadRequest, Loader};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time of one `ccactl swap`.
pub fn swap(program: &Path, loader: &Loader, request: &LoadRequest) -> Result<Duration> {
    let Choice::Registry(loadable) = &request.choice else {
        return Err("the kernel's own algorithm has no --as".into());
    };
    let mut swap = command(program, loader);
    swap.args(["swap", loadable.algorithm.name, "--as", &loadable.kernel_name]).arg("--cgroup").arg(&request.cgroup);
    time(swap)
}

/// Time of one `ccactl status`.
pub fn status(program: &Path, loader: &Loader) -> Result<Duration> {
    let mut status = command(program, loader);
    status.arg("status");
    time(status)
}

/// From the start of an exporter to the end of its first answer, and the times of the next ones.
pub fn scrapes(program: &Path, loader: &Loader, repeats: u32) -> Result<(Duration, Vec<Duration>)> {
    let before = Instant::now();
    let mut exporter = command(program, loader);
    exporter.args(["exporter", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
    let mut exporter = Ended(exporter.spawn()?);
    let mut line = String::new();
    BufReader::new(exporter.0.stderr.take().expect("a pipe")).read_line(&mut line)?;
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.ok_or_else(|| format!("the exporter said: {line}"))?.to_owned();
    scrape(&address)?;
    let first = before.elapsed();
    let mut later = Vec::new();
    for _ in 0..repeats {
        let before = Instant::now();
        scrape(&address)?;
        later.push(before.elapsed());
    }
    Ok((first, later))
}

fn scrape(address: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.1 200") && answer.contains("ccactl_policy_sockets") {
        Ok(())
    } else {
        Err(format!("a scrape got {}", answer.lines().next().unwrap_or("nothing")).into())
    }
}

/// Ends with its value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn command(program: &Path, loader: &Loader) -> Command {
    let mut command = Command::new(program);
    command.env("CCACTL_BPFFS", &loader.paths().bpffs).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn time(mut command: Command) -> Result<Duration> {
    let before = Instant::now();
    let status = command.status()?;
    let elapsed = before.elapsed();
    if status.success() { Ok(elapsed) } else { Err(format!("{command:?} failed: {status}").into()) }
}
