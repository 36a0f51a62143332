//! The structs of `bpf/link.bpf.c`, which is a bottleneck inside the kernel.

use bytemuck::{Pod, Zeroable};

/// Classes of [`LinkTimes`]: those of `ccactl_host::quantiles::Classes<6>`, rounded up to a power of two.
pub const LINK_CLASSES: usize = 4096;

/// What the link is told (`struct cca_link_config`). All times are of the monotonic clock.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct LinkConfig {
    /// Rate on the wire, in bit/s; not 0.
    pub rate_bps: u64,
    /// Room of the buffer, with the packet in transmission, in bytes on the wire.
    pub limit_bytes: u64,
    /// The same in packets; 0: the limit is in bytes.
    pub limit_packets: u64,
    /// Packets that there is memory for, a power of two.
    pub slots: u64,
    /// `TARGET` of RFC 8289.
    pub codel_target_ns: u64,
    /// `INTERVAL` of RFC 8289, below 3 s; 0: drop-tail.
    pub codel_interval_ns: u64,
    /// `MAXPACKET` of RFC 8289.
    pub codel_mtu_bytes: u32,
    /// What a packet has on the wire beyond the Ethernet frame that the kernel counts.
    pub overhead_bytes: i32,
}

/// Times of packets by class (`struct cca_link_times`).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct LinkTimes {
    /// Packets by class.
    pub counts: [u64; LINK_CLASSES],
    /// Of all packets.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// What the link has done, and where it is (`struct cca_link_state`). Packets have numbers in the order of their arrival.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
pub struct LinkState {
    /// Packets below this number were handed out.
    pub out: u64,
    /// Packets below this number were taken by the transmitter.
    pub next: u64,
    /// The number of the next packet to arrive.
    pub tail: u64,
    /// Bytes that wait, without those in transmission.
    pub waiting_bytes: u64,
    /// End of the transmission.
    pub end_ns: u64,
    /// Since when the transmitter is free, or was before this transmission.
    pub free_ns: u64,
    /// Bytes in transmission; 0: the transmitter is free.
    pub sending_bytes: u32,
    /// Whether the packet in transmission waited for the one before it.
    pub back_to_back: u32,
    /// `enum link_codel_stage`.
    pub codel_stage: u32,
    /// Whether CoDel is dropping.
    pub codel_dropping: u32,
    /// Drops since it began.
    pub codel_count: u32,
    /// `codel_count` at the beginning of the latest dropping.
    pub codel_last_count: u32,
    /// When the delay will have been above the target for an interval; 0: it is below.
    pub codel_first_above_ns: u64,
    /// When the next packet is dropped.
    pub codel_drop_next_ns: u64,
    /// Packets that arrived.
    pub offered_packets: u64,
    /// Refused for want of room.
    pub dropped_full_packets: u64,
    /// Dropped by CoDel.
    pub dropped_early_packets: u64,
    /// Refused though the buffer had room, as the kernel had not asked for those that had left.
    pub without_slot_packets: u64,
    /// Packets that were transmitted.
    pub sent_packets: u64,
    /// The same in bytes on the wire.
    pub sent_bytes: u64,
    /// Bytes that left right behind others.
    pub busy_bytes: u64,
    /// How long that took.
    pub busy_ns: u64,
    /// Most bytes in the queue that an arriving packet found, itself included where there was room.
    pub queue_max_bytes: u64,
    /// Sum of the same over all arriving packets.
    pub queue_sum_bytes: u64,
    /// From the arrival to the start of the transmission.
    pub sojourn: LinkTimes,
    /// From the end of the transmission until the kernel asked for the packet.
    pub lateness: LinkTimes,
}

const _: () = {
    assert!(size_of::<LinkConfig>() == 56);
    assert!(size_of::<LinkTimes>() == 32784);
    assert!(size_of::<LinkState>() == 65736);
};
