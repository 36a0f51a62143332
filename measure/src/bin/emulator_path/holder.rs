//! A process that holds a path.

use crate::Result;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where the ends of a path are.
pub struct Path {
    pub sender: File,
    pub receiver: File,
    pub to: Ipv4Addr,
}

/// The process; without it there is no path.
pub struct Holder {
    child: Child,
    pub path: Path,
}

impl Holder {
    /// Starts it and reads its line.
    pub fn start(mut program: Command) -> Result<Holder> {
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped above")).read_line(&mut line)?;
        match Self::path(&line) {
            Ok(path) => Ok(Holder { child, path }),
            Err(error) => {
                drop(child.stdin.take());
                let status = child.wait()?;
                Err(format!("expected two namespaces and an address, found {line:?} ({error}); it ended with {status}")
                    .into())
            }
        }
    }

    fn path(line: &str) -> Result<Path> {
        let [sender, receiver, to] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            return Err("not three words".into());
        };
        Ok(Path { sender: File::open(sender)?, receiver: File::open(receiver)?, to: to.parse()? })
    }

    /// Time on a CPU of all its threads (`/proc/PID/task/TID/schedstat`, first number, in ns).
    pub fn cpu_time(&self) -> Result<Duration> {
        let mut total_ns = 0_u64;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let schedstat = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let on_cpu = schedstat.split_whitespace().next().ok_or("schedstat is empty")?;
            total_ns += on_cpu.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(total_ns))
    }

    /// Lets it go and waits.
    pub fn finish(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the holder of the path ended with {status}").into()) }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
