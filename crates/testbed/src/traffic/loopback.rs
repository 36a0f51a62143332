//! One connection of this process to itself, to see an algorithm carry data.

use ccactl_abi::layout::name_str;
use nix::sys::socket::{getsockopt, sockopt::TcpCongestion};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looped {
    /// Kernel name of the sender's algorithm.
    pub algorithm: String,
    /// Received, each with its right value.
    pub bytes: u64,
}

/// Bytes that are handed to the kernel at once; a prime, so that no power of two hides a byte in the wrong place.
const PIECE_BYTES: usize = 65_521;

/// Moves so many bytes over IPv4's loopback, with the algorithm that this process's cgroup gives, for as long as `limit`.
///
/// # Errors
/// When a socket fails, or a byte arrives that was not sent there.
pub fn over_loopback(bytes: u64, limit: Duration) -> io::Result<Looped> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    let deadline = Instant::now() + limit;
    let algorithm = getsockopt(&sender, TcpCongestion)?;
    let algorithm = name_str(algorithm.as_encoded_bytes()).to_owned();
    let piece: Vec<u8> = (0..PIECE_BYTES).map(|i| (i % 251) as u8).collect();
    let sent = piece.clone();
    let waker = sender.try_clone()?;
    let writer = thread::spawn(move || {
        let mut sender = sender;
        let mut left = bytes;
        while left > 0 && Instant::now() < deadline {
            let size = left.min(PIECE_BYTES as u64) as usize;
            if sender.write_all(&sent[..size]).is_err() {
                break;
            }
            left -= size as u64;
        }
        let _ = sender.shutdown(Shutdown::Write);
    });
    receiver.set_read_timeout(Some(Duration::from_millis(200)))?;
    let (mut arrived, mut buffer) = (0_u64, vec![0; PIECE_BYTES]);
    while arrived < bytes && Instant::now() < deadline {
        // Up to the end of a piece, which all begin alike.
        let at = (arrived % PIECE_BYTES as u64) as usize;
        match receiver.read(&mut buffer[at..]) {
            Ok(0) => break,
            Ok(size) if buffer[at..at + size] == piece[at..at + size] => arrived += size as u64,
            Ok(_) => {
                let message = format!("expected what was sent from byte {arrived} on, found something else");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error),
        }
    }
    // A writer that is still waiting gets an error.
    let _ = waker.shutdown(Shutdown::Both);
    let _ = writer.join();
    Ok(Looped { algorithm, bytes: arrived })
}

/// Time is up for one look, or a signal came.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_arrives_within_the_limit() {
        let looped = over_loopback(1_000_000, Duration::from_secs(20)).unwrap();
        assert!(looped.bytes == 1_000_000 && !looped.algorithm.is_empty(), "{looped:?}");
        assert_eq!(over_loopback(1_000_000, Duration::ZERO).unwrap().bytes, 0);
    }
}
