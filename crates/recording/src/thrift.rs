//! Whether the lengths in a Parquet footer can be true.
//!
//! A footer is a struct in Thrift's compact protocol. Readers reserve memory for as many elements as a list claims to
//! have, and a claim of thousands of millions ends the process where no error can be caught. Each element takes a byte at
//! least, so a claim beyond the bytes that are left is a lie.
//!
//! Source: Apache Thrift, `doc/specs/thrift-compact-protocol.md`.

/// Structs in structs; the footer of a recording has six.
const MAX_DEPTH: usize = 32;

const STOP: u8 = 0;
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
/// In the header of a list: the size follows.
const LONG_LIST: u8 = 15;

/// Whether `bytes` begin with a struct of which every part lies within them.
pub(crate) fn is_within_itself(bytes: &[u8]) -> bool {
    Walk { rest: bytes }.structure(0).is_some()
}

/// Each step is `None` when it would leave the bytes.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn structure(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == STOP {
                return Some(());
            }
            // Without a difference to the field before, the field's number follows.
            if header >> 4 == 0 {
                self.varint()?;
            }
            // The type of a field says which Boolean it is.
            if kind != TRUE && kind != FALSE {
                self.value(kind, depth)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            TRUE | FALSE | BYTE => self.skip(1),
            I16..=I64 => self.varint().map(drop),
            DOUBLE => self.skip(8),
            BINARY => {
                let length = self.varint()?;
                self.skip(length)
            }
            LIST | SET => self.list(depth),
            MAP => self.map(depth),
            STRUCT => self.structure(depth + 1),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let header = self.byte()?;
        let short = header >> 4;
        let size = if short == LONG_LIST { self.varint()? } else { u64::from(short) };
        self.elements(size, &[header & 0x0f], depth)
    }

    fn map(&mut self, depth: usize) -> Option<()> {
        let size = self.varint()?;
        if size == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        self.elements(size, &[kinds >> 4, kinds & 0x0f], depth)
    }

    /// `size` times a value of each of `kinds`.
    fn elements(&mut self, size: u64, kinds: &[u8], depth: usize) -> Option<()> {
        if size > self.rest.len() as u64 || depth > MAX_DEPTH {
            return None;
        }
        for _ in 0..size {
            for &kind in kinds {
                self.value(kind, depth + 1)?;
            }
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn skip(&mut self, count: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(count).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_of_every_type_is_within_itself() {
        let bytes = [
            0x11, // field 1: true
            0x13, 7, // field 2: a byte
            0x15, 0x80, 0x01, // field 3: a varint of two bytes
            0x17, 0, 0, 0, 0, 0, 0, 0, 0, // field 4: a double
            0x18, 2, b'a', b'b', // field 5: two bytes
            0x19, 0x21, 1, 2, // field 6: two Booleans
            0x1b, 1, 0x85, 1, b'k', 9, // field 7: a map of one
            0x1c, STOP, // field 8: an empty struct
            0x05, 0x40, 1, // field 32, by its number
            STOP,
        ];
        assert!(is_within_itself(&bytes));
        for end in 0..bytes.len() {
            assert!(!is_within_itself(&bytes[..end]), "cut to {end} bytes");
        }
    }

    #[test]
    fn a_list_longer_than_what_is_left_is_refused_before_it_is_walked() {
        // A list of 2^35 structs in a footer of ten bytes.
        assert!(!is_within_itself(&[0x19, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, STOP, STOP]));
        assert!(is_within_itself(&[0x19, 0xfc, 0x02, STOP, STOP, STOP]));
    }

    #[test]
    fn structs_do_not_go_down_for_ever() {
        assert!(!is_within_itself(&[0x1c; 1 << 20]));
        // Lists of lists of lists.
        assert!(!is_within_itself(&[0x19; 1 << 20]));
    }
}
