//! What is cut, and what is bundled: by rule, and beside the kernel's own segmentation.

use super::bundle::Bundle;
use super::frame::{HEADER_BYTES, TcpHeaders, VirtioHeader, seq};
use super::header::{ACK, CWR, ECE, FIN, Header, PSH, TCP_FLAGS};
use super::pool::{Packet, Pool};
use super::split::Packets;
use crate::host::netns::Netns;
use crate::host::offload;
use crate::host::run_id::RunId;
use crate::host::tun::Tun;
use ccactl_link::network::{Event, Network, Path, Transit, Transmitter, Way};
use ccactl_link::{Capacity, LinkConfig, Loss, Nanos, WireConfig};
use proptest::prelude::*;
use std::fs::File;
use std::io::{IoSlice, Read};
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 0, 1, 2, 3, 4, 5, 6, 7];

/// One's complement sum of 16-bit words (RFC 1071).
fn sum(bytes: impl IntoIterator<Item = u8>) -> u16 {
    let bytes: Vec<u8> = bytes.into_iter().collect();
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Of TCP's pseudo-header.
fn pseudo_header(packet: &[u8], ip_bytes: usize) -> Vec<u8> {
    let tcp_bytes = (packet.len() - ip_bytes) as u16;
    packet[12..20].iter().copied().chain([0, 6]).chain(tcp_bytes.to_be_bytes()).collect()
}

/// A frame as the kernel hands it over: from 10.77.1.2:4000 to 10.77.2.2:5201, timestamps, a checksum of the pseudo-header.
fn frame(payload: &[u8], first: u32, flags: u8, cut: Option<u16>) -> Vec<u8> {
    let mut packet = vec![0; 20];
    packet[0] = 0x45;
    packet[1] = 2;
    packet[2..4].copy_from_slice(&((52 + payload.len()) as u16).to_be_bytes());
    packet[4..6].copy_from_slice(&0xfffe_u16.to_be_bytes());
    packet[6] = 0x40;
    packet[8..10].copy_from_slice(&[64, 6]);
    packet[12..20].copy_from_slice(&[10, 77, 1, 2, 10, 77, 2, 2]);
    let checksum = !sum(packet.clone());
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend([0x0f, 0xa0, 0x14, 0x51]);
    packet.extend(first.to_be_bytes());
    packet.extend([0, 0, 0, 77, 8 << 4, flags, 1, 2, 0, 0, 0, 0]);
    packet.extend(TIMESTAMPS);
    packet.extend(payload);
    let partial = sum(pseudo_header(&packet, 20));
    packet[36..38].copy_from_slice(&partial.to_be_bytes());
    let mut header = VirtioHeader::of_tcp(20).bytes();
    if let Some(payload_bytes) = cut {
        header = VirtioHeader::of_bundle(20, 52, usize::from(payload_bytes)).bytes();
    }
    header.into_iter().chain(packet).collect()
}

fn payload(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i % 251) as u8).collect()
}

fn split(pool: &mut Pool, frame: &[u8]) -> Vec<Packet> {
    let packets = Packets::of(frame).unwrap();
    (0..packets.count()).map(|index| pool.take(|slot| packets.write(index, slot)).unwrap()).collect()
}

fn bundled(pool: &Pool, packets: &[Packet]) -> Vec<Vec<u8>> {
    let mut bundle = Bundle::new();
    let mut frames = Vec::new();
    let write = |bundle: &mut Bundle, frames: &mut Vec<Vec<u8>>| {
        frames.push(bundle.frame(pool, |parts| parts.iter().flat_map(|part| part.to_vec()).collect()));
        bundle.drain().for_each(drop);
    };
    for packet in packets {
        if !bundle.add(pool, *packet) {
            write(&mut bundle, &mut frames);
            assert!(bundle.add(pool, *packet));
        }
    }
    write(&mut bundle, &mut frames);
    frames
}

/// Sequence number and fate of each packet of frames that come at these times, in the order of their fates: when it arrives and
/// whether it is marked, or none.
fn fates(frames: &[(Nanos, Vec<u8>)]) -> Vec<(u32, Option<(Nanos, bool)>)> {
    let wire = WireConfig { loss: Loss::Bernoulli(0.05), ..WireConfig::default() };
    let link = LinkConfig {
        wire,
        mark_above: Some(Capacity::Packets(5)),
        ..LinkConfig::drop_tail(20_000_000, Capacity::Packets(15))
    };
    let mut network = Network::new(vec![Transmitter::bottleneck(link)], vec![Path::through(0, 0)], 400, 1_000_000_000);
    let mut pool = Pool::new(400, 1500);
    let mut fates = Vec::new();
    let mut drain = |network: &mut Network<Packet>, pool: &mut Pool, until| {
        while let Some(event) = network.step(until) {
            let (packet, fate) = match event {
                Event::Arrived { transit, due, marked, .. } => (transit.packet, Some((due, marked))),
                Event::Gone(packet) => (packet, None),
                Event::Kept(_) | Event::Stripped(_) => unreachable!("there is no agent"),
            };
            fates.push((seq(pool.bytes(packet), 20), fate));
            pool.release(packet);
        }
    };
    for (now, frame) in frames {
        drain(&mut network, &mut pool, *now);
        for packet in split(&mut pool, frame) {
            let Header { flow, ecn, is_pure_ack: is_ack, .. } = Header::read(pool.bytes(packet)).unwrap();
            let (path, way, bytes) = (0, Way::Up, packet.bytes);
            network.inject(*now, Transit { packet, path, way, bytes, flow, is_ack, ecn, tcp: None });
        }
    }
    drain(&mut network, &mut pool, Nanos::MAX);
    fates
}

proptest! {
    /// Segments of a sender that come whole, and the same as a device without offloads hands them over.
    #[test]
    fn packets_of_whole_segments_have_the_fate_of_those_that_come_alone(
        segments in proptest::collection::vec((0_u64..3_000_000, 1_usize..20_000), 1..20),
    ) {
        let (mut now, mut first, mut whole, mut alone) = (0, 0_u32, Vec::new(), Vec::new());
        for (gap, bytes) in segments {
            now += gap;
            whole.push((now, frame(&payload(bytes), first, ACK, (bytes > 1448).then_some(1448))));
            for chunk in payload(bytes).chunks(1448) {
                alone.push((now, frame(chunk, first, ACK, None)));
                first += chunk.len() as u32;
            }
        }
        let fates = fates(&whole);
        prop_assert_eq!(fates.len(), alone.len());
        prop_assert_eq!(fates, self::fates(&alone));
    }

    #[test]
    fn packets_carry_every_byte_once_and_their_headers_are_right(
        bytes in 1_usize..65_000,
        payload_bytes in 500_u16..=8948,
        first in any::<u32>(),
        flags in proptest::sample::select(vec![ACK, ACK | PSH, ACK | FIN | PSH, ACK | CWR | PSH, ACK | ECE]),
    ) {
        let mut pool = Pool::new(200, 9000);
        let content = payload(bytes);
        let packets = split(&mut pool, &frame(&content, first, flags, Some(payload_bytes)));
        let mut joined = Vec::new();
        for (i, packet) in packets.iter().enumerate() {
            let is_last = i + 1 == packets.len();
            let packet = pool.bytes(*packet);
            let headers = TcpHeaders::of(packet).unwrap();
            prop_assert_eq!(seq(packet, headers.ip_bytes), first.wrapping_add(joined.len() as u32));
            prop_assert!(is_last || packet.len() - headers.bytes == usize::from(payload_bytes));
            prop_assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
            prop_assert_eq!(u16::from_be_bytes([packet[4], packet[5]]), 0xfffe_u16.wrapping_add(i as u16));
            prop_assert_eq!(sum(packet[..20].to_vec()), 0xffff, "checksum of IP");
            prop_assert_eq!(u16::from_be_bytes([packet[36], packet[37]]), sum(pseudo_header(packet, 20)));
            let kept = flags & !if is_last { 0 } else { FIN | PSH } & !if i > 0 { CWR } else { 0 };
            prop_assert_eq!(packet[20 + TCP_FLAGS], kept);
            prop_assert_eq!(&packet[40..52], &TIMESTAMPS);
            joined.extend_from_slice(&packet[headers.bytes..]);
        }
        prop_assert_eq!(joined, content);
    }

    #[test]
    fn what_was_cut_and_leaves_together_is_what_it_was(
        bytes in 1_usize..65_000,
        payload_bytes in 1100_u16..=8948,
        first in any::<u32>(),
        flags in proptest::sample::select(vec![ACK, ACK | PSH, ACK | ECE]),
    ) {
        let mut pool = Pool::new(200, 9000);
        let cut = (bytes > usize::from(payload_bytes)).then_some(payload_bytes);
        let whole = frame(&payload(bytes), first, flags, cut);
        let packets = split(&mut pool, &whole);
        prop_assert_eq!(bundled(&pool, &packets), [whole]);
    }
}

#[test]
fn only_neighbours_that_differ_in_nothing_else_leave_together() {
    let base = || frame(&payload(1000), 1000, ACK, None);
    let follow = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut next = frame(&payload(1000), 2000, ACK, None);
        change(&mut next);
        let mut pool = Pool::new(2, 1500);
        let packets: Vec<Packet> = [base(), next].iter().flat_map(|frame| split(&mut pool, frame)).collect();
        bundled(&pool, &packets).len()
    };
    assert_eq!(follow(&|_| {}), 1);
    // ECN field, destination, port, sequence number, acknowledgement, window, time stamp, a complete checksum.
    for (at, byte) in [(1, 3), (19, 9), (23, 0x52), (27, 0), (31, 78), (35, 3), (51, 8)] {
        assert_eq!(follow(&|next| next[HEADER_BYTES + at] = byte), 2, "byte {at}");
    }
    assert_eq!(follow(&|next| next[0] = 0), 2, "a complete checksum");
    for flags in [ACK | FIN, ACK | CWR, ACK | ECE, ACK | 0x20, ACK | 0x02, ACK | 0x04] {
        assert_eq!(follow(&|next| next[HEADER_BYTES + 20 + TCP_FLAGS] = flags), 2, "flags {flags:#x}");
    }
    // A shorter one or a push is the last of a bundle, a longer one begins another, and an ACK without data stays alone.
    let lengths = |lengths: &[(usize, u8)]| {
        let mut pool = Pool::new(9, 1500);
        let mut next = 0;
        let frame = |(bytes, flags): &(usize, u8)| {
            next += bytes;
            frame(&payload(*bytes), (next - bytes) as u32, *flags, None)
        };
        let packets: Vec<Packet> =
            lengths.iter().map(frame).collect::<Vec<_>>().iter().flat_map(|frame| split(&mut pool, frame)).collect();
        bundled(&pool, &packets).len()
    };
    assert_eq!(lengths(&[(1000, ACK), (1000, ACK), (400, ACK), (1000, ACK), (1000, ACK)]), 2);
    assert_eq!(lengths(&[(1000, ACK), (1000, ACK | PSH), (1000, ACK)]), 2);
    assert_eq!(lengths(&[(1000, ACK), (1001, ACK)]), 2);
    assert_eq!(lengths(&[(0, ACK), (0, ACK), (1000, ACK)]), 3);
}

#[test]
fn what_is_cut_short_or_cut_otherwise_is_refused() {
    let whole = frame(&payload(3000), 0, ACK, Some(1000));
    for length in 0..HEADER_BYTES + 40 {
        assert!(Packets::of(&whole[..length]).is_none(), "{length} bytes");
    }
    for kind in [2, 3, 4, 5] {
        let mut other = whole.clone();
        other[1] = kind;
        assert!(Packets::of(&other).is_none(), "kind {kind}");
    }
    let mut pool = Pool::new(1, 1000);
    let packets = Packets::of(&whole).unwrap();
    assert!(pool.take(|slot| packets.write(0, slot)).is_none(), "1052 bytes do not fit");
}

/// The kernel forwards a bundle to a device that cannot cut, so it cuts the bundle itself.
#[test]
fn the_kernel_cuts_a_bundle_into_the_packets_that_it_was_made_of() {
    let netns = match Netns::create(format!("{}-frames", RunId::new())) {
        Ok(netns) => netns,
        Err(error) => {
            assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs as root: {error}");
            ccactl_host::errln!("not run: {error}");
            return;
        }
    };
    offload::no_ipv6(&netns).unwrap();
    let mask = Ipv4Addr::new(255, 255, 255, 0);
    let device = |name, last| Tun::create_as(&netns, name, (Ipv4Addr::new(10, 77, last, 1), mask), 1500).unwrap();
    let (from, to) = (device("ccactl0", 1), device("ccactl1", 2));
    netns.sysctl("ipv4/ip_forward", "1").unwrap();
    // Without what it offers, the device gets packets with whole checksums.
    to.refuse_offloads().unwrap();
    let to = File::from(to.as_fd().try_clone_to_owned().unwrap());
    for (bytes, flags) in [(1, ACK), (1448, ACK | PSH), (4000, ACK), (14_480, ACK | PSH), (40_000, ACK | ECE)] {
        let mut pool = Pool::new(50, 1500);
        let whole = frame(&payload(bytes), u32::MAX - 2000, flags, (bytes > 1448).then_some(1448));
        let packets = split(&mut pool, &whole);
        let frames = bundled(&pool, &packets);
        frames.iter().for_each(|frame| from.send(&[IoSlice::new(frame)]).unwrap());
        for packet in packets {
            let got = read_within(&to, Duration::from_secs(5));
            assert_eq!(VirtioHeader::read(&got), Some(VirtioHeader::default()), "a whole packet");
            assert_eq!(got[HEADER_BYTES..], forwarded(pool.bytes(packet)), "{bytes} bytes, flags {flags:#x}");
        }
    }
}

/// A packet one hop further, with its checksums made whole.
fn forwarded(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    packet[10..12].fill(0);
    let checksum = !sum(packet[..20].to_vec());
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet[36..38].fill(0);
    let checksum = !sum(pseudo_header(&packet, 20).into_iter().chain(packet[20..].iter().copied()));
    packet[36..38].copy_from_slice(&checksum.to_be_bytes());
    packet
}

fn read_within(mut device: &File, limit: Duration) -> Vec<u8> {
    let until = Instant::now() + limit;
    let mut buffer = vec![0; 70_000];
    loop {
        match device.read(&mut buffer) {
            Ok(length) => return buffer[..length].to_vec(),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{error}"),
        }
    }
}
