//! Packets that leave together in one write, as a receiving device bundles them (`tcp_gro_receive`, net/ipv4/tcp_offload.c).
//!
//! The receiver's TCP sees one segment and answers it with one ACK at most. Only neighbours of one connection are bundled that
//! differ in nothing but their place in the stream.

use super::frame::{HEADER_BYTES, MOST_BYTES, TcpHeaders, VirtioHeader, seq};
use super::header::{ACK, ECE, PSH, TCP_CHECKSUM, TCP_FLAGS};
use super::pool::{Packet, Pool};
use std::io::IoSlice;

/// Most packets of a bundle: of 1448 bytes, 45 are already the 64 KiB that a device takes.
pub const MOST_PACKETS: usize = 64;
/// IPv4 and TCP with all options.
const MOST_HEADERS: usize = 60 + 60;

/// What leaves next.
#[derive(Debug, Default)]
pub struct Bundle {
    packets: Vec<Packet>,
    /// Of what may still grow.
    growing: Option<Growing>,
}

#[derive(Debug, Clone, Copy)]
struct Growing {
    headers: TcpHeaders,
    /// Of every packet but the last.
    payload_bytes: usize,
    next_seq: u32,
    /// Of the frame so far.
    bytes: usize,
}

impl Bundle {
    /// With room for all that it may get.
    #[must_use]
    pub fn new() -> Bundle {
        Bundle { packets: Vec::with_capacity(MOST_PACKETS), growing: None }
    }

    /// In their order.
    #[must_use]
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Adds a packet if it may leave with those that are there.
    pub fn add(&mut self, pool: &Pool, packet: Packet) -> bool {
        let frame = pool.frame(packet);
        let Some(&first) = self.packets.first() else {
            self.growing = Growing::new(frame);
            self.packets.push(packet);
            return true;
        };
        let Some(growing) = self.growing else { return false };
        let Some(payload_bytes) =
            growing.follows(pool.frame(first), frame).filter(|_| self.packets.len() < MOST_PACKETS)
        else {
            return false;
        };
        self.growing =
            (payload_bytes == growing.payload_bytes && !is_pushed(frame, growing.headers)).then(|| Growing {
                next_seq: growing.next_seq.wrapping_add(payload_bytes as u32),
                bytes: growing.bytes + payload_bytes,
                ..growing
            });
        self.packets.push(packet);
        true
    }

    /// Lets `write` have it as one frame in parts.
    pub fn frame<T>(&self, pool: &Pool, write: impl FnOnce(&[IoSlice<'_>]) -> T) -> T {
        let first = pool.frame(self.packets[0]);
        if self.packets.len() == 1 {
            return write(&[IoSlice::new(first)]);
        }
        let packet = &first[HEADER_BYTES..];
        let headers = TcpHeaders::of(packet).expect("only TCP is bundled");
        let payload = |packet: &Packet| &pool.frame(*packet)[HEADER_BYTES + headers.bytes..];
        let mut head = [0; HEADER_BYTES + MOST_HEADERS];
        let head = &mut head[..HEADER_BYTES + headers.bytes];
        let header = VirtioHeader::of_bundle(headers.ip_bytes, headers.bytes, payload(&self.packets[0]).len());
        head[..HEADER_BYTES].copy_from_slice(&header.bytes());
        let out = &mut head[HEADER_BYTES..];
        out.copy_from_slice(&packet[..headers.bytes]);
        headers.set_payload(out, self.packets.iter().map(|packet| payload(packet).len()).sum());
        // The last packet says whether the sender had more.
        let last = &pool.frame(self.packets[self.packets.len() - 1])[HEADER_BYTES..];
        out[headers.ip_bytes + TCP_FLAGS] = last[headers.ip_bytes + TCP_FLAGS];
        let mut parts = [IoSlice::new(&[]); MOST_PACKETS + 1];
        parts[0] = IoSlice::new(head);
        parts[1..].iter_mut().zip(&self.packets).for_each(|(part, packet)| *part = IoSlice::new(payload(packet)));
        write(&parts[..=self.packets.len()])
    }

    /// Empties it; its packets are to be released.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> {
        self.growing = None;
        self.packets.drain(..)
    }
}

impl Growing {
    /// Behind the first packet; `None` when nothing may follow it.
    fn new(frame: &[u8]) -> Option<Growing> {
        let packet = &frame[HEADER_BYTES..];
        let headers = TcpHeaders::of(packet)?;
        let payload_bytes = packet.len() - headers.bytes;
        let may_grow = VirtioHeader::read(frame)?.has_partial_checksum()
            && payload_bytes > 0
            && is_plain(packet, headers)
            && !is_pushed(frame, headers);
        may_grow.then(|| Growing {
            headers,
            payload_bytes,
            next_seq: seq(packet, headers.ip_bytes).wrapping_add(payload_bytes as u32),
            bytes: frame.len(),
        })
    }

    /// Payload of the packet if it may follow.
    fn follows(&self, first: &[u8], frame: &[u8]) -> Option<usize> {
        let Growing { headers, payload_bytes, next_seq, bytes } = *self;
        let (first, packet) = (&first[HEADER_BYTES..], &frame[HEADER_BYTES..]);
        let payload =
            packet.len().checked_sub(headers.bytes).filter(|payload| (1..=payload_bytes).contains(payload))?;
        let tcp = headers.ip_bytes;
        // Length, identification and checksum of IP may differ; sequence number, flags and checksum of TCP too.
        let is_alike = |range: std::ops::Range<usize>| first[range.clone()] == packet[range];
        let may_follow = TcpHeaders::of(packet) == Some(headers)
            && VirtioHeader::read(frame)?.has_partial_checksum()
            && is_alike(0..2)
            && is_alike(6..10)
            && is_alike(12..tcp + 4)
            && is_alike(tcp + 8..tcp + TCP_FLAGS)
            && is_alike(tcp + TCP_FLAGS + 1..tcp + TCP_CHECKSUM)
            && is_alike(tcp + TCP_CHECKSUM + 2..headers.bytes)
            && (first[tcp + TCP_FLAGS] ^ packet[tcp + TCP_FLAGS]) & !PSH == 0
            && is_plain(packet, headers)
            && seq(packet, tcp) == next_seq
            && bytes + payload < MOST_BYTES;
        may_follow.then_some(payload)
    }
}

/// Data in the middle of a connection, without anything that is to be seen at its place.
fn is_plain(packet: &[u8], headers: TcpHeaders) -> bool {
    packet[headers.ip_bytes + TCP_FLAGS] & !(PSH | ECE) == ACK
}

/// The sender had no more; what comes is another write.
fn is_pushed(frame: &[u8], headers: TcpHeaders) -> bool {
    frame[HEADER_BYTES + headers.ip_bytes + TCP_FLAGS] & PSH != 0
}
