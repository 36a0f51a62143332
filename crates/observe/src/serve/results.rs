//! Results to browse: benches, suites, scorecards, canaries and pages below the folders that were named.

use super::error::{Error, Result};
use nix::dir::{Dir, Type};
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::Mode;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Levels below a folder, names that are looked at in it, results that are listed of it.
const DEPTH: usize = 4;
const NAMES: usize = 20_000;
const LISTED: usize = 500;
/// Of a file: the pages of reports have their bound at 5 MB, suites have more.
const MOST_BYTES: u64 = 64 << 20;

/// A folder, opened once: nothing outside of it is ever read.
pub struct Root {
    folder: OwnedFd,
    path: PathBuf,
}

/// What there is to see in a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Found {
    /// `bench`, `suite`, `score`, `canary` or `page`.
    kind: &'static str,
    /// Number of the folder, and the way from there.
    name: String,
    /// The page, if it has one.
    page: Option<String>,
    /// The figures.
    figures: Option<String>,
    /// When it was written, Unix time.
    written_s: f64,
}

/// All of a folder, the latest first.
#[derive(Debug, Default, Serialize)]
pub struct Listing {
    /// As the user named it.
    folder: String,
    found: Vec<Found>,
    /// There is more than was looked at or is listed.
    is_cut: bool,
    /// Why there is nothing.
    problem: Option<String>,
}

impl Root {
    /// # Errors
    /// [`Error::Results`].
    pub fn open(path: &Path) -> Result<Root> {
        let flags = OFlag::O_DIRECTORY | OFlag::O_CLOEXEC | OFlag::O_RDONLY;
        let folder = nix::fcntl::open(path, flags, Mode::empty())
            .map_err(|cause| Error::Results { path: path.to_owned(), cause: cause.into() })?;
        Ok(Root { folder, path: path.to_owned() })
    }

    /// Reads a file below it. Neither `..` nor a link leads anywhere.
    ///
    /// # Errors
    /// What the system says, and a file that is none or too large.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = File::from(self.open_below(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK)?);
        let found = file.metadata()?;
        if !found.is_file() || found.len() > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a file of at most 64 MiB"));
        }
        let mut bytes = Vec::with_capacity(found.len() as usize);
        file.take(MOST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn open_below(&self, path: &Path, flags: OFlag) -> io::Result<OwnedFd> {
        let how = OpenHow::new()
            .flags(flags | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
        Ok(openat2(self.folder.as_fd(), path, how)?)
    }

    /// What there is. Files that come or go meanwhile are there or not.
    #[must_use]
    pub fn list(&self) -> Listing {
        let mut listing = Listing { folder: self.path.display().to_string(), ..Listing::default() };
        let mut names = NAMES;
        if let Err(problem) = self.search(Path::new("."), DEPTH, &mut names, &mut listing) {
            listing.problem = Some(problem.to_string());
        }
        listing.found.sort_by(|a, b| b.written_s.total_cmp(&a.written_s));
        listing.is_cut |= listing.found.len() > LISTED || names == 0;
        listing.found.truncate(LISTED);
        listing
    }

    fn search(&self, here: &Path, depth: usize, names: &mut usize, listing: &mut Listing) -> io::Result<()> {
        let mut folder = Dir::from_fd(self.open_below(here, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?)?;
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in folder.iter() {
            let entry = entry?;
            // A name that is no text cannot be asked for either.
            let Ok(name) = entry.file_name().to_str() else { continue };
            if name.starts_with('.') {
                continue;
            }
            if *names == 0 {
                listing.is_cut = true;
                break;
            }
            *names -= 1;
            match entry.file_type() {
                Some(Type::Directory) => folders.push(name.to_owned()),
                Some(Type::File) => files.push(name.to_owned()),
                _ => {}
            }
        }
        listing.found.extend(self.results(here, &files));
        if depth == 0 {
            listing.is_cut |= !folders.is_empty();
            return Ok(());
        }
        folders.sort();
        for name in folders {
            // One that went away, or that is not for us, hides no other.
            let _ = self.search(&here.join(name), depth - 1, names, listing);
        }
        Ok(())
    }

    /// What the files of one folder are.
    fn results(&self, here: &Path, files: &[String]) -> Vec<Found> {
        let way = |name: &str| {
            here.join(name).strip_prefix(".").map_or_else(|_| name.to_owned(), |way| way.display().to_string())
        };
        let has = |name: &str| files.iter().any(|file| file == name).then(|| way(name));
        let written_s = |figures: &str| -> Option<f64> {
            let file = File::from(self.open_below(Path::new(figures), OFlag::O_RDONLY | OFlag::O_NONBLOCK).ok()?);
            Some(file.metadata().ok()?.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
        };
        let found = |kind, name: String, page: Option<String>, figures: Option<String>| {
            let written_s = written_s(figures.as_deref().or(page.as_deref())?)?;
            Some(Found { kind, name, page, figures, written_s })
        };
        let of_folder = [
            ("bench", "report.html", "result.json"),
            ("suite", "suite.html", "suite.json"),
            ("score", "score.html", "score.json"),
        ];
        let mut all = Vec::new();
        for (kind, page, figures) in of_folder {
            if let Some(figures) = has(figures) {
                all.extend(found(kind, way(""), has(page), Some(figures)));
            }
        }
        let known = |name: &str| of_folder.iter().any(|(_, page, figures)| name == *page || name == *figures);
        for name in files.iter().filter(|name| !known(name)) {
            // A decision has its recording beside it, by the same name.
            if let Some(stem) =
                name.strip_suffix(".json").filter(|stem| files.iter().any(|file| *file == format!("{stem}.parquet")))
            {
                all.extend(found("canary", way(stem), None, Some(way(name))));
            } else if let Some(stem) = name.strip_suffix(".html") {
                all.extend(found("page", way(stem), Some(way(name)), None));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn results_are_found_and_nothing_outside_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let below = |name: &str| folder.path().join("results").join(name);
        fs::create_dir_all(below("suite/cell-1")).unwrap();
        for name in [
            "suite/suite.json",
            "suite/suite.html",
            "suite/cell-1/result.json",
            "a-1.json",
            "a-1.parquet",
            "other.json",
            "x.html",
        ] {
            fs::write(below(name), "{}").unwrap();
        }
        fs::write(folder.path().join("secret.html"), "secret").unwrap();
        symlink(folder.path().join("secret.html"), below("link.html")).unwrap();
        symlink(folder.path(), below("up")).unwrap();
        let root = Root::open(&below("")).unwrap();
        let listing = root.list();
        let mut found: Vec<_> = listing.found.iter().map(|found| (found.kind, found.name.as_str())).collect();
        found.sort_unstable();
        assert_eq!(found, [("bench", "suite/cell-1"), ("canary", "a-1"), ("page", "x"), ("suite", "suite")]);
        assert!(!listing.is_cut && listing.problem.is_none());
        assert_eq!(root.read(Path::new("x.html")).unwrap(), b"{}");
        for outside in ["../secret.html", "link.html", "up/secret.html", "/etc/hostname", "suite", "none"] {
            assert!(root.read(Path::new(outside)).is_err(), "{outside}");
        }
        let error = Root::open(Path::new("/none")).err().unwrap().to_string();
        assert!(error.starts_with("--results /none: expected a folder"), "{error}");
    }
}
