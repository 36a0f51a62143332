//! Algorithms from files, wherever a name may stand: a `.bpf.o` as it is, a `.bpf.c` compiled with the headers that this
//! program carries.

use crate::error::{Error, Result};
use ccactl_abi::compile::{run_clang, strip};
use ccactl_abi::objects::unpack_headers;
use ccactl_abi::{Algorithm, about};
use ccactl_host::input;
use ccactl_host::output::{self, Folder, Replace};
use siphasher::sip::SipHasher13;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::hash::Hasher;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SOURCE: &str = ".bpf.c";
pub(crate) const OBJECT: &str = ".bpf.o";
/// The largest of ours has 110 kB.
const MAX_OBJECT_BYTES: u64 = 4 << 20;
/// A command asks several times for its file; within this time the answer is the same.
const SAME_QUESTION: Duration = Duration::from_millis(300);
/// Compiled files that are kept; the oldest go first.
const KEPT: usize = 64;

/// Whether this is a file and not the name of an algorithm.
#[must_use]
pub fn is_file(algorithm: &str) -> bool {
    algorithm.ends_with(SOURCE) || algorithm.ends_with(OBJECT)
}

/// The algorithm of a file.
///
/// # Errors
/// [`Error::NoClang`], [`Error::Compile`], [`Error::NotAnAlgorithm`], or a file that cannot be read.
pub(crate) fn algorithm(path: &Path) -> Result<&'static Algorithm> {
    static LATEST: Mutex<Option<Answer>> = Mutex::new(None);
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    // Before it is read: what is written meanwhile makes the answer an old one.
    let version = Version::of(path)?;
    if let Some(answer) = &*latest
        && answer.version == version
        && answer.at.elapsed() < SAME_QUESTION
    {
        return Ok(answer.algorithm);
    }
    let algorithm = read(path)?;
    *latest = Some(Answer { version, at: Instant::now(), algorithm });
    Ok(algorithm)
}

struct Answer {
    version: Version,
    at: Instant,
    algorithm: &'static Algorithm,
}

/// A file as it was at some moment. Headers of its own may change unseen.
#[derive(PartialEq, Eq)]
struct Version {
    path: PathBuf,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Version {
    fn of(path: &Path) -> Result<Self> {
        let found = fs::metadata(path).map_err(|source| Error::NoFile { path: path.to_owned(), source })?;
        let modified = (found.mtime(), found.mtime_nsec());
        Ok(Self { path: path.to_owned(), inode: found.ino(), bytes: found.len(), modified })
    }
}

fn read(path: &Path) -> Result<&'static Algorithm> {
    let is_source = path.as_os_str().to_string_lossy().ends_with(SOURCE);
    let elf = if is_source {
        compiled(path)?
    } else {
        input::read(path, MAX_OBJECT_BYTES).map_err(|source| Error::NoFile { path: path.to_owned(), source })?
    };
    let algorithm =
        Algorithm::of_object(elf).map_err(|cause| Error::NotAnAlgorithm { path: path.to_owned(), cause })?;
    if is_source {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        SOURCES.lock().unwrap_or_else(PoisonError::into_inner).insert(algorithm.hash(), path);
    }
    Ok(algorithm)
}

/// C files that this process has read, by the hash of their code.
static SOURCES: Mutex<BTreeMap<u64, PathBuf>> = Mutex::new(BTreeMap::new());

/// The C file that this process has read an algorithm from; none of a built-in one, and of one that came as an object.
#[must_use]
pub fn source_of(algorithm: &Algorithm) -> Option<PathBuf> {
    SOURCES.lock().unwrap_or_else(PoisonError::into_inner).get(&algorithm.hash()).cloned()
}

/// From the cache, if the text that the compiler would see is the same.
fn compiled(source: &Path) -> Result<Vec<u8>> {
    let room = Error::io("cannot make a folder for the compiler");
    let room = tempfile::tempdir().map_err(room)?;
    let headers = unpack_headers(room.path()).map_err(Error::io("cannot write the headers for the compiler"))?;
    let run = |mode: &[&str], output: &Path| {
        let said = run_clang(mode, source, &[&headers], output).map_err(|source| Error::NoClang { source })?;
        if said.status.success() {
            Ok(said)
        } else {
            Err(Error::Compile { path: source.to_owned(), said: text(&said) })
        }
    };
    let (seen, object) = (room.path().join("seen.c"), room.path().join("made.bpf.o"));
    // Without the names of files, as those of the headers are new each time.
    run(&["-E", "-P"], &seen)?;
    let seen = fs::read(&seen).map_err(Error::io("cannot read what the preprocessor made"))?;
    let cache = cache_folder().map(|folder| folder.join(format!("{:016x}{OBJECT}", key(source, &seen))));
    if let Some(elf) = cache.as_deref().and_then(|cached| input::read(cached, MAX_OBJECT_BYTES).ok()) {
        return Ok(elf);
    }
    let said = run(&["-c"], &object)?;
    if !said.stderr.is_empty() {
        tracing::warn!("{}", text(&said));
    }
    strip(&object);
    let elf = fs::read(&object).map_err(Error::io("cannot read what the compiler made"))?;
    if let Some(cached) = cache
        && let Err(error) = keep(&cached, &elf)
    {
        tracing::debug!("{} is not kept: {error}", cached.display());
    }
    Ok(elf)
}

fn text(said: &Output) -> String {
    String::from_utf8_lossy(&said.stderr).trim_end().to_owned()
}

/// The source's own name is in the object, for messages about its lines.
fn key(source: &Path, seen: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write_u32(about::CONTRACT);
    hasher.write(source.as_os_str().as_encoded_bytes());
    hasher.write(ccactl_abi::compile::clang().as_encoded_bytes());
    hasher.write(seen);
    hasher.finish()
}

/// `ccactl/objects` of the user's cache (XDG Base Directory Specification).
fn cache_folder() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
    Some(cache.join("ccactl/objects"))
}

fn keep(cached: &Path, elf: &[u8]) -> output::Result<()> {
    let folder = cached.parent().expect("a file in the cache is in a folder");
    Folder::make_for_state(folder)?.require_ours()?;
    output::write(cached, elf, Replace::Ours)?;
    let mut files: Vec<_> = fs::read_dir(folder)?
        .flatten()
        .filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())))
        .collect();
    files.sort();
    let surplus = files.len().saturating_sub(KEPT);
    files.drain(..surplus).for_each(|(_, path)| drop(fs::remove_file(path)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENO: &str = include_str!("../../../bpf/cc/reno.bpf.c");

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.bpf.c");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn mine() -> String {
        RENO.replace("CC_ALGORITHM(\"reno\"", "CC_ALGORITHM(\"mine\"").replace("\"bpf_reno\"", "\"mine\"")
    }

    #[test]
    fn a_source_outside_of_the_tree_is_compiled_and_says_what_it_is() {
        let (_folder, path) = file(&mine());
        let algorithm = algorithm(&path).unwrap();
        assert_eq!((algorithm.name, algorithm.kernel_name), ("mine", "mine"));
        assert!(!algorithm.is_built_in());
        assert_eq!(source_of(algorithm), Some(path.clone()));
        assert!(std::ptr::eq(algorithm, super::algorithm(&path).unwrap()), "the same code is one algorithm");
    }

    #[test]
    fn errors_are_those_of_clang_with_the_users_path() {
        let (_folder, path) = file(&mine().replace("return tcp_reno_ssthresh(sk);", "return tcp_reno_ssthresh(sk)"));
        let error = algorithm(&path).unwrap_err().to_string();
        assert!(error.contains("mine.bpf.c:") && error.contains("error: expected ';'"), "{error}");
    }
}
