//! Paths as text from which the path can be made again.
//!
//! A path is bytes, and text is UTF-8. `Path::display` replaces what is not, so that two cgroups may have one name. Here
//! such a path is `bytes:` and an escaped form; a UTF-8 path stays as it is.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Before a path that is written as bytes. A cgroup's path begins with `/`, so it never begins like this.
pub const PREFIX: &str = "bytes:";

/// The path as text: itself if it is UTF-8. Otherwise `bytes:/a\xff`: printable ASCII as it is, `\\` for a backslash, and
/// `\xNN` for all other bytes.
#[must_use]
pub fn of_path(path: &Path) -> Cow<'_, str> {
    match path.to_str() {
        // A file may be called so; its text must not be taken for the escaped form.
        Some(text) if !text.starts_with(PREFIX) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(path.as_os_str().as_bytes())),
    }
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = PREFIX.to_owned();
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(byte.into()),
            _ => write!(text, "\\x{byte:02x}").expect("a string takes all"),
        }
    }
    text
}

/// The path that [`of_path`] has written; `None` if that cannot have been.
#[must_use]
pub fn to_path(text: &str) -> Option<PathBuf> {
    let Some(escaped) = text.strip_prefix(PREFIX) else { return Some(PathBuf::from(text)) };
    let mut bytes = Vec::with_capacity(escaped.len());
    let mut rest = escaped.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let (byte, tail) = match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => (b'\\', tail),
            (b'\\', [b'x', high, low, tail @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                (u8::try_from(digit(high)? * 16 + digit(low)?).ok()?, tail)
            }
            (b' '..=b'~', _) if first != b'\\' => (first, tail),
            _ => return None,
        };
        bytes.push(byte);
        rest = tail;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::ffi::OsStr;

    #[test]
    fn a_path_of_any_bytes_comes_back() {
        let mut texts = BTreeSet::new();
        for byte in 1..=255_u8 {
            for name in
                [&[b'/', byte][..], &[b'/', byte, 0xff], &[0xff, b'\\', b'x', byte], b"bytes:/a", "/ä".as_bytes()]
            {
                let path = Path::new(OsStr::from_bytes(name));
                let text = of_path(path);
                assert_eq!(to_path(&text).as_deref(), Some(path), "{text}");
                texts.insert(text.into_owned());
            }
        }
        assert_eq!(texts.len(), 3 * 255 + 2, "no two paths have one text");
    }

    #[test]
    fn utf_8_stays_as_it_is_and_other_bytes_are_told_apart() {
        assert_eq!(of_path(Path::new("/straße\u{1b}")), "/straße\u{1b}");
        assert_eq!(of_path(Path::new(OsStr::from_bytes(b"/a\xff\\b\n"))), "bytes:/a\\xff\\\\b\\x0a");
        assert_ne!(of_path(Path::new(OsStr::from_bytes(b"/\xff"))), of_path(Path::new(OsStr::from_bytes(b"/\xfe"))));
    }

    #[test]
    fn what_nobody_wrote_is_no_path() {
        for text in ["bytes:\\", "bytes:\\x4", "bytes:\\xgg", "bytes:ä", "bytes:\\n"] {
            assert_eq!(to_path(text), None, "{text}");
        }
    }
}
