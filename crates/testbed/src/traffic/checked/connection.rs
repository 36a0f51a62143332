//! One end of one connection.

use super::report::StreamTotals;
use super::stream::{Direction, Mismatch, Pattern, Progress, compare};
use crate::link::Nanos;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

/// The end that connects begins with the number of the connection: the seed, then the number.
pub const GREETING_BYTES: usize = 12;

/// What came of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// Data as expected, or none now.
    Fine,
    /// Data, but not as expected.
    Wrong(Mismatch),
    /// The other end has closed in order.
    End,
}

/// An open connection whose number is known.
#[derive(Debug)]
pub struct Connection {
    pub socket: TcpStream,
    pub number: u32,
    /// When data was last received.
    pub heard: Nanos,
    /// The other end has closed.
    pub ended: bool,
    outgoing: Pattern,
    incoming: Pattern,
    sent: Progress,
    received: Progress,
}

impl Connection {
    /// `outgoing` is the direction in which this end sends; the socket does not block.
    pub fn new(socket: TcpStream, number: u32, seed: u64, outgoing: Direction, now: Nanos) -> Self {
        let incoming = match outgoing {
            Direction::ToServer => Direction::ToClient,
            Direction::ToClient => Direction::ToServer,
        };
        Self {
            socket,
            number,
            heard: now,
            ended: false,
            outgoing: Pattern::new(seed, number, outgoing),
            incoming: Pattern::new(seed, number, incoming),
            sent: Progress::default(),
            received: Progress::default(),
        }
    }

    /// Reads once, as much as `buffer` holds, and compares it.
    pub fn receive(&mut self, buffer: &mut [u8], scratch: &mut [u8], now: Nanos) -> io::Result<Received> {
        let arrived = match self.socket.read(buffer) {
            Ok(0) => {
                self.ended = true;
                return Ok(Received::End);
            }
            Ok(length) => &buffer[..length],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(Received::Fine);
            }
            Err(error) => return Err(error),
        };
        self.heard = now;
        let mismatch = compare(self.incoming, self.received.bytes(), arrived, scratch);
        self.received.advance(arrived);
        Ok(mismatch.map_or(Received::Fine, Received::Wrong))
    }

    /// Offers the next `piece.len()` bytes to the kernel; says how many it took, which may be none.
    pub fn send(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        self.outgoing.fill(self.sent.bytes(), piece);
        match self.socket.write(piece) {
            Ok(taken) => {
                self.sent.advance(&piece[..taken]);
                Ok(taken)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Nothing more will be sent.
    pub fn close_sending(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }

    pub fn sent_bytes(&self) -> u64 {
        self.sent.bytes()
    }

    pub fn received_bytes(&self) -> u64 {
        self.received.bytes()
    }

    pub fn totals(&self) -> StreamTotals {
        StreamTotals {
            sent_bytes: self.sent.bytes(),
            sent_crc: self.sent.crc(),
            received_bytes: self.received.bytes(),
            received_crc: self.received.crc(),
        }
    }
}

/// What the end that connects says first.
pub fn greeting(seed: u64, number: u32) -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    greeting[..8].copy_from_slice(&seed.to_le_bytes());
    greeting[8..].copy_from_slice(&number.to_le_bytes());
    greeting
}

/// The number in a greeting of this run.
pub fn parse_greeting(seed: u64, greeting: [u8; GREETING_BYTES]) -> Option<u32> {
    let (said, number) = greeting.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*said) == seed).then(|| number.try_into().map(u32::from_le_bytes).ok()).flatten()
}
