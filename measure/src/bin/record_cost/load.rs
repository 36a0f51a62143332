//! Bulk transfers over the loopback of a namespace: as fast as the CPUs allow.

use crate::Result;
use ccactl_testbed::host::netns::Netns;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// What one call reads or writes: enough to keep the cost of calls small.
const CHUNK_BYTES: usize = 256 << 10;

pub struct Load {
    port: u16,
    received: Arc<AtomicU64>,
    /// The receiving ends: closing them ends the load.
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    /// One sending and one receiving thread per flow. Each stays on a CPU, sender and receiver on neighbours: a scheduler
    /// that now and then puts both on one would be seen as a change of throughput.
    pub fn start(netns: &Netns, flows: usize) -> Result<Load> {
        let status = Command::new("ip").args(["-n", netns.name(), "link", "set", "lo", "up"]).status()?;
        if !status.success() {
            return Err(format!("`ip link set lo up` in {}: {status}", netns.name()).into());
        }
        let (port, pairs) = netns.run(|| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let address = listener.local_addr()?;
            let pair = || io::Result::Ok((TcpStream::connect(address)?, listener.accept()?.0));
            Ok((address.port(), (0..flows).map(|_| pair()).collect::<io::Result<Vec<_>>>()?))
        })?;
        let mut load = Load { port, received: Arc::default(), sockets: Vec::new(), threads: Vec::new() };
        let cpus = cpus()?;
        for (number, (sender, receiver)) in pairs.into_iter().enumerate() {
            load.sockets.push(receiver.try_clone()?);
            let (send_on, receive_on) = (cpus[number % cpus.len()], cpus[(number + 1) % cpus.len()]);
            load.threads.push(std::thread::spawn(move || {
                stay_on(send_on);
                send(sender);
            }));
            let received = Arc::clone(&load.received);
            load.threads.push(std::thread::spawn(move || {
                stay_on(receive_on);
                receive(receiver, &received);
            }));
        }
        Ok(load)
    }

    /// Remote port of the senders.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn flows(&self) -> usize {
        self.sockets.len()
    }

    /// Received by the applications so far.
    pub fn bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    pub fn finish(self) -> Result<()> {
        for socket in &self.sockets {
            socket.shutdown(Shutdown::Both)?;
        }
        drop(self.sockets);
        for thread in self.threads {
            thread.join().map_err(|_| "a thread of the load panicked")?;
        }
        Ok(())
    }
}

/// Those that this process may use.
fn cpus() -> Result<Vec<usize>> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    Ok((0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).is_ok_and(|is_set| is_set)).collect())
}

/// Binds the thread that calls this.
fn stay_on(cpu: usize) {
    let mut one = CpuSet::new();
    one.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &one)).expect("a CPU that the process may use");
}

/// Until the receiver is gone.
fn send(mut sender: TcpStream) {
    let chunk = vec![0; CHUNK_BYTES];
    while sender.write_all(&chunk).is_ok() {}
}

fn receive(mut receiver: TcpStream, received: &AtomicU64) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = receiver.read(&mut chunk) {
        received.fetch_add(count as u64, Ordering::Relaxed);
    }
}
