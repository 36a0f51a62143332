//! Connections of a cgroup below that of a test.

use crate::host::{Host, cgroup2};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Connections that send a little all the time, of a cgroup below the test's.
pub struct Traffic {
    is_over: Arc<AtomicBool>,
    senders: Vec<JoinHandle<()>>,
    cgroup: PathBuf,
}

impl Traffic {
    pub fn start(host: &Host, name: &str, connections: usize) -> Traffic {
        let cgroup = host.directory().join(name);
        fs::create_dir_all(&cgroup).unwrap();
        let lines = fs::read_to_string("/proc/self/cgroup").unwrap();
        let home = lines.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
        let home = cgroup2().join(home.trim_start_matches('/'));
        // A socket stays in the cgroup in which it was made.
        enter(&cgroup);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let pairs: Vec<_> = (0..connections)
            .map(|_| (TcpStream::connect(listener.local_addr().unwrap()).unwrap(), listener.accept().unwrap().0))
            .collect();
        enter(&home);
        let is_over = Arc::new(AtomicBool::new(false));
        let send = |(mut to, mut from): (TcpStream, TcpStream)| {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || {
                let mut bytes = [0; 20_000];
                while !is_over.load(Ordering::Relaxed) {
                    to.write_all(&bytes).unwrap();
                    from.read_exact(&mut bytes).unwrap();
                    thread::sleep(Duration::from_millis(20));
                }
            })
        };
        Traffic { senders: pairs.into_iter().map(send).collect(), is_over, cgroup }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.senders.drain(..).for_each(|sender| drop(sender.join()));
        let _ = fs::remove_dir(&self.cgroup);
    }
}

fn enter(cgroup: &Path) {
    fs::write(cgroup.join("cgroup.procs"), std::process::id().to_string()).unwrap();
}
