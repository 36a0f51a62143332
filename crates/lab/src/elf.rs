//! The little of ELF that a guest image needs: how much of a program is loaded, and what a kernel module says about itself.
//!
//! Layout as in the System V ABI (`elf(5)`); only 64-bit little-endian files, as the guest is x86-64.

/// A file that is not what it should be, for an error message: "expected …, found …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a 64-bit little-endian ELF file, found {0}")]
pub struct NotElf(&'static str);

const HEADER_BYTES: usize = 64;
const PROGRAM_HEADER_BYTES: usize = 56;
const SECTION_HEADER_BYTES: usize = 64;
/// `\x7fELF`, class 64, little endian, version 1.
const IDENT: [u8; 7] = [0x7f, b'E', b'L', b'F', 2, 1, 1];

/// A program without what only debuggers and linkers read: everything behind the last segment, which is the symbol table
/// and its names, a quarter of a release build of ccactl. The section table is there too, and the header no longer points to it.
///
/// # Errors
/// [`NotElf`].
pub fn loadable_part(elf: &[u8]) -> Result<Vec<u8>, NotElf> {
    let view = View::of(elf)?;
    let table = view.u64(0x20)?;
    let count = view.u16(0x38)?;
    let mut end = HEADER_BYTES as u64;
    for index in 0..u64::from(count) {
        let at = table.saturating_add(index * PROGRAM_HEADER_BYTES as u64);
        let segment = view.slice(at, PROGRAM_HEADER_BYTES as u64)?;
        let field = |offset: usize| u64_at(segment, offset);
        end = end.max(field(0x08).saturating_add(field(0x20)));
        end = end.max(at + PROGRAM_HEADER_BYTES as u64);
    }
    let mut kept = view.slice(0, end)?.to_vec();
    // e_shoff, and e_shnum with e_shstrndx.
    kept[0x28..0x30].fill(0);
    kept[0x3c..0x40].fill(0);
    Ok(kept)
}

/// Values of a key in the section `.modinfo` of a kernel module, such as `depends`.
///
/// # Errors
/// [`NotElf`].
pub fn module_info<'a>(module: &'a [u8], key: &str) -> Result<Vec<&'a str>, NotElf> {
    let view = View::of(module)?;
    let section = view.section(".modinfo")?;
    let entries = section.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    Ok(entries.filter_map(|entry| entry.strip_prefix(key)?.strip_prefix('=')).collect())
}

#[derive(Clone, Copy)]
struct View<'a>(&'a [u8]);

impl<'a> View<'a> {
    fn of(elf: &'a [u8]) -> Result<Self, NotElf> {
        if elf.starts_with(&IDENT) && elf.len() >= HEADER_BYTES {
            Ok(View(elf))
        } else {
            Err(NotElf("another kind of file"))
        }
    }

    fn slice(&self, offset: u64, length: u64) -> Result<&'a [u8], NotElf> {
        let range = usize::try_from(offset).ok().zip(usize::try_from(length).ok());
        let end = range.and_then(|(offset, length)| offset.checked_add(length));
        let found = range.zip(end).and_then(|((offset, _), end)| self.0.get(offset..end));
        found.ok_or(NotElf("one that ends too early"))
    }

    fn u64(&self, offset: u64) -> Result<u64, NotElf> {
        self.slice(offset, 8).map(|bytes| u64_at(bytes, 0))
    }

    fn u16(&self, offset: u64) -> Result<u16, NotElf> {
        self.slice(offset, 2).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn section(&self, name: &str) -> Result<&'a [u8], NotElf> {
        let header = |index: u16| {
            let at = self.u64(0x28)?.saturating_add(u64::from(index) * SECTION_HEADER_BYTES as u64);
            self.slice(at, SECTION_HEADER_BYTES as u64)
        };
        let content = |header: &[u8]| self.slice(u64_at(header, 0x18), u64_at(header, 0x20));
        let names = content(header(self.u16(0x3e)?)?)?;
        for index in 0..self.u16(0x3c)? {
            let header = header(index)?;
            let start = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let rest = names.get(start..).unwrap_or_default();
            if rest.split(|byte| *byte == 0).next() == Some(name.as_bytes()) {
                return content(header);
            }
        }
        Err(NotElf("one without a section .modinfo"))
    }
}

/// `bytes` has at least eight from `offset` on.
fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_runs_without_what_follows_its_segments() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let kept = loadable_part(&whole).unwrap();
        assert!(kept.len() < whole.len(), "the symbols of a test binary are behind its segments");
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kept");
        std::fs::write(&program, &kept).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let listed = std::process::Command::new(&program).args(["--list", "--format", "terse"]).output().unwrap();
        assert!(listed.status.success());
        let text = String::from_utf8(listed.stdout).unwrap();
        assert!(text.contains("a_program_runs_without_what_follows_its_segments"), "{text}");
    }

    #[test]
    fn a_file_that_is_cut_or_something_else_is_refused() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for part in [&whole[..0], &whole[..63], &whole[..HEADER_BYTES], &whole[..whole.len() / 2], b"#!/bin/sh\n"] {
            assert!(loadable_part(part).is_err(), "{} bytes", part.len());
        }
        assert!(module_info(&whole, "depends").is_err(), "a program has no .modinfo");
    }

    /// An ELF file with two sections: the names and `.modinfo`.
    fn module(info: &[u8]) -> Vec<u8> {
        let names = b"\0.modinfo\0.shstrtab\0";
        let (info_at, names_at) = (HEADER_BYTES, HEADER_BYTES + info.len());
        let table_at = names_at + names.len();
        let mut elf = vec![0; HEADER_BYTES];
        elf[..IDENT.len()].copy_from_slice(&IDENT);
        elf[0x28..0x30].copy_from_slice(&(table_at as u64).to_le_bytes());
        elf[0x3c..0x40].copy_from_slice(&[2, 0, 1, 0]);
        elf.extend(info);
        elf.extend(names);
        for (name, at, length) in [(1_u32, info_at, info.len()), (10, names_at, names.len())] {
            let mut header = [0; SECTION_HEADER_BYTES];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(length as u64).to_le_bytes());
            elf.extend(header);
        }
        elf
    }

    #[test]
    fn a_module_says_what_it_depends_on() {
        let elf = module(b"license=GPL\0depends=tcp_vegas,x\0depends_not=y\0name=tcp_yeah\0");
        assert_eq!(module_info(&elf, "depends"), Ok(vec!["tcp_vegas,x"]));
        assert_eq!(module_info(&elf, "name"), Ok(vec!["tcp_yeah"]));
        assert_eq!(module_info(&elf, "alias"), Ok(vec![]));
    }
}
