//! What the traffic process does with its sockets when it is more than a plain transfer, and what it knows of them.

use crate::marks::mark_one_in;
use nix::sys::socket::{setsockopt, sockopt};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

/// Connections at a time.
const PARALLEL: u64 = 8;

/// Makes connections of pseudo-random size, 0 to 200 kB, of which the receiver drops a part of the segments. The sender
/// is the accepting side; what TCP_INFO says when everything is acknowledged, right before the close, is printed.
pub fn connections(listener: &TcpListener, count: u64, drop_one_in: u32) {
    thread::scope(|scope| {
        let address = listener.local_addr().unwrap();
        for worker in 0..PARALLEL {
            scope.spawn(move || {
                let own = (worker..count).step_by(PARALLEL as usize).count();
                for _ in 0..own {
                    serve(&listener.accept().unwrap().0);
                }
            });
            scope.spawn(move || {
                for number in (worker..count).step_by(PARALLEL as usize) {
                    fetch(address, size_of_connection(number), drop_one_in);
                }
            });
        }
    });
}

/// A different size for each connection, the same in each run; some have no payload at all.
fn size_of_connection(number: u64) -> u32 {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    if number.is_multiple_of(50) { 0 } else { ((mixed >> 32) % 200_001) as u32 }
}

/// The receiver asks for so many bytes, and says when it has them: from then on nothing is dropped, so the sender's
/// FIN is not sent twice.
fn fetch(address: SocketAddr, bytes: u32, drop_one_in: u32) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&bytes.to_be_bytes()).unwrap();
    if bytes > 0 {
        drop_segments(&stream, drop_one_in);
    }
    let mut payload = vec![0; bytes as usize];
    stream.read_exact(&mut payload).unwrap();
    if bytes > 0 {
        drop_no_more(&stream);
    }
    stream.write_all(b"!").unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

fn serve(mut stream: &TcpStream) {
    let mut request = [0; 4];
    stream.read_exact(&mut request).unwrap();
    stream.write_all(&vec![0x55; u32::from_be_bytes(request) as usize]).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    wait_until_acknowledged(stream);
    print_facts(stream);
}

/// Writes more than the window, closes at once, and lets the receiver read a while later: nearly all ACKs come to a
/// socket that is closed.
pub fn close_at_once(listener: &TcpListener, bytes: usize, pause: Duration) {
    thread::scope(|scope| {
        let address = listener.local_addr().unwrap();
        scope.spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            thread::sleep(pause);
            assert_eq!(std::io::copy(&mut stream, &mut std::io::sink()).unwrap(), bytes as u64);
        });
        let mut stream = listener.accept().unwrap().0;
        setsockopt(&stream, sockopt::SndBuf, &(4 * bytes)).unwrap();
        stream.write_all(&vec![0x55; bytes]).unwrap();
    });
}

/// Writes, and closes when everything has long been acknowledged.
pub fn close_later(listener: &TcpListener, bytes: usize, pause: Duration) {
    with_receiver(listener, |stream, _| {
        (&*stream).write_all(&vec![0x55; bytes]).unwrap();
        wait_until_acknowledged(stream);
        thread::sleep(pause);
    });
}

/// Nothing arrives for a while in the middle of a transfer.
pub fn stall(listener: &TcpListener, pause: Duration) {
    with_receiver(listener, |stream, receiver| {
        (&*stream).write_all(&[0x55; 10_000]).unwrap();
        wait_until_acknowledged(stream);
        drop_segments(receiver, 1);
        (&*stream).write_all(&[0x55; 10_000]).unwrap();
        thread::sleep(pause);
        drop_no_more(receiver);
        wait_until_acknowledged(stream);
        print_facts(stream);
    });
}

/// Another algorithm in the middle of a transfer.
pub fn switch(listener: &TcpListener, first: &str, second: &str) {
    with_receiver(listener, |stream, _| {
        for name in [first, second] {
            setsockopt(stream, sockopt::TcpCongestion, &OsString::from(name)).unwrap();
            // A look at the socket comes with each ACK.
            for _ in 0..5 {
                (&*stream).write_all(&[0x55; 1000]).unwrap();
                wait_until_acknowledged(stream);
            }
        }
    });
}

/// A transfer of which one packet in so many gets a congestion mark on its way.
pub fn marked(listener: &TcpListener, bytes: usize, one_in: u32) {
    let _marks = mark_one_in(one_in);
    with_receiver(listener, |stream, _| {
        (&*stream).write_all(&vec![0x55; bytes]).unwrap();
        wait_until_acknowledged(stream);
        print_facts(stream);
    });
}

/// So many writes, each acknowledged before the next.
pub fn ping(listener: &TcpListener, writes: u64) {
    with_receiver(listener, |stream, _| {
        for _ in 0..writes {
            (&*stream).write_all(&[0x55; 1000]).unwrap();
            wait_until_acknowledged(stream);
        }
        print_facts(stream);
    });
}

/// A connection of which the far end reads everything; `action` gets both ends and its end is the close.
fn with_receiver(listener: &TcpListener, action: impl FnOnce(&TcpStream, &TcpStream)) {
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    sender.set_nodelay(true).unwrap();
    let receiver = listener.accept().unwrap().0;
    thread::scope(|scope| {
        scope.spawn(|| std::io::copy(&mut &receiver, &mut std::io::sink()).unwrap());
        action(&sender, &receiver);
        sender.shutdown(Shutdown::Write).unwrap();
    });
}

fn wait_until_acknowledged(stream: &TcpStream) {
    loop {
        let mut queued: libc::c_int = 0;
        // SAFETY: TIOCOUTQ writes an int, which the pointer is to.
        assert_eq!(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut queued) }, 0);
        if queued == 0 {
            return;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

/// From now on one segment in so many, at random, does not reach this socket.
fn drop_segments(stream: &TcpStream, one_in: u32) {
    const LOAD_RANDOM: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_RANDOM) as u32;
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let mut program = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, LOAD_RANDOM),
        statement(libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K, one_in),
        libc::sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf: 1, k: 0 },
        statement(libc::BPF_RET | libc::BPF_K, 0),
        statement(libc::BPF_RET | libc::BPF_K, u32::MAX),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set_option(stream, libc::SO_ATTACH_FILTER, &program);
}

fn drop_no_more(stream: &TcpStream) {
    set_option(stream, libc::SO_DETACH_FILTER, &0_i32);
}

fn set_option<T>(stream: &TcpStream, option: libc::c_int, value: &T) {
    let (value, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes of `value`, and what a filter program points to, which both still live.
    let result = unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, value, length) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// What TCP_INFO says of a socket, in one line.
fn print_facts(stream: &TcpStream) {
    // SAFETY: all-zero bytes are a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    read_option(stream, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info);
    let mut flow_id = 0u64;
    read_option(stream, libc::SOL_SOCKET, libc::SO_COOKIE, &mut flow_id);
    println!(
        "@flow_id={flow_id} bytes_sent={} bytes_retrans={} bytes_acked={} bytes_received={} retrans_pkts={} \
         rto_count={} min_rtt_us={} delivered_pkts={} delivered_ce_pkts={}",
        info.tcpi_bytes_sent,
        info.tcpi_bytes_retrans,
        info.tcpi_bytes_acked,
        info.tcpi_bytes_received,
        info.tcpi_total_retrans,
        info.tcpi_total_rto,
        info.tcpi_min_rtt,
        info.tcpi_delivered,
        info.tcpi_delivered_ce,
    );
}

fn read_option<T: Copy>(stream: &TcpStream, level: libc::c_int, name: libc::c_int, value: &mut T) {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which is plain data.
    let result =
        unsafe { libc::getsockopt(stream.as_raw_fd(), level, name, std::ptr::from_mut(value).cast(), &raw mut length) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
