//! Kernels for guests: Debian's, kept in the user's cache, or files of the user's.

mod apt;
mod cache;
mod image;
mod mirror;
mod request;

pub use cache::Cache;
pub use request::{BadRequest, Request, by_age};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The kernel where none is named: of Debian's stable release, with long support.
pub const DEFAULT: &str = "6.12";

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r` shows it.
    pub release: String,
    /// The image, a bzImage.
    pub image: PathBuf,
    /// Folder with `kernel/`, below which the modules are.
    pub modules: PathBuf,
    /// Its configuration, as text: libbpf reads from it what programs ask about the kernel, such as `CONFIG_HZ`.
    pub config: PathBuf,
    /// Where it comes from, for the results.
    pub origin: Origin,
}

/// What identifies a kernel to whoever wants to repeat an experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// SHA-256 of the image.
    pub image_sha256: String,
    /// Debian packages, none of the user's own files: name, version and SHA-256 of the file.
    pub packages: Vec<PackageId>,
}

/// A Debian package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageId {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// SHA-256 of its file.
    pub sha256: String,
}

impl Kernel {
    /// A kernel of the user's: its image, and a folder as `make modules_install` or a package has it.
    ///
    /// # Errors
    /// [`Error::Image`] and [`Error::Modules`].
    pub fn own(image: &Path, modules: &Path) -> Result<Kernel> {
        let release = image::release_of(image)?;
        let refused = |found: &str| {
            Err(Error::Modules { path: modules.to_owned(), release: release.clone(), found: found.to_owned() })
        };
        // The folder itself, or the root below which the modules are installed.
        let installed = modules.join("lib/modules").join(&release);
        let folder = if installed.is_dir() { installed } else { modules.to_owned() };
        if !folder.join("kernel").is_dir() {
            return refused("no folder kernel in it");
        }
        let beside = image.with_file_name(format!("config-{release}"));
        let candidates = [beside, folder.join("config"), PathBuf::from(format!("/boot/config-{release}"))];
        let Some(config) = candidates.iter().find(|path| path.is_file()).cloned() else {
            return Err(Error::NoConfig { release, looked: candidates.to_vec() });
        };
        let image_sha256 =
            sha256_of(image).map_err(|cause| Error::Image { path: image.to_owned(), found: cause.to_string() })?;
        let origin = Origin { image_sha256, packages: Vec::new() };
        Ok(Kernel { release, image: image.to_owned(), modules: folder, config, origin })
    }
}

/// SHA-256 of a file in hexadecimal digits.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 20];
    loop {
        let count = io::Read::read(&mut file, &mut block)?;
        if count == 0 {
            break;
        }
        hasher.update(&block[..count]);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_fips_180() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        // FIPS 180-4, the one-block example.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_of(&path).unwrap(), expected);
    }
}
