//! Connections whose receivers can go silent.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

pub const CONNECTIONS: usize = 8;
/// More than two timeouts of a connection whose RTT is none.
const SILENCE: Duration = Duration::from_millis(900);

/// Connections that send a little all the time.
pub struct Traffic {
    receivers: Vec<TcpStream>,
    pub port: u16,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Traffic {
    pub fn start() -> Traffic {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (mut receivers, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..CONNECTIONS {
            let mut sender = TcpStream::connect(address).unwrap();
            let receiver = listener.accept().unwrap().0;
            let mut reader = receiver.try_clone().unwrap();
            let over = Arc::clone(&is_over);
            threads.push(thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    let _ = sender.write(&[0; 4000]);
                    sleep(Duration::from_millis(10));
                }
            }));
            // Ends when its sender has.
            threads.push(thread::spawn(move || while reader.read(&mut [0; 65_536]).is_ok_and(|count| count > 0) {}));
            receivers.push(receiver);
        }
        Traffic { receivers, port: address.port(), is_over, threads }
    }

    /// These receivers hear nothing for a while: their senders time out.
    pub fn silence(&self, which: std::ops::Range<usize>) {
        for receiver in &self.receivers[which.clone()] {
            let mut nothing = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }];
            let program = libc::sock_fprog { len: 1, filter: nothing.as_mut_ptr() };
            set(receiver, libc::SO_ATTACH_FILTER, &program);
        }
        sleep(SILENCE);
        self.receivers[which].iter().for_each(|receiver| set(receiver, libc::SO_DETACH_FILTER, &0_i32));
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

fn set<T>(receiver: &TcpStream, option: i32, value: &T) {
    let size = u32::try_from(size_of::<T>()).unwrap();
    let value = std::ptr::from_ref(value).cast();
    // SAFETY: the value lives until the call returns, and its size is its own.
    assert_eq!(unsafe { libc::setsockopt(receiver.as_raw_fd(), libc::SOL_SOCKET, option, value, size) }, 0);
}
