//! The program that a guest runs, with the shared libraries that it needs.

use crate::elf;
use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program and its libraries.
#[derive(Debug)]
pub struct Program {
    /// What of its file is loaded.
    pub content: Vec<u8>,
    /// Paths of its libraries on this host, which are their paths in the guest too.
    pub libraries: Vec<PathBuf>,
}

/// Where programs of the administrator are although `PATH` does not say so.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];

impl Program {
    /// A program of this host by its name.
    ///
    /// # Errors
    /// [`Error::Program`], also where there is none.
    pub fn named(name: &str) -> Result<Program> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.map(PathBuf::from));
        let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
        let missing = || Error::Program { path: name.into(), found: "none on this host: install iproute2".to_owned() };
        Program::read(&found.ok_or_else(missing)?)
    }

    /// Reads a program; `ldd` says which libraries it needs.
    ///
    /// # Errors
    /// [`Error::Program`].
    pub fn read(path: &Path) -> Result<Program> {
        let fail = |found: String| Error::Program { path: path.to_owned(), found };
        let whole = fs::read(path).map_err(|cause| fail(cause.to_string()))?;
        let content = elf::loadable_part(&whole).map_err(|error| fail(error.to_string()))?;
        let listed = Command::new("ldd").arg(path).env("LC_ALL", "C").stdin(Stdio::null()).output();
        let listed = listed.map_err(|cause| fail(format!("no way to learn its libraries: cannot run ldd: {cause}")))?;
        let text = String::from_utf8_lossy(&listed.stdout);
        // A static program is an error to ldd.
        if !listed.status.success() && !text.contains("not a dynamic executable") {
            let words = String::from_utf8_lossy(&listed.stderr);
            if !words.contains("not a dynamic executable") {
                return Err(fail(format!("no way to learn its libraries: ldd: {}", words.trim())));
            }
        }
        let libraries = libraries(&text).map_err(|library| fail(format!("that its library {library} is missing")))?;
        Ok(Program { content, libraries })
    }
}

/// Paths in the output of ldd: `name => /path (address)`, or `/path (address)` for the loader. The kernel's own pages have no path.
fn libraries(ldd: &str) -> Result<Vec<PathBuf>, String> {
    let mut paths = Vec::new();
    for line in ldd.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place.starts_with("not found") {
            return Err(name.to_owned());
        }
        if place.starts_with('/') {
            paths.extend(place.split_whitespace().next().map(PathBuf::from));
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_counts_and_the_kernels_page_does_not() {
        let text = "\tlinux-vdso.so.1 (0x00007ffe)\n\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = ["/lib/x86_64-linux-gnu/libz.so.1", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from);
        assert_eq!(libraries(text), Ok(expected.to_vec()));
    }

    #[test]
    fn a_missing_library_is_named() {
        assert_eq!(libraries("\tlibelf.so.1 => not found\n"), Err("libelf.so.1".to_owned()));
        assert_eq!(libraries("\tstatically linked\n"), Ok(vec![]));
    }

    #[test]
    fn a_script_is_no_program_for_a_guest() {
        let error = Program::read(Path::new("/etc/os-release")).unwrap_err();
        assert!(error.to_string().contains("/etc/os-release: expected a program for the guest"), "{error}");
    }
}
