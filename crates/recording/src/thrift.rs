//! Whether the lengths in a Parquet footer can be true.
//!
//! A footer is a struct in Thrift's compact protocol. Readers reserve memory for as many elements as a list claims to
//! have, and a claim of thousands of millions ends the process where no error can be caught. Each element takes a byte at
//! least, so a claim beyond the bytes that are left is a lie.
//!
//! Source: Apache Thrift, `doc/specs/thrift-compact-protocol.md`.

use std::collections::BTreeMap;

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

/// Of `FileMetaData` in Parquet's `parquet.thrift`: the list of `KeyValue`.
const KEY_VALUE_METADATA: i64 = 5;
/// Of `KeyValue`.
const KEY: i64 = 1;
const VALUE: i64 = 2;

/// Whether `bytes` begin with a struct of which every part lies within them.
pub(crate) fn is_within_itself(bytes: &[u8]) -> bool {
    Walk { rest: bytes }.structure(0).is_some()
}

/// The key-value pairs of a Parquet footer; `None` when it is none.
pub(crate) fn pairs_of_footer(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    Walk { rest: bytes }.fields(0, |walk, id, kind| {
        if id != KEY_VALUE_METADATA || kind != LIST {
            return walk.field(kind, 0);
        }
        let (size, element) = walk.list_header()?;
        if element != STRUCT || size > walk.rest.len() as u64 {
            return None;
        }
        for _ in 0..size {
            let (mut key, mut value) = (None, None);
            walk.fields(1, |walk, id, kind| match id {
                KEY if kind == BINARY => walk.text().map(|text| key = Some(text)),
                VALUE if kind == BINARY => walk.text().map(|text| value = Some(text)),
                _ => walk.field(kind, 1),
            })?;
            // Parquet allows a key without a value.
            if let (Some(key), Some(value)) = (key, value) {
                pairs.insert(key, value);
            }
        }
        Some(())
    })?;
    Some(pairs)
}

/// Each step is `None` when it would leave the bytes.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    fn structure(&mut self, depth: usize) -> Option<()> {
        self.fields(depth, |walk, _, kind| walk.field(kind, depth))
    }

    /// Goes through a struct; `each` is given the number and the type of a field and consumes its value.
    fn fields(&mut self, depth: usize, mut each: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut id = 0_i64;
        loop {
            let header = self.byte()?;
            let kind = header & 0x0f;
            if kind == STOP {
                return Some(());
            }
            // Without a difference to the field before, the field's number follows, with its sign in the last bit.
            id = match header >> 4 {
                0 => {
                    let number = self.varint()?;
                    (number >> 1) as i64 ^ -((number & 1) as i64)
                }
                difference => id.wrapping_add(difference.into()),
            };
            each(self, id, kind)?;
        }
    }

    /// The value of a field. Its type says which Boolean it is.
    fn field(&mut self, kind: u8, depth: usize) -> Option<()> {
        if kind == TRUE || kind == FALSE { Some(()) } else { self.value(kind, depth) }
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
        let (size, kind) = self.list_header()?;
        self.elements(size, &[kind], depth)
    }

    /// How many elements, and their type.
    fn list_header(&mut self) -> Option<(u64, u8)> {
        let header = self.byte()?;
        let short = header >> 4;
        let size = if short == LONG_LIST { self.varint()? } else { u64::from(short) };
        Some((size, header & 0x0f))
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.varint()?).ok()?;
        let text = std::str::from_utf8(self.rest.get(..length)?).ok()?.to_owned();
        self.rest = &self.rest[length..];
        Some(text)
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
    fn the_pairs_of_a_footer_are_its_fifth_field() {
        let footer = [
            0x15, 2, // field 1: version 1
            0x16, 6, // field 2 here: three rows
            0x39, 0x2c, // field 5: a list of two structs
            0x18, 1, b'k', 0x18, 2, b'v', b'w', STOP, // k = vw
            0x18, 1, b'e', STOP, // e without a value
            0x18, 0, // field 6
            STOP,
        ];
        let expected = BTreeMap::from([("k".to_owned(), "vw".to_owned())]);
        assert_eq!(pairs_of_footer(&footer), Some(expected));
        for end in 0..footer.len() {
            assert_eq!(pairs_of_footer(&footer[..end]), None, "cut to {end} bytes");
        }
        // A list of 2^35 pairs.
        assert_eq!(pairs_of_footer(&[0x59, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, STOP, STOP]), None);
    }

    #[test]
    fn structs_do_not_go_down_for_ever() {
        assert!(!is_within_itself(&[0x1c; 1 << 20]));
        // Lists of lists of lists.
        assert!(!is_within_itself(&[0x19; 1 << 20]));
    }
}
