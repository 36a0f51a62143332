//! What the agent reads of a TCP segment.

/// Most blocks that fit into the options of TCP (RFC 2018 section 3).
const MAX_BLOCKS: usize = 4;

/// Whether sequence number `a` comes before `b`; numbers wrap (RFC 9293 section 3.4).
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Blocks of selective acknowledgement, in their order (RFC 2018).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sack {
    blocks: [(u32, u32); MAX_BLOCKS],
    count: u8,
}

impl Sack {
    /// Adds a block: its first byte and the one behind its last. A fifth block is left out, as no header has room for it.
    pub fn push(&mut self, left: u32, right: u32) {
        if let Some(block) = self.blocks.get_mut(usize::from(self.count)) {
            *block = (left, right);
            self.count += 1;
        }
    }

    /// First byte of each block and the one behind its last.
    #[must_use]
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    /// There is no block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The first block reports bytes that came twice (RFC 2883 section 4): below the acknowledgement or within the second block.
    pub(super) fn reports_duplicate(&self, ack: u32) -> bool {
        let Some(&(left, right)) = self.blocks().first() else { return false };
        let within = |&(outer_left, outer_right): &(u32, u32)| !before(left, outer_left) && !before(outer_right, right);
        !before(ack, right) || self.blocks().get(1).is_some_and(within)
    }

    /// The end of the block that holds this byte.
    pub(super) fn end_of(&self, byte: u32) -> Option<u32> {
        let holds = |block: &&(u32, u32)| !before(byte, block.0) && before(byte, block.1);
        self.blocks().iter().find(holds).map(|block| block.1)
    }

    /// The byte behind the highest block above `ack`.
    pub(super) fn highest(&self, ack: u32) -> Option<u32> {
        self.blocks()
            .iter()
            .map(|block| block.1)
            .filter(|right| before(ack, *right))
            .max_by_key(|right| right.wrapping_sub(ack))
    }

    /// Some block holds all of these bytes.
    pub(super) fn holds(&self, seq: u32, end: u32) -> bool {
        self.end_of(seq).is_some_and(|right| !before(right, end))
    }
}

/// Fields of a TCP header (RFC 9293 section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Number of the first byte.
    pub seq: u32,
    /// Bytes of data.
    pub payload_bytes: u32,
    /// The next byte that is expected, where ACK is set.
    pub ack: Option<u32>,
    /// Window field, not scaled.
    pub window: u16,
    /// SYN is set.
    pub syn: bool,
    /// FIN is set.
    pub fin: bool,
    /// RST is set.
    pub rst: bool,
    /// Selective acknowledgements.
    pub sack: Sack,
}

impl Segment {
    /// The number behind the last byte; a FIN has a number too.
    pub(super) fn end(&self) -> u32 {
        self.seq.wrapping_add(self.payload_bytes).wrapping_add(u32::from(self.fin))
    }

    /// It acknowledges and carries nothing.
    pub(super) fn is_pure_ack(&self) -> bool {
        self.payload_bytes == 0 && !self.syn && !self.fin && self.ack.is_some()
    }
}
