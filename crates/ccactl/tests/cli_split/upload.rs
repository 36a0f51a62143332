//! What a client may send, bounded by the proxy: its own queue stays short.

use super::place::{CCACTL, NATIVE, Proxy, accept, bpffs, eventually, has_root, ip, read, write};
use super::transparent::{Path, SERVER};
use nix::sys::signal::Signal;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpCongestion;
use std::ffi::OsString;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// 20 Mbit/s with 400 ms of queue.
const BOTTLENECK: &str = "rate 20mbit burst 10kb limit 1mb";
/// 3 s of it.
const BYTES: u64 = 7_500_000;

/// Smoothed RTT of a socket in µs, as the kernel keeps it.
fn srtt_us(socket: &TcpStream) -> u32 {
    // SAFETY: all-zero bytes are a valid tcp_info.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let ret = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    assert_eq!(ret, 0, "{}", std::io::Error::last_os_error());
    info.tcpi_rtt
}

/// Uploads through a proxy at the far end of the bottleneck; mean of the RTT over the second half, in µs.
fn upload(path: &Path, more: &[&str]) -> u64 {
    let listener = path.server.run(|| TcpListener::bind((SERVER[0], 0))).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let listen = format!("{}:0", SERVER[0]);
    let proxy = Proxy::start(&path.server, &[&["--listen", &listen, "--to", &to][..], &NATIVE, more].concat());
    let client = path.client.run(|| TcpStream::connect(proxy.address)).unwrap();
    // Reno's slow start goes on until the queue is full; CUBIC's ends where it begins.
    setsockopt(&client, TcpCongestion, &OsString::from("reno")).unwrap();
    let server = accept(&listener);
    let samples = thread::scope(|scope| {
        let sender = scope.spawn(|| write(&client, 1, 0, BYTES).and_then(|()| client.shutdown(Shutdown::Write)));
        let receiver = scope.spawn(move || read(&server, 1));
        let mut samples = Vec::new();
        while !receiver.is_finished() {
            samples.push(u64::from(srtt_us(&client)));
            thread::sleep(Duration::from_millis(20));
        }
        sender.join().unwrap().unwrap();
        assert_eq!(receiver.join().unwrap().bytes, BYTES);
        samples
    });
    proxy.end();
    let half = &samples[samples.len() / 2..];
    half.iter().sum::<u64>() / half.len() as u64
}

#[test]
fn an_upload_target_keeps_the_queue_of_the_client_short() {
    if !has_root() {
        return;
    }
    let path = Path::bottleneck(BOTTLENECK);
    let free = upload(&path, &[]);
    let bound = upload(&path, &["--upload-target", "40ms"]);
    // Without a bound the queue is as long as the device allows: hundreds of ms.
    assert!(free > 150_000 && bound < 80_000, "RTT {free} µs without a target, {bound} µs with one of 40 ms");
}

#[test]
fn its_cgroup_is_shown_and_goes_and_that_of_a_killed_proxy_goes_with_the_next() {
    if !has_root() {
        return;
    }
    let netns = super::place::alone();
    ip(&netns, "link set lo mtu 1500");
    let start = || {
        let args = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--upload-target", "50ms"];
        Proxy::start(&netns, &[&args[..], &NATIVE].concat())
    };
    let status = || {
        let output = Command::new(CCACTL).arg("status").env("CCACTL_BPFFS", bpffs()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let killed = start();
    let first = format!("/ccactl-split-{}", killed.pid());
    let shown = status();
    let row = shown.lines().find(|line| line.starts_with(&first)).unwrap_or_else(|| panic!("{shown}"));
    assert!(row.contains("rledbat") && row.contains("target_ms=50"), "{row}");
    killed.signal(Signal::SIGKILL);
    eventually("it is dead", || !std::path::Path::new(&format!("/proc/{}/exe", killed.pid())).exists());
    drop(killed);
    let next = start();
    let second = format!("/ccactl-split-{}", next.pid());
    let shown = status();
    assert!(shown.contains(&second) && !shown.contains(&first), "{shown}");
    next.end();
    assert!(!status().contains(&second) && !bpffs().exists());
}

#[test]
fn a_target_out_of_range_is_refused() {
    if !has_root() {
        return;
    }
    let netns = super::place::alone();
    let args = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1", "--upload-target", "100us"];
    let (code, line) = super::place::refused(&netns, &[&args[..], &NATIVE].concat());
    assert!(code == 2 && line.contains("--upload-target: ") && line.contains("target_ms"), "{code}: {line}");
}
