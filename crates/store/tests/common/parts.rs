//! Files that say of themselves what a finished part says, and hold nothing else.

/// Schema version and dataset, unless they are given.
const USUAL: [(&str, &str); 2] = [("ccactl.schema_version", "3"), ("ccactl.dataset", "18a-2-3")];

/// `PAR1`, a footer whose only field is the list of pairs, its length, `PAR1`.
pub fn part(pairs: &[(&str, &str)]) -> Vec<u8> {
    let usual = USUAL.iter().filter(|(key, _)| pairs.iter().all(|(given, _)| given != key));
    let all: Vec<_> = usual.chain(pairs).collect();
    let mut footer = vec![0x59, 0xfc];
    varint(&mut footer, all.len());
    for (key, value) in all {
        for text in [key, value] {
            footer.push(0x18);
            varint(&mut footer, text.len());
            footer.extend(text.as_bytes());
        }
        footer.push(0);
    }
    footer.push(0);
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

fn varint(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}
