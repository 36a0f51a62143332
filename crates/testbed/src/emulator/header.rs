//! What queue disciplines want to know of an IPv4 packet, and the hosts that it names.

use ccactl_link::Ecn;
use std::net::Ipv4Addr;

/// Without options (RFC 791, RFC 9293).
pub(super) const IPV4_HEADER_BYTES: usize = 20;
pub(super) const TCP_HEADER_BYTES: usize = 20;
/// Protocols of IP.
pub(super) const TCP: u8 = 6;
const UDP: u8 = 17;
/// Places within a TCP header.
pub(super) const TCP_FLAGS: usize = 13;
pub(super) const TCP_CHECKSUM: usize = 16;
/// Flags of TCP (RFC 9293 section 3.1).
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;
pub(super) const ECE: u8 = 0x40;
pub(super) const CWR: u8 = 0x80;

/// Fields of a packet's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Sending host.
    pub source: Ipv4Addr,
    /// Receiving host.
    pub destination: Ipv4Addr,
    /// The same for all packets of a connection in one direction: a hash of addresses, ports and protocol.
    pub flow: u32,
    /// A TCP segment that acknowledges and carries nothing: no data, no beginning and no end of a connection.
    pub is_pure_ack: bool,
    /// What its sender makes of marks.
    pub ecn: Ecn,
}

impl Header {
    /// Reads it; `None` for anything but IPv4.
    #[must_use]
    pub fn read(packet: &[u8]) -> Option<Header> {
        if packet.len() < IPV4_HEADER_BYTES || packet[0] >> 4 != 4 {
            return None;
        }
        let address = |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
        let transport = packet.get(usize::from(packet[0] & 0x0f) * 4..).unwrap_or_default();
        let protocol = packet[9];
        Some(Header {
            source: address(12),
            destination: address(16),
            flow: flow(&packet[12..IPV4_HEADER_BYTES], protocol, transport),
            is_pure_ack: protocol == TCP && is_pure_ack(transport),
            ecn: Ecn::of_bits(packet[1]),
        })
    }
}

/// FNV-1a, with a last mix that lets every bit of the input reach the low bits, by which buckets are chosen.
fn flow(addresses: &[u8], protocol: u8, transport: &[u8]) -> u32 {
    let ports = if matches!(protocol, TCP | UDP) { transport.get(..4).unwrap_or_default() } else { &[] };
    let mut hash: u32 = 0x811c_9dc5;
    for byte in addresses.iter().chain(ports).chain([&protocol]) {
        hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    }
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x2c1b_3c6d);
    hash ^ hash >> 13
}

/// `segment` is the TCP header with what follows it.
fn is_pure_ack(segment: &[u8]) -> bool {
    let Some(header) = segment.get(..TCP_HEADER_BYTES) else { return false };
    let header_bytes = usize::from(header[12] >> 4) * 4;
    header[TCP_FLAGS] & (FIN | SYN | RST | ACK) == ACK && segment.len() == header_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A TCP segment with timestamps from 10.200.1.1:`port` to 10.200.0.1:5201.
    fn segment(port: u16, flags: u8, payload_bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; IPV4_HEADER_BYTES + TCP_HEADER_BYTES + 12 + payload_bytes];
        packet[0] = 0x45;
        packet[9] = TCP;
        packet[12..20].copy_from_slice(&[10, 200, 1, 1, 10, 200, 0, 1]);
        packet[20..22].copy_from_slice(&port.to_be_bytes());
        packet[22..24].copy_from_slice(&5201u16.to_be_bytes());
        packet[32] = 8 << 4;
        packet[33] = flags;
        packet
    }

    #[test]
    fn only_an_acknowledgement_without_anything_else_is_a_pure_ack() {
        let pure = |flags, payload_bytes| Header::read(&segment(4000, flags, payload_bytes)).unwrap().is_pure_ack;
        assert!(pure(ACK, 0));
        // ECE and CWR are the ECN of acknowledgements.
        assert!(pure(ACK | 0x40, 0) && pure(ACK | 0x80, 0));
        assert!(!pure(ACK, 1));
        for flag in [SYN, FIN, RST] {
            assert!(!pure(ACK | flag, 0), "{flag:#x}");
        }
        assert!(!pure(SYN, 0));
        let mut udp = segment(4000, ACK, 0);
        udp[9] = UDP;
        assert!(!Header::read(&udp).unwrap().is_pure_ack);
    }

    #[test]
    fn options_of_ip_are_skipped() {
        let mut packet = segment(4000, ACK, 0);
        packet[0] = 0x46;
        packet.splice(20..20, [1, 1, 1, 1]);
        let header = Header::read(&packet).unwrap();
        assert!(header.is_pure_ack);
        assert_eq!(header.flow, Header::read(&segment(4000, ACK, 0)).unwrap().flow);
    }

    #[test]
    fn a_flow_is_a_connection_in_one_direction() {
        let key = |packet: &[u8]| Header::read(packet).unwrap().flow;
        assert_eq!(key(&segment(4000, ACK, 0)), key(&segment(4000, ACK | FIN, 900)));
        assert_ne!(key(&segment(4000, ACK, 0)), key(&segment(4001, ACK, 0)));
        let mut back = segment(4000, ACK, 0);
        back[12..20].copy_from_slice(&[10, 200, 0, 1, 10, 200, 1, 1]);
        assert_ne!(key(&segment(4000, ACK, 0)), key(&back));
    }

    #[test]
    fn neighbouring_ports_spread_over_buckets() {
        let mut counts = [0; 16];
        (0..1600).for_each(|i| counts[Header::read(&segment(30_000 + i, ACK, 0)).unwrap().flow as usize % 16] += 1);
        assert!(counts.iter().all(|count| (50..150).contains(count)), "{counts:?}");
    }

    #[test]
    fn the_ecn_field_is_that_of_rfc_3168() {
        for (tos, ecn) in [
            (0b00, Ecn::NotCapable),
            (0b01, Ecn::Ect1),
            (0b10, Ecn::Ect0),
            (0b11, Ecn::Ce),
            (0xb8, Ecn::NotCapable),
            (0xba, Ecn::Ect0),
        ] {
            let mut packet = segment(4000, ACK, 0);
            packet[1] = tos;
            assert_eq!(Header::read(&packet).unwrap().ecn, ecn, "{tos:#b}");
        }
    }

    #[test]
    fn what_is_cut_short_or_not_ipv4_is_read_without_reading_beyond_it() {
        let packet = segment(4000, ACK, 0);
        assert_eq!(Header::read(&packet[..19]), None);
        for length in 20..packet.len() {
            assert!(!Header::read(&packet[..length]).unwrap().is_pure_ack, "{length} bytes");
        }
        assert_eq!(Header::read(&[0x60; 40]), None);
        assert_eq!(Header::read(&[]), None);
    }
}
