//! What Snoop agents see of a TCP segment over IPv4, and the only thing that they change: blocks of selective acknowledgement.

use super::ecn::updated_checksum;
use super::header::{ACK, FIN, IPV4_HEADER_BYTES, RST, SYN, TCP, TCP_CHECKSUM, TCP_FLAGS, TCP_HEADER_BYTES};
use ccactl_link::network::{Tcp, Way};
use ccactl_link::snoop::{Sack, Segment};

/// Kinds of options (RFC 9293 section 3.1, RFC 2018 section 3).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;

/// Reads it; `None` for anything but a whole TCP segment over IPv4. `way` tells which port is the host's.
pub fn read(packet: &[u8], way: Way) -> Option<Tcp> {
    let (start, end) = bounds(packet)?;
    let segment = &packet[start..end];
    let header_bytes = header_bytes(segment)?;
    let word = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
    let flag = |mask: u8| segment[TCP_FLAGS] & mask != 0;
    let (host_port, server_port) = if way == Way::Up { (word(0), word(2)) } else { (word(2), word(0)) };
    let segment = Segment {
        seq: number(segment, 4),
        payload_bytes: (segment.len() - header_bytes) as u32,
        ack: flag(ACK).then(|| number(segment, 8)),
        window: word(14),
        syn: flag(SYN),
        fin: flag(FIN),
        rst: flag(RST),
        sack: sack(&segment[..header_bytes]),
    };
    Some(Tcp { host_port, server_port, segment })
}

/// Puts options without a meaning in the place of the blocks, and corrects the checksum (RFC 1624) unless it is one of the
/// pseudo-header only.
pub fn strip_sack(packet: &mut [u8], has_partial_checksum: bool) {
    let Some((start, end)) = bounds(packet) else { return };
    let segment = &mut packet[start..end];
    let Some(header_bytes) = header_bytes(segment) else { return };
    let Some((from, to)) = sack_option(&segment[..header_bytes]) else { return };
    let mut sum = u16::from_be_bytes([segment[TCP_CHECKSUM], segment[TCP_CHECKSUM + 1]]);
    for at in from..to {
        let even = at & !1;
        let word = |segment: &[u8]| u16::from_be_bytes([segment[even], segment[even + 1]]);
        let old = word(segment);
        segment[at] = NO_OPERATION;
        sum = updated_checksum(sum, old, word(segment));
    }
    if !has_partial_checksum {
        segment[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Where the TCP segment of a packet begins and ends; none for fragments and other protocols.
fn bounds(packet: &[u8]) -> Option<(usize, usize)> {
    if packet.len() < IPV4_HEADER_BYTES || packet[0] >> 4 != 4 || packet[9] != TCP {
        return None;
    }
    // More fragments, or not the first one.
    if u16::from_be_bytes([packet[6], packet[7]]) & 0x3fff != 0 {
        return None;
    }
    let start = usize::from(packet[0] & 0x0f) * 4;
    let end = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    (start >= IPV4_HEADER_BYTES && start <= end && end <= packet.len()).then_some((start, end))
}

/// With options; none when the segment is cut short.
fn header_bytes(segment: &[u8]) -> Option<usize> {
    let bytes = usize::from(segment.get(12)? >> 4) * 4;
    (TCP_HEADER_BYTES..=segment.len()).contains(&bytes).then_some(bytes)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn sack(header: &[u8]) -> Sack {
    let mut sack = Sack::default();
    if let Some((from, to)) = sack_option(header) {
        header[from + 2..to].chunks_exact(8).for_each(|block| sack.push(number(block, 0), number(block, 4)));
    }
    sack
}

/// Where the option with the blocks begins and ends.
fn sack_option(header: &[u8]) -> Option<(usize, usize)> {
    let mut at = TCP_HEADER_BYTES;
    while at < header.len() {
        match header[at] {
            END => return None,
            NO_OPERATION => at += 1,
            kind => {
                let end = at + usize::from(*header.get(at + 1)?);
                if end < at + 2 || end > header.len() {
                    return None;
                }
                if kind == SACK {
                    return Some((at, end));
                }
                at = end;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From port 4000 to port 5201 with these options, and a correct checksum.
    fn packet(options: &[u8], payload: &[u8]) -> Vec<u8> {
        let bytes = IPV4_HEADER_BYTES + TCP_HEADER_BYTES + options.len() + payload.len();
        let mut packet = vec![0; IPV4_HEADER_BYTES + TCP_HEADER_BYTES];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        packet[6] = 0x40;
        packet[9] = TCP;
        packet[12..20].copy_from_slice(&[10, 200, 1, 1, 10, 200, 0, 1]);
        packet[20..24].copy_from_slice(&[0x0f, 0xa0, 0x14, 0x51]);
        packet[24..28].copy_from_slice(&0xffff_fff0_u32.to_be_bytes());
        packet[28..32].copy_from_slice(&77_u32.to_be_bytes());
        packet[32] = (((TCP_HEADER_BYTES + options.len()) / 4) as u8) << 4;
        packet[33] = ACK;
        packet[34..36].copy_from_slice(&500_u16.to_be_bytes());
        packet.extend_from_slice(options);
        packet.extend_from_slice(payload);
        let sum = !sum(&packet);
        packet[36..38].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    /// Of the pseudo-header and the segment; all ones when the checksum is right.
    fn sum(packet: &[u8]) -> u16 {
        let segment = &packet[IPV4_HEADER_BYTES..];
        let bytes = packet[12..20].iter().chain(&[0, TCP]).copied().chain((segment.len() as u16).to_be_bytes());
        let all: Vec<u8> = bytes.chain(segment.iter().copied()).chain([0]).collect();
        let mut sum: u32 = all.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    /// Two blocks between two options without a meaning and a time stamp.
    fn options() -> Vec<u8> {
        let mut options = vec![NO_OPERATION, NO_OPERATION, SACK, 18];
        [100_u32, 200, 0xffff_ff00, 4].iter().for_each(|edge| options.extend(edge.to_be_bytes()));
        options.extend([NO_OPERATION, NO_OPERATION, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
        options
    }

    #[test]
    fn a_segment_is_read_with_its_blocks() {
        let tcp = read(&packet(&options(), b"abc"), Way::Up).unwrap();
        assert_eq!((tcp.host_port, tcp.server_port), (4000, 5201));
        let Segment { seq, payload_bytes, ack, window, syn, fin, rst, sack } = tcp.segment;
        assert_eq!((seq, payload_bytes, ack, window), (0xffff_fff0, 3, Some(77), 500));
        assert!(!syn && !fin && !rst);
        assert_eq!(sack.blocks(), [(100, 200), (0xffff_ff00, 4)]);
        let back = read(&packet(&[], b""), Way::Down).unwrap();
        assert_eq!((back.host_port, back.server_port, back.segment.sack.is_empty()), (5201, 4000, true));
        let mut reset = packet(&[], b"");
        reset[33] = RST | SYN | FIN;
        let Segment { ack, syn, fin, rst, .. } = read(&reset, Way::Up).unwrap().segment;
        assert_eq!((ack, syn, fin, rst), (None, true, true, true));
    }

    #[test]
    fn blocks_are_taken_out_and_nothing_else_is_changed() {
        let before = packet(&options(), b"abc");
        let mut after = before.clone();
        strip_sack(&mut after, false);
        assert_eq!((sum(&before), sum(&after)), (0xffff, 0xffff));
        assert!(read(&after, Way::Up).unwrap().segment.sack.is_empty());
        assert_eq!(after[42..60], [NO_OPERATION; 18]);
        let mut partial = before.clone();
        strip_sack(&mut partial, true);
        assert_eq!((&partial[..36], &partial[36..38], &partial[38..]), (&after[..36], &before[36..38], &after[38..]));
        assert_eq!((&after[..36], &after[38..42], &after[60..]), (&before[..36], &before[38..42], &before[60..]));
        // At an odd place too.
        let mut odd = vec![NO_OPERATION, SACK, 10, 1, 2, 3, 4, 5, 6, 7, 8, NO_OPERATION];
        let mut packet = packet(&odd, b"a");
        strip_sack(&mut packet, false);
        odd[1..11].fill(NO_OPERATION);
        assert_eq!((sum(&packet), &packet[40..52]), (0xffff, &odd[..]));
    }

    #[test]
    fn what_is_cut_short_or_is_no_segment_is_left_alone() {
        let whole = packet(&options(), b"");
        for length in 0..whole.len() {
            let mut short = whole[..length].to_vec();
            assert_eq!(read(&short, Way::Up), None, "{length} bytes");
            strip_sack(&mut short, false);
            assert_eq!(short, whole[..length]);
        }
        for (at, byte) in [(0, 0x65), (0, 0x44), (9, 17), (6, 0x20), (7, 1), (32, 0x40), (32, 0xf0)] {
            let mut other = whole.clone();
            other[at] = byte;
            assert_eq!(read(&other, Way::Up), None, "byte {at}");
        }
        // An option that says to be longer than the header, and one without a length.
        for option in [[SACK, 40, 0, 0], [SACK, 1, 0, 0], [NO_OPERATION, NO_OPERATION, NO_OPERATION, SACK]] {
            assert!(read(&packet(&option, b""), Way::Up).unwrap().segment.sack.is_empty());
        }
    }
}
