//! One end of one connection.

use super::report::StreamTotals;
use super::stream::{Direction, Mismatch, Pattern, Progress, compare};
use ccactl_link::Nanos;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const SEED: u64 = 77;

    /// Both ends of connection 3; neither blocks.
    fn ends() -> [Connection; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        [(client, Direction::ToServer), (server, Direction::ToClient)].map(|(socket, outgoing)| {
            socket.set_nonblocking(true).unwrap();
            Connection::new(socket, 3, SEED, outgoing, 0)
        })
    }

    /// Reads until something other than plain data comes, or `bytes` have.
    fn read(connection: &mut Connection, bytes: u64) -> io::Result<Received> {
        let (mut buffer, mut scratch) = ([0; 1000], [0; 1000]);
        loop {
            let received = connection.receive(&mut buffer, &mut scratch, 1)?;
            if received != Received::Fine || connection.received_bytes() >= bytes {
                return Ok(received);
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_one_end_sends_in_pieces_is_what_the_other_expects_and_the_totals_agree() {
        let [mut client, mut server] = ends();
        for length in [1, 7, 8, 500, 3] {
            assert_eq!(client.send(&mut vec![0; length]).unwrap(), length);
        }
        assert_eq!(read(&mut server, 519).unwrap(), Received::Fine);
        assert_eq!(server.send(&mut [0; 20]).unwrap(), 20);
        assert_eq!(read(&mut client, 20).unwrap(), Received::Fine);
        let (client, server) = (client.totals(), server.totals());
        assert_eq!((client.sent_bytes, client.sent_crc), (server.received_bytes, server.received_crc));
        assert_eq!((server.sent_bytes, server.sent_crc), (client.received_bytes, client.received_crc));
    }

    #[test]
    fn a_byte_that_somebody_else_slips_in_is_noticed() {
        let [mut client, mut server] = ends();
        client.send(&mut [0; 10]).unwrap();
        (&client.socket).write_all(&[0x55]).unwrap();
        client.send(&mut [0; 10]).unwrap();
        let Received::Wrong(mismatch) = read(&mut server, 21).unwrap() else { panic!("nothing noticed") };
        assert!(mismatch.position >= 10, "{mismatch:?}");
    }

    #[test]
    fn an_orderly_end_and_a_reset_are_told_apart() {
        let [client, mut server] = ends();
        client.close_sending().unwrap();
        assert_eq!(read(&mut server, 1).unwrap(), Received::End);
        assert!(server.ended);

        let [client, mut server] = ends();
        // Unread data at the close makes the kernel reset the connection.
        server.send(&mut [0; 10]).unwrap();
        while client.socket.peek(&mut [0]).is_err() {}
        drop(client);
        assert_eq!(read(&mut server, 1).unwrap_err().raw_os_error(), Some(libc::ECONNRESET));
    }

    #[test]
    fn a_greeting_of_another_run_is_none() {
        assert_eq!(parse_greeting(SEED, greeting(SEED, 4711)), Some(4711));
        assert_eq!(parse_greeting(SEED + 1, greeting(SEED, 4711)), None);
    }
}
