//! The last rows of all sockets, within a bound.
//!
//! Rows lie as bytes in pieces that go as a whole: one without a trace takes less, and what is kept is what memory holds.

use bytemuck::Zeroable;
use ccactl_abi::layout::{FLAG_TRACE, SAMPLE_BYTES_WITHOUT_TRACE, Sample};
use std::collections::VecDeque;

/// A socket: its cookie, and the network namespace, without which a cookie says nothing.
pub type FlowKey = (u64, u32);

const PIECE_BYTES: usize = 64 << 10;
/// Every row has at least this; the trace is its last part.
const LEAST_BYTES: usize = SAMPLE_BYTES_WITHOUT_TRACE;

#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    rows: u64,
    newest_ns: u64,
}

/// Rows as the tap gives them: of one socket in order of time, across sockets nearly so.
#[derive(Debug)]
pub struct Memory {
    pieces: VecDeque<Piece>,
    most_pieces: usize,
    keep_ns: u64,
    newest_ns: u64,
    evicted: u64,
}

impl Memory {
    /// Keeps rows for so long, in so many bytes.
    #[must_use]
    pub fn new(keep_ns: u64, bytes: usize) -> Memory {
        let most_pieces = (bytes / PIECE_BYTES).max(1);
        Memory { pieces: VecDeque::new(), most_pieces, keep_ns, newest_ns: 0, evicted: 0 }
    }

    /// Takes a row in, and lets the oldest go.
    pub fn push(&mut self, row: &Sample) {
        self.newest_ns = self.newest_ns.max(row.time_ns);
        while self.pieces.front().is_some_and(|oldest| oldest.newest_ns + self.keep_ns < self.newest_ns) {
            self.pieces.pop_front();
        }
        let bytes = bytes_of(row);
        if self.pieces.back().is_none_or(|piece| piece.bytes.len() + bytes.len() > PIECE_BYTES) {
            if self.pieces.len() >= self.most_pieces {
                // They would be needed still.
                self.evicted += self.pieces.pop_front().map_or(0, |oldest| oldest.rows);
            }
            self.pieces.push_back(Piece { bytes: Vec::with_capacity(PIECE_BYTES), rows: 0, newest_ns: 0 });
        }
        let piece = self.pieces.back_mut().expect("there is room in one");
        piece.bytes.extend_from_slice(bytes);
        piece.rows += 1;
        piece.newest_ns = piece.newest_ns.max(row.time_ns);
    }

    /// Rows of some sockets from a time on, in order of time.
    #[must_use]
    pub fn rows(&self, from_ns: u64, until_ns: u64, is_wanted: impl Fn(&Sample) -> bool) -> Vec<Sample> {
        let wanted = |row: &Sample| (from_ns..=until_ns).contains(&row.time_ns) && is_wanted(row);
        let pieces = self.pieces.iter().filter(|piece| piece.newest_ns >= from_ns);
        let mut rows: Vec<Sample> = pieces.flat_map(|piece| Rows(&piece.bytes)).filter(wanted).collect();
        rows.sort_by_key(|row| row.time_ns);
        rows
    }

    /// Rows that went before their time, for want of memory.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }
}

/// Without the trace where there is none.
fn bytes_of(row: &Sample) -> &[u8] {
    let bytes = bytemuck::bytes_of(row);
    if row.flags & FLAG_TRACE == 0 { &bytes[..LEAST_BYTES] } else { bytes }
}

/// The rows of a piece.
struct Rows<'a>(&'a [u8]);

impl Iterator for Rows<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let mut row = Sample::zeroed();
        let (least, rest) = self.0.split_at_checked(LEAST_BYTES)?;
        let whole = bytemuck::bytes_of_mut(&mut row);
        whole[..LEAST_BYTES].copy_from_slice(least);
        let trace_bytes = whole.len() - LEAST_BYTES;
        self.0 = rest;
        if row.flags & FLAG_TRACE != 0 {
            let (trace, rest) = rest.split_at_checked(trace_bytes)?;
            bytemuck::bytes_of_mut(&mut row)[LEAST_BYTES..].copy_from_slice(trace);
            self.0 = rest;
        }
        Some(row)
    }
}

/// Which socket a row is of.
#[must_use]
pub fn key(row: &Sample) -> FlowKey {
    (row.flow_id, row.netns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(flow_id: u64, time_ns: u64) -> Sample {
        Sample { flow_id, time_ns, ..Sample::zeroed() }
    }

    fn times(rows: &[Sample]) -> Vec<u64> {
        rows.iter().map(|row| row.time_ns).collect()
    }

    #[test]
    fn rows_come_back_as_they_were_and_in_order() {
        let mut memory = Memory::new(1000, 1 << 20);
        let mut traced = Sample { flags: FLAG_TRACE, ..row(1, 4) };
        traced.trace.bw_bps = 77;
        for row in [row(1, 1), row(1, 5), traced, row(0, 12), row(0, 14)] {
            memory.push(&row);
        }
        assert_eq!(times(&memory.rows(0, u64::MAX, |_| true)), [1, 4, 5, 12, 14]);
        assert_eq!(times(&memory.rows(5, 12, |row| row.flow_id == 0)), [12]);
        assert_eq!(memory.rows(4, 4, |_| true), [traced]);
        assert_eq!(memory.evicted(), 0);
    }

    #[test]
    fn what_is_old_goes_and_memory_is_bounded() {
        let per_piece = (PIECE_BYTES / LEAST_BYTES) as u64;
        let mut memory = Memory::new(10 * per_piece, 3 * PIECE_BYTES);
        (0..4 * per_piece).for_each(|time_ns| memory.push(&row(1, time_ns)));
        assert_eq!(memory.evicted(), per_piece, "four pieces do not fit");
        assert_eq!(memory.rows(0, u64::MAX, |_| true).len() as u64, 3 * per_piece);
        memory.push(&row(1, 100 * per_piece));
        assert_eq!(times(&memory.rows(0, u64::MAX, |_| true)), [100 * per_piece]);
        assert_eq!(memory.evicted(), per_piece, "those went in their time");
    }
}
