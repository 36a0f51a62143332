//! Kernel modules for a guest: the ones that are wanted and what they depend on, in the order in which they load.

use crate::elf;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Endings of module files, and what unpacks them.
const ENDINGS: &[(&str, Option<&str>)] =
    &[(".ko", None), (".ko.xz", Some("xz")), (".ko.zst", Some("zstd")), (".ko.gz", Some("gzip"))];

/// A module as the kernel takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Name, with underscores.
    pub name: String,
    /// ELF file.
    pub content: Vec<u8>,
}

/// The module files of a kernel.
#[derive(Debug)]
pub struct ModuleTree {
    files: BTreeMap<String, PathBuf>,
}

impl ModuleTree {
    /// Looks through a folder and all below it.
    ///
    /// # Errors
    /// [`Error::Cache`] for a folder that cannot be read.
    pub fn open(folder: &Path) -> Result<ModuleTree> {
        let mut tree = ModuleTree { files: BTreeMap::new() };
        tree.add(folder).map_err(Error::cache(folder))?;
        Ok(tree)
    }

    fn add(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.add(&path)?;
            } else if let Some(name) = module_name(&path) {
                self.files.insert(name, path);
            }
        }
        Ok(())
    }

    /// The wanted modules, each after those that it depends on. A name that has no file is passed over: the kernel may have it
    /// built in, and the guest finds out what it lacks.
    ///
    /// # Errors
    /// [`Error::GuestImage`] for a file that cannot be read or unpacked, and a dependency without a file.
    pub fn in_load_order(&self, wanted: &[&str]) -> Result<Vec<Module>> {
        let mut chosen = Vec::new();
        for name in wanted {
            if self.files.contains_key(*name) {
                self.choose(name, &mut chosen)?;
            }
        }
        Ok(chosen)
    }

    fn choose(&self, name: &str, chosen: &mut Vec<Module>) -> Result<()> {
        if chosen.iter().any(|module| module.name == name) {
            return Ok(());
        }
        let path = self.files.get(name).ok_or_else(|| {
            let found = io::Error::new(io::ErrorKind::NotFound, "no file of this name among the modules");
            Error::image(format!("kernel module {name}, which another one needs"))(found)
        })?;
        let fail = |cause: io::Error| Error::image(format!("kernel module {}", path.display()))(cause);
        let content = read(path).map_err(fail)?;
        let depends = elf::module_info(&content, "depends").map_err(|error| fail(io::Error::other(error)))?;
        for dependency in depends.iter().flat_map(|list| list.split(',')).filter(|name| !name.is_empty()) {
            self.choose(&dependency.replace('-', "_"), chosen)?;
        }
        chosen.push(Module { name: name.to_owned(), content });
        Ok(())
    }
}

/// The kernel takes dashes and underscores in names of modules for the same.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = ENDINGS.iter().find_map(|(ending, _)| name.strip_suffix(ending))?;
    Some(stem.replace('-', "_"))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let name = path.to_string_lossy();
    let unpacker = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).and_then(|(_, unpacker)| *unpacker);
    let Some(unpacker) = unpacker else { return fs::read(path) };
    let output = Command::new(unpacker).arg("-dc").arg(path).stdin(Stdio::null()).output();
    let output = output.map_err(|cause| io::Error::new(cause.kind(), format!("cannot run {unpacker}: {cause}")))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("{unpacker}: {}", words.trim())));
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_files_whatever_their_packing() {
        let name = |file: &str| module_name(Path::new(file));
        assert_eq!(name("/x/tcp_bbr.ko"), Some("tcp_bbr".to_owned()));
        assert_eq!(name("/x/virtio-rng.ko.xz"), Some("virtio_rng".to_owned()));
        assert_eq!(name("/x/modules.dep"), None);
    }

    #[test]
    fn a_wanted_module_without_a_file_is_left_to_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let tree = ModuleTree::open(folder.path()).unwrap();
        assert_eq!(tree.in_load_order(&["tun"]).unwrap(), []);
    }

    #[test]
    fn a_file_that_is_no_module_is_told_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tun.ko"), "text").unwrap();
        let error = ModuleTree::open(folder.path()).unwrap().in_load_order(&["tun"]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("tun.ko") && text.contains("expected a 64-bit little-endian ELF file"), "{text}");
    }
}
