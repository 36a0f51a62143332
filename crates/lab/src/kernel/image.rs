//! What a kernel image says about itself: the header of `Documentation/arch/x86/boot.rst`.

use crate::error::{Error, Result};
use std::fs;
use std::path::Path;

/// Offset of the magic number of the boot protocol, and that number.
const MAGIC_AT: usize = 0x202;
const MAGIC: &[u8] = b"HdrS";
/// Offset of the pointer to the version, which counts from [`VERSION_BASE`].
const VERSION_POINTER_AT: usize = 0x20e;
const VERSION_BASE: usize = 0x200;

/// The release, as `uname -r` will show it, of a kernel image.
///
/// # Errors
/// [`Error::Image`].
pub fn release_of(path: &Path) -> Result<String> {
    let fail = |found: String| Error::Image { path: path.to_owned(), found };
    let image = fs::read(path).map_err(|cause| fail(cause.to_string()))?;
    release_in(&image).ok_or_else(|| fail("another kind of file".to_owned()))
}

fn release_in(image: &[u8]) -> Option<String> {
    if !image.get(MAGIC_AT..)?.starts_with(MAGIC) {
        return None;
    }
    let pointer = image.get(VERSION_POINTER_AT..VERSION_POINTER_AT + 2)?;
    let start = VERSION_BASE + usize::from(u16::from_le_bytes([pointer[0], pointer[1]]));
    // "6.1.0-50-cloud-amd64 (debian-kernel@lists.debian.org) #1 SMP …", ended by a NUL.
    let text = image.get(start..)?.split(|byte| *byte == 0).next()?;
    let release = std::str::from_utf8(text).ok()?.split_whitespace().next()?;
    Some(release.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_where_the_boot_protocol_puts_it() {
        let mut image = vec![0; 0x400];
        image[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
        image[VERSION_POINTER_AT] = 0x80;
        let text = b"6.12.1+deb13 (x@y) #1\0rest";
        image[0x280..0x280 + text.len()].copy_from_slice(text);
        assert_eq!(release_in(&image).as_deref(), Some("6.12.1+deb13"));
        image[VERSION_POINTER_AT + 1] = 0xff;
        assert_eq!(release_in(&image), None, "a pointer behind the end");
    }

    #[test]
    fn another_file_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinux");
        let refused = |path: &Path| {
            let error = release_of(path).unwrap_err();
            assert!(error.to_string().contains("vmlinux: expected an x86-64 Linux kernel image"), "{error}");
        };
        refused(&path);
        fs::write(&path, b"\x7fELF").unwrap();
        refused(&path);
    }
}
