//! Kernels of Debian's archive in the user's cache: `kernels/RELEASE/{vmlinuz, config, modules/kernel/, kernel.json}`.

use super::apt::{Apt, Package, output_of};
use super::mirror::Mirror;
use super::{Kernel, Origin, PackageId, Request, by_age, image, sha256_of};
use crate::error::{Error, Result};
use crate::space;
use ccactl_host::lock::{FolderLock, Share};
use ccactl_host::output::Folder;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A folder of the cache holds this much while a kernel is unpacked into it, rounded up: packages and content.
const SPACE_FOR_A_KERNEL: u64 = 256 << 20;
/// For another process that brings a kernel: lists and packages are 150 MB.
const PATIENCE: Duration = Duration::from_secs(1800);
const IMAGE: &str = "vmlinuz";
const CONFIG: &str = "config";
const MODULES: &str = "modules";
const ORIGIN: &str = "kernel.json";

/// The cache.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// `CCACTL_CACHE`, or `ccactl` in the user's cache folder.
    ///
    /// # Errors
    /// [`Error::Cache`] for a user without a home.
    pub fn of_user() -> Result<Cache> {
        let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let found = folder("CCACTL_CACHE")
            .or_else(|| folder("XDG_CACHE_HOME").map(|path| path.join("ccactl")))
            .or_else(|| folder("HOME").map(|path| path.join(".cache/ccactl")));
        let none = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                "neither CCACTL_CACHE nor XDG_CACHE_HOME nor HOME is an absolute path",
            )
        };
        found.map(Cache::at).ok_or_else(|| Error::Cache { path: "ccactl".into(), cause: none() })
    }

    /// A cache in this folder, which need not exist.
    #[must_use]
    pub fn at(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    /// Releases that are there, the oldest first.
    #[must_use]
    pub fn releases(&self) -> Vec<String> {
        let entries = fs::read_dir(self.kernels()).into_iter().flatten().flatten();
        let names = entries.filter(|entry| entry.path().join(ORIGIN).is_file());
        let mut releases: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        releases.sort_by(|a, b| by_age(a, b));
        releases
    }

    /// The newest kernel that a request names: from the cache where it has one, else from the archive. `newest` always asks the
    /// archive. `tell` gets a line where something is downloaded.
    ///
    /// # Errors
    /// [`Error::NoKernel`], [`Error::Apt`], [`Error::NoSpace`], [`Error::Cache`], [`Error::Checksum`].
    pub fn kernel(&self, request: &Request, tell: &mut dyn FnMut(&str)) -> Result<Kernel> {
        let cached = self.releases();
        let is_newest = *request == Request::Newest;
        let release = match request.choose(cached.iter().map(String::as_str)).filter(|_| !is_newest) {
            Some(release) => release.to_owned(),
            None => self.fetch(request, is_newest, tell)?,
        };
        self.open(&release)
    }

    fn kernels(&self) -> PathBuf {
        self.folder.join("kernels")
    }

    /// Opens what is there, having compared the image with its checksum.
    fn open(&self, release: &str) -> Result<Kernel> {
        let folder = self.kernels().join(release);
        let path = folder.join(ORIGIN);
        let text = fs::read_to_string(&path).map_err(Error::cache(&path))?;
        let origin: Origin = serde_json::from_str(&text).map_err(|error| Error::cache(&path)(error.into()))?;
        let image = folder.join(IMAGE);
        let found = sha256_of(&image).map_err(Error::cache(&image))?;
        if found != origin.image_sha256 {
            return Err(Error::Checksum { path: image, folder, expected: origin.image_sha256, found });
        }
        let (modules, config) = (folder.join(MODULES), folder.join(CONFIG));
        Ok(Kernel { release: release.to_owned(), image, modules, config, origin })
    }

    /// Brings the newest release that a request names into the cache.
    fn fetch(&self, request: &Request, is_newest: bool, tell: &mut dyn FnMut(&str)) -> Result<String> {
        let kernels = self.kernels();
        // Apt writes under names that anybody knows.
        for folder in [&self.folder, &kernels] {
            let made = Folder::make_for_state(folder).and_then(|folder| folder.require_ours());
            made.map_err(|error| Error::cache(folder)(error.into()))?;
        }
        space::require(&kernels, SPACE_FOR_A_KERNEL, "CCACTL_CACHE")?;
        // Two of them would write each other's lists; and who has waited may find what it came for.
        let _alone = FolderLock::wait_within(&kernels, Share::Alone, PATIENCE)?;
        let apt = Apt::prepare(self.folder.join("apt"), &Mirror::of_host(Path::new("/etc/apt")))?;
        let available = apt.releases(is_newest)?;
        let release =
            request.choose(available.iter().map(String::as_str)).ok_or_else(|| no_kernel(request, &available))?;
        if kernels.join(release).join(ORIGIN).is_file() {
            return Ok(release.to_owned());
        }
        tell(&format!("downloading Linux {release} from Debian's archive"));
        // A folder of its own, since a killed process leaves what it had unpacked.
        let scratch = tempfile::tempdir_in(&kernels).map_err(Error::cache(&kernels))?;
        let packages = apt.download(release, scratch.path())?;
        let made = unpack(release, &packages, scratch.path())?;
        let place = kernels.join(release);
        match fs::rename(&made, &place) {
            Err(cause) if !place.join(ORIGIN).is_file() => Err(Error::Cache { path: place, cause }),
            _ => Ok(release.to_owned()),
        }
    }
}

/// Makes the folder of a kernel from its packages, inside `scratch`.
fn unpack(release: &str, packages: &[Package], scratch: &Path) -> Result<PathBuf> {
    let (root, made) = (scratch.join("root"), scratch.join("kernel"));
    for package in packages {
        output_of(Command::new("dpkg-deb").arg("--extract").args([&package.file, &root]))?;
    }
    fs::create_dir(&made).map_err(Error::cache(&made))?;
    // Up to 6.18 image and configuration are in /boot, from then on beside the modules.
    let modules = root.join("usr/lib/modules").join(release);
    let modules = if modules.is_dir() { modules } else { root.join("lib/modules").join(release) };
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let file = |name: &str| {
        let candidates = [root.join(format!("boot/{name}-{release}")), modules.join(name)];
        candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| Error::Apt {
            command: format!("dpkg-deb --extract {}", names.join(" ")),
            found: format!("no file {name} of Linux {release}"),
        })
    };
    let (image, config) = (file(IMAGE)?, file(CONFIG)?);
    let found = image::release_of(&image)?;
    if found != release {
        return Err(Error::Image { path: image, found: format!("one of Linux {found}, not of {release}") });
    }
    let origin = Origin {
        image_sha256: sha256_of(&image).map_err(Error::cache(&image))?,
        packages: packages.iter().map(identity).collect(),
    };
    let moved = made.join(MODULES);
    fs::create_dir(&moved).map_err(Error::cache(&moved))?;
    let moves =
        [(image, made.join(IMAGE)), (config, made.join(CONFIG)), (modules.join("kernel"), moved.join("kernel"))];
    for (from, to) in moves {
        fs::rename(&from, to).map_err(Error::cache(from))?;
    }
    // Last: a folder counts once this file is there.
    let text = serde_json::to_string_pretty(&origin).expect("strings are JSON");
    fs::write(made.join(ORIGIN), text).map_err(Error::cache(made.join(ORIGIN)))?;
    Ok(made)
}

fn identity(package: &Package) -> PackageId {
    let Package { name, version, sha256, .. } = package.clone();
    PackageId { name, version, sha256 }
}

fn no_kernel(request: &Request, available: &[String]) -> Error {
    let short = |release: &String| release.split(['-', '+']).next().unwrap_or_default().to_owned();
    let mut versions: Vec<String> = available.iter().map(short).collect();
    versions.sort_by(|a, b| by_age(a, b));
    versions.dedup();
    Error::NoKernel { asked: request.to_string(), found: versions.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_kernel(release: &str, image: &[u8]) -> (tempfile::TempDir, Cache) {
        let home = tempfile::tempdir().unwrap();
        let cache = Cache::at(home.path().to_owned());
        let folder = cache.kernels().join(release);
        fs::create_dir_all(folder.join("modules/kernel")).unwrap();
        fs::write(folder.join(IMAGE), image).unwrap();
        let origin = Origin { image_sha256: sha256_of(&folder.join(IMAGE)).unwrap(), packages: Vec::new() };
        fs::write(folder.join(ORIGIN), serde_json::to_string(&origin).unwrap()).unwrap();
        (home, cache)
    }

    #[test]
    fn a_kernel_of_the_cache_needs_no_archive() {
        let (_home, cache) = with_kernel("6.1.0-50-cloud-amd64", b"image");
        let mut told = Vec::new();
        let kernel = cache.kernel(&"6.1".parse().unwrap(), &mut |line| told.push(line.to_owned())).unwrap();
        assert_eq!((kernel.release.as_str(), told.len()), ("6.1.0-50-cloud-amd64", 0));
        assert!(kernel.modules.join("kernel").is_dir());
    }

    #[test]
    fn a_changed_image_is_refused_with_the_remedy() {
        let (_home, cache) = with_kernel("6.1.0-50-cloud-amd64", b"image");
        let folder = cache.kernels().join("6.1.0-50-cloud-amd64");
        fs::write(folder.join(IMAGE), "imago").unwrap();
        let error = cache.kernel(&"6.1".parse().unwrap(), &mut |_| {}).unwrap_err();
        let remedy = format!("remove {} and it is downloaded again", folder.display());
        assert!(error.to_string().contains(&remedy), "{error}");
    }

    #[test]
    fn a_folder_without_its_origin_is_not_a_kernel() {
        let (_home, cache) = with_kernel("6.1.0-50-cloud-amd64", b"image");
        fs::remove_file(cache.kernels().join("6.1.0-50-cloud-amd64").join(ORIGIN)).unwrap();
        assert_eq!(cache.releases(), Vec::<String>::new());
    }

    #[test]
    fn a_version_that_the_archive_has_not_is_told_with_those_that_it_has() {
        let available = ["6.12.90+deb12-cloud-amd64".to_owned(), "6.1.0-50-cloud-amd64".to_owned()];
        let error = no_kernel(&"5.10".parse().unwrap(), &available);
        assert!(error.to_string().ends_with("which has 6.1.0, 6.12.90"), "{error}");
    }
}
