//! The mark "congestion experienced" (RFC 3168 section 5) on a packet that is already in memory.

/// The two lowest bits of IPv4's type of service and of IPv6's traffic class.
const FIELD: u8 = 0b11;
const NOT_CAPABLE: u8 = 0b00;
const MARK: u8 = 0b11;

/// Sets the mark if the packet's sender allows it; true when the packet was changed. What is marked already stays, and a
/// packet that is not ECN-capable is left alone: the queue drops it only when it is full, as RFC 8257's switch does.
pub fn mark(packet: &mut [u8]) -> bool {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) if packet.len() >= 20 => mark_v4(packet),
        Some(6) if packet.len() >= 40 => mark_v6(packet),
        _ => false,
    }
}

fn to_be_marked(field: u8) -> bool {
    field != NOT_CAPABLE && field != MARK
}

fn mark_v4(packet: &mut [u8]) -> bool {
    let old = packet[1];
    if !to_be_marked(old & FIELD) {
        return false;
    }
    packet[1] = old | MARK;
    let word = |byte: u8| u16::from_be_bytes([packet[0], byte]);
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    let sum = updated_checksum(sum, word(old), word(packet[1]));
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    true
}

/// IPv6 has no checksum; the traffic class lies across the first two bytes.
fn mark_v6(packet: &mut [u8]) -> bool {
    if !to_be_marked(packet[1] >> 4 & FIELD) {
        return false;
    }
    packet[1] |= MARK << 4;
    true
}

/// RFC 1624 equation 3: HC' = ~(~HC + ~m + m').
pub(super) fn updated_checksum(sum: u16, old: u16, new: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    total = (total & 0xffff) + (total >> 16);
    total = (total & 0xffff) + (total >> 16);
    !(total as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071, over the whole header; 0 when the checksum in it is right.
    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    fn v4(tos: u8, id: u16) -> Vec<u8> {
        let mut packet = vec![0x45, tos, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 200, 1, 1, 10, 200, 0, 1, 0xaa];
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    #[test]
    fn an_ipv4_packet_is_marked_and_its_checksum_stays_right() {
        // All identifications, so that the sum takes every value, the two forms of zero included.
        for id in 0..=u16::MAX {
            for capable in [0b01, 0b10] {
                let mut packet = v4(0xb8 | capable, id);
                let before = packet.clone();
                assert!(mark(&mut packet));
                assert_eq!(packet[1], 0xbb);
                assert_eq!(checksum(&packet[..20]), 0, "id {id}");
                assert_eq!((&packet[2..10], &packet[12..]), (&before[2..10], &before[12..]));
            }
        }
    }

    #[test]
    fn an_ipv6_packet_is_marked_within_its_traffic_class() {
        for capable in [0b01, 0b10] {
            let mut packet = vec![0_u8; 40];
            // Traffic class 0x2c | capable, flow label 0x54321.
            packet[..4].copy_from_slice(&[0x62, 0xc5 | capable << 4, 0x43, 0x21]);
            assert!(mark(&mut packet));
            assert_eq!(packet[..4], [0x62, 0xf5, 0x43, 0x21]);
        }
    }

    #[test]
    fn what_is_not_capable_is_marked_already_or_is_no_ip_stays_as_it_is() {
        for tos in [0b00, 0b11] {
            let mut packet = v4(tos, 7);
            let before = packet.clone();
            assert!(!mark(&mut packet));
            assert_eq!(packet, before);
        }
        for mut packet in [vec![], vec![0x45, 2], vec![0x60; 39], vec![0x22; 60]] {
            let before = packet.clone();
            assert!(!mark(&mut packet));
            assert_eq!(packet, before);
        }
    }
}
