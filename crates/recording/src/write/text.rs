//! Columns of text: a view of 16 bytes per row, which holds a short text itself and points to a longer one that all rows
//! of a batch share. So a text costs a row no copy and no allocation, however often it appears.

use arrow_array::{ArrayRef, StringViewArray};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};
use std::sync::Arc;

/// Slots of the memory of a [`TextColumn`]; what shares a slot is only made anew more often.
const SLOTS: usize = 64;

/// A column under construction. `K` is what a value is known by, such as the bytes of an address.
pub(crate) struct TextColumn<K> {
    views: Vec<u128>,
    /// The texts that do not fit into a view.
    long: Vec<u8>,
    /// What was made of a key, by a few bits of it.
    memory: [Option<(K, u128)>; SLOTS],
}

impl<K: Copy + PartialEq> TextColumn<K> {
    pub(crate) fn new(rows: usize) -> TextColumn<K> {
        TextColumn { views: Vec::with_capacity(rows), long: Vec::new(), memory: [None; SLOTS] }
    }

    /// Appends the text of `key`; `slot` is any number that depends on the key alone, `make` writes the text.
    pub(crate) fn push(&mut self, key: K, slot: usize, make: impl FnOnce(&mut String)) {
        let remembered = &mut self.memory[slot % SLOTS];
        if let Some((_, view)) = remembered.filter(|(known, _)| *known == key) {
            self.views.push(view);
            return;
        }
        let mut text = String::new();
        make(&mut text);
        let view = view(&text, &mut self.long);
        *remembered = Some((key, view));
        self.views.push(view);
    }

    /// Appends what becomes none; [`TextColumn::finish`] is told of it.
    pub(crate) fn push_none(&mut self) {
        self.views.push(0);
    }

    pub(crate) fn finish(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let long: Arc<[Buffer]> =
            if self.long.is_empty() { Arc::new([]) } else { Arc::new([Buffer::from_vec(self.long)]) };
        // SAFETY: every view comes from `view`, which was given text, and the long ones lie within the one buffer; the
        // view 0 is the empty text.
        let array = unsafe { StringViewArray::new_unchecked(ScalarBuffer::from(self.views), long, nulls) };
        Arc::new(array)
    }
}

/// The view of a text: length, then up to twelve bytes of text, or the first four and where the whole text lies.
fn view(text: &str, long: &mut Vec<u8>) -> u128 {
    const INLINE_BYTES: usize = 12;
    let bytes = text.as_bytes();
    let mut view = [0; 16];
    view[..4].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    if bytes.len() <= INLINE_BYTES {
        view[4..4 + bytes.len()].copy_from_slice(bytes);
    } else {
        view[4..8].copy_from_slice(&bytes[..4]);
        // Buffer 0, the only one.
        view[12..].copy_from_slice(&(long.len() as u32).to_le_bytes());
        long.extend_from_slice(bytes);
    }
    u128::from_le_bytes(view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    #[test]
    fn short_and_long_texts_come_back_and_long_ones_are_kept_once() {
        let texts = ["", "open", "twelve bytes", "thirteen bytes", "2001:db8::1234:5678", "thirteen bytes"];
        let mut column = TextColumn::new(texts.len());
        for text in texts {
            column.push(text, text.len(), |out| out.push_str(text));
        }
        assert_eq!(column.long.len(), "thirteen bytes".len() + "2001:db8::1234:5678".len());
        let array = column.finish(None);
        assert!(array.to_data().validate_full().is_ok());
        assert_eq!(array.as_string_view().iter().map(Option::unwrap).collect::<Vec<_>>(), texts);
    }

    #[test]
    fn keys_that_share_a_slot_are_told_apart() {
        let mut column = TextColumn::new(4);
        for key in [1_u32, 2, 1, 2] {
            column.push(key, 0, |out| out.push_str(&key.to_string()));
        }
        column.push_none();
        let array = column.finish(Some(NullBuffer::from(vec![true, true, true, true, false])));
        let expected = [Some("1"), Some("2"), Some("1"), Some("2"), None];
        assert_eq!(array.as_string_view().iter().collect::<Vec<_>>(), expected);
    }
}
