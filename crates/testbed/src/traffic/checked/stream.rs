//! The bytes of a connection in one direction: each depends on the run, the connection, the direction and its position.

use crc32fast::Hasher;

const WORD_BYTES: u64 = 8;

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the end that connected.
    ToServer,
    /// From the end that accepted.
    ToClient,
}

/// The bytes of one direction of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    key: u64,
}

impl Pattern {
    /// The bytes of `connection` in a run with `seed`.
    pub fn new(seed: u64, connection: u32, direction: Direction) -> Self {
        let way = match direction {
            Direction::ToServer => 0,
            Direction::ToClient => 1,
        };
        Self { key: mix(seed ^ mix(u64::from(connection) << 1 | way)) }
    }

    /// Writes the bytes from `position` on.
    pub fn fill(self, position: u64, buffer: &mut [u8]) {
        let skip = (position % WORD_BYTES) as usize;
        let first = if skip == 0 { 0 } else { buffer.len().min(WORD_BYTES as usize - skip) };
        let (head, rest) = buffer.split_at_mut(first);
        head.copy_from_slice(&self.word(position)[skip..][..first]);
        let mut position = position + first as u64;
        for chunk in rest.chunks_mut(WORD_BYTES as usize) {
            chunk.copy_from_slice(&self.word(position)[..chunk.len()]);
            position += WORD_BYTES;
        }
    }

    /// The aligned word in which `position` lies.
    fn word(self, position: u64) -> [u8; WORD_BYTES as usize] {
        mix(self.key.wrapping_add(position / WORD_BYTES)).to_le_bytes()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): neighbouring arguments give unrelated words.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// How much of a direction has passed, and its running CRC-32.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    bytes: u64,
    crc: Hasher,
}

impl Progress {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Of those bytes.
    pub fn crc(&self) -> u32 {
        self.crc.clone().finalize()
    }

    /// The next bytes have passed.
    pub fn advance(&mut self, passed: &[u8]) {
        self.crc.update(passed);
        self.bytes += passed.len() as u64;
    }
}

/// The first of some bytes that are not what was to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// Position in the direction.
    pub position: u64,
    /// What was to come.
    pub expected: u8,
    /// What came.
    pub found: u8,
    /// How many bytes of the piece differ.
    pub count: u64,
}

/// Compares what arrived with the pattern; `scratch` is at least as long.
pub fn compare(pattern: Pattern, position: u64, arrived: &[u8], scratch: &mut [u8]) -> Option<Mismatch> {
    let expected = &mut scratch[..arrived.len()];
    pattern.fill(position, expected);
    if expected == arrived {
        return None;
    }
    let differ = || expected.iter().zip(arrived).enumerate().filter(|(_, (expected, found))| expected != found);
    let (offset, (expected, found)) = differ().next()?;
    Some(Mismatch {
        position: position + offset as u64,
        expected: *expected,
        found: *found,
        count: differ().count() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pattern: Pattern, position: u64, length: usize) -> Vec<u8> {
        let mut buffer = vec![0; length];
        pattern.fill(position, &mut buffer);
        buffer
    }

    #[test]
    fn a_byte_does_not_depend_on_how_the_stream_was_cut() {
        let pattern = Pattern::new(1, 2, Direction::ToServer);
        let whole = bytes(pattern, 0, 100);
        for from in 0..40 {
            for length in 0..40 {
                assert_eq!(bytes(pattern, from as u64, length), whole[from..from + length], "{from} + {length}");
            }
        }
    }

    #[test]
    fn streams_of_other_connections_directions_and_runs_are_other_streams() {
        let one = bytes(Pattern::new(1, 2, Direction::ToServer), 0, 64);
        for other in [
            Pattern::new(1, 3, Direction::ToServer),
            Pattern::new(1, 2, Direction::ToClient),
            Pattern::new(2, 2, Direction::ToServer),
        ] {
            let other = bytes(other, 0, 64);
            assert!(one.iter().zip(&other).filter(|(a, b)| a == b).count() < 8);
        }
    }

    #[test]
    fn one_wrong_byte_is_found_with_its_position() {
        let pattern = Pattern::new(1, 2, Direction::ToServer);
        let mut arrived = bytes(pattern, 1000, 50);
        arrived[7] ^= 0x10;
        let found = compare(pattern, 1000, &arrived, &mut [0; 64]).unwrap();
        assert_eq!((found.position, found.count), (1007, 1));
        assert_eq!(found.expected ^ found.found, 0x10);
    }

    #[test]
    fn missing_and_repeated_bytes_are_found() {
        let pattern = Pattern::new(9, 0, Direction::ToClient);
        let stream = bytes(pattern, 0, 300);
        let missing = [&stream[..100], &stream[101..]].concat();
        let repeated = [&stream[..100], &stream[92..]].concat();
        for (arrived, from) in [(missing, 100), (repeated, 100)] {
            let found = compare(pattern, 0, &arrived, &mut [0; 400]).unwrap();
            // A byte of another place may be the same by chance, once in 256.
            assert!((from..from + 3).contains(&found.position) && found.count > 150, "{found:?}");
        }
        assert_eq!(compare(pattern, 0, &stream, &mut [0; 300]), None);
    }
}
