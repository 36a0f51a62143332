//! A packet as a device hands it over and takes it: `struct virtio_net_hdr` (`linux/virtio_net.h`), then the IPv4 packet.
//!
//! The header says what the kernel has left to the device: the checksum, and to cut a TCP segment of up to 64 KiB into packets.

use super::ecn::updated_checksum;
use super::header::{IPV4_HEADER_BYTES, TCP, TCP_CHECKSUM, TCP_HEADER_BYTES};

/// Of the header, in the byte order of the host.
pub const HEADER_BYTES: usize = 10;
/// The longest that a device gives or takes, with its header: `GSO_LEGACY_MAX_SIZE`, which bounds IPv4 too.
pub const MOST_BYTES: usize = HEADER_BYTES + 65_536;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
/// The CWR flag is that of the first packet only.
const GSO_ECN: u8 = 0x80;

/// What the kernel has left to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VirtioHeader {
    flags: u8,
    gso_type: u8,
    /// Of all headers, which lie together in memory.
    headers_bytes: u16,
    /// Payload of a packet when it is to be cut.
    gso_bytes: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl VirtioHeader {
    /// Of a frame; `None` when it is cut short.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<VirtioHeader> {
        let header = frame.first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Some(VirtioHeader {
            flags: header[0],
            gso_type: header[1],
            headers_bytes: word(2),
            gso_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    /// Of one TCP packet whose checksum is left to the other end.
    #[must_use]
    pub fn of_tcp(ip_header_bytes: usize) -> VirtioHeader {
        VirtioHeader {
            flags: NEEDS_CHECKSUM,
            checksum_start: ip_header_bytes as u16,
            checksum_offset: TCP_CHECKSUM as u16,
            ..VirtioHeader::default()
        }
    }

    /// The same of several in one, with that much payload each.
    #[must_use]
    pub fn of_bundle(ip_header_bytes: usize, headers_bytes: usize, payload_bytes: usize) -> VirtioHeader {
        VirtioHeader {
            gso_type: GSO_TCP4,
            headers_bytes: headers_bytes as u16,
            gso_bytes: payload_bytes as u16,
            ..VirtioHeader::of_tcp(ip_header_bytes)
        }
    }

    /// As the device takes it.
    #[must_use]
    pub fn bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [self.flags, self.gso_type, 0, 0, 0, 0, 0, 0, 0, 0];
        let words = [self.headers_bytes, self.gso_bytes, self.checksum_start, self.checksum_offset];
        bytes[2..].chunks_exact_mut(2).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
        bytes
    }

    /// Whether the checksum in the packet covers the pseudo-header only.
    #[must_use]
    pub fn has_partial_checksum(self) -> bool {
        self.flags & NEEDS_CHECKSUM != 0
    }

    /// Payload of each packet of a TCP segment that is to be cut; `None` for a single packet.
    ///
    /// # Errors
    /// When it is to be cut in a way that no device of this program has offered.
    pub fn cut(self) -> Result<Option<usize>, ()> {
        match self.gso_type & !GSO_ECN {
            GSO_NONE => Ok(None),
            GSO_TCP4 if self.gso_bytes > 0 => Ok(Some(usize::from(self.gso_bytes))),
            _ => Err(()),
        }
    }
}

/// Lengths of the headers of an IPv4 packet that carries TCP; `None` for anything else and for what is cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeaders {
    /// Where the TCP header begins.
    pub ip_bytes: usize,
    /// Where the payload begins.
    pub bytes: usize,
}

impl TcpHeaders {
    /// Of a packet without its virtio header.
    #[must_use]
    pub fn of(packet: &[u8]) -> Option<TcpHeaders> {
        let ip_bytes = usize::from(packet.first()? & 0x0f) * 4;
        if packet[0] >> 4 != 4
            || ip_bytes < IPV4_HEADER_BYTES
            || packet.len() < ip_bytes + TCP_HEADER_BYTES
            || packet[9] != TCP
        {
            return None;
        }
        let tcp_bytes = usize::from(packet[ip_bytes + 12] >> 4) * 4;
        let bytes = ip_bytes + tcp_bytes;
        (tcp_bytes >= TCP_HEADER_BYTES && bytes <= packet.len()).then_some(TcpHeaders { ip_bytes, bytes })
    }

    /// Gives a packet that begins with these headers another payload: its length, and a checksum that covers the pseudo-header.
    pub fn set_payload(self, headers: &mut [u8], payload_bytes: usize) {
        set_ip_word(headers, 2, (self.bytes + payload_bytes) as u16);
        let tcp_bytes = (self.bytes - self.ip_bytes + payload_bytes) as u32;
        let addresses = headers[12..20].chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
        let mut sum = addresses.sum::<u32>() + u32::from(TCP) + tcp_bytes;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        let at = self.ip_bytes + TCP_CHECKSUM;
        headers[at..at + 2].copy_from_slice(&(sum as u16).to_be_bytes());
    }
}

/// Changes a 16-bit word of the IPv4 header and corrects its checksum.
pub fn set_ip_word(packet: &mut [u8], at: usize, value: u16) {
    let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let sum = updated_checksum(word(packet, 10), word(packet, at), value);
    packet[at..at + 2].copy_from_slice(&value.to_be_bytes());
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// Of a packet whose TCP header begins at `at`.
#[must_use]
pub fn seq(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([packet[at + 4], packet[at + 5], packet[at + 6], packet[at + 7]])
}
