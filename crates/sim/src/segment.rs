//! What travels: data segments one way, acknowledgements the other. Sequence numbers count segments.

use crate::Nanos;
use ccactl_link::Ecn;

/// Bytes of IPv4 and TCP headers with timestamps.
pub const HEADER_BYTES: u32 = 52;
/// SACK blocks that fit beside a timestamp (RFC 2018, section 3).
pub const SACK_BLOCKS: usize = 3;

/// A data segment on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 0.
    pub seq: u64,
    /// Payload.
    pub bytes: u32,
    /// Time stamp option: the sender's clock in ms.
    pub tsval_ms: u32,
    /// Echo of the receiver's own, by the world's clock.
    pub tsecr_ms: u32,
    /// As it left.
    pub ecn: Ecn,
    /// The sender has reduced its window (RFC 3168, section 6.1.2).
    pub cwr: bool,
    /// PSH: the end of a buffer of several segments, or of what the application has written.
    pub push: bool,
}

/// Segments from the first number up to, and without, the second.
pub type Block = (u64, u64);

/// An acknowledgement on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ack {
    /// The next segment that is expected.
    pub ack: u64,
    /// What arrived above it, the newest first (RFC 2018).
    pub sacks: [Block; SACK_BLOCKS],
    /// How many of them there are.
    pub sack_count: u8,
    /// The first of them reports what arrived twice (RFC 2883).
    pub dsack: bool,
    /// Echo of a time stamp in ms.
    pub tsecr_ms: u32,
    /// ECN echo (RFC 3168, RFC 8257).
    pub ece: bool,
    /// Segments that arrived with a mark, with accurate ECN (RFC 9768); else 0.
    pub ce_pkts: u32,
    /// When it left, by the world's clock: its own time stamp.
    pub sent_ns: Nanos,
    /// What may be sent beyond `ack`, in payload.
    pub window_bytes: u32,
}

impl Ack {
    /// The blocks that it has.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.sacks[..usize::from(self.sack_count)]
    }
}
