//! The way to a folder, on which no other user's symbolic link leads us to what is not theirs.

use super::error::{A_FOLDER, Error, Result, unfit_as};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, readlinkat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, mkdirat};
use nix::unistd::geteuid;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Component, Path, PathBuf};

/// For results, which a user has named and may want to share: the umask takes from it.
const RESULTS_MODE: Mode = Mode::from_bits_truncate(0o777);
/// For state that nobody has named: others need not write there, whatever the umask.
const STATE_MODE: Mode = Mode::from_bits_truncate(0o755);
/// As many as the kernel follows. They also bound how often others can make us look again.
const MOST_LINKS: u32 = 40;

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Opens one that exists.
    ///
    /// # Errors
    /// [`Error::Led`] and [`Error::Io`].
    pub fn open(path: &Path) -> Result<Folder> {
        walk(path, None)
    }

    /// Opens one for results, having made what is missing of it; its mode is up to the umask.
    ///
    /// # Errors
    /// [`Error::Led`] and [`Error::Io`].
    pub fn make(path: &Path) -> Result<Folder> {
        walk(path, Some(RESULTS_MODE))
    }

    /// Opens one for state, having made what is missing of it; of what is made, nobody else can write into it.
    ///
    /// # Errors
    /// [`Error::Led`] and [`Error::Io`].
    pub fn make_for_state(path: &Path) -> Result<Folder> {
        walk(path, Some(STATE_MODE))
    }

    /// Fails unless it is ours. For folders in which others than this module write, such as programs that we start.
    ///
    /// # Errors
    /// [`Error::Unfit`] and [`Error::Io`].
    pub fn require_ours(&self) -> Result<()> {
        let owner = fstat(&self.0).map_err(io::Error::from)?.st_uid;
        if owner == geteuid().as_raw() {
            return Ok(());
        }
        Err(unfit_as(format!("one of user {owner}"), A_FOLDER))
    }

    /// A path to it that nobody can lead elsewhere. It is of use to this process, and only while the folder is open.
    #[must_use]
    pub fn reach(&self) -> PathBuf {
        descriptor_path(self.0.as_raw_fd())
    }
}

/// Where the kernel shows what a descriptor of this process has open.
pub(super) fn descriptor_path(descriptor: RawFd) -> PathBuf {
    format!("/proc/self/fd/{descriptor}").into()
}

/// What is left of the way.
enum Step {
    Into(OsString),
    /// Here ends where a link of this user has led to.
    EndOfLink {
        link: OsString,
        owner: u32,
    },
}

/// The kernel follows links whoever made them, so we go step by step. With a mode, what is missing is made.
fn walk(path: &Path, mode: Option<Mode>) -> Result<Folder> {
    let mut here = start(path)?;
    let mut steps = Vec::new();
    push(&mut steps, path);
    let mut links = 0;
    while let Some(step) = steps.pop() {
        let name = match step {
            Step::Into(name) => name,
            Step::EndOfLink { link, owner } => {
                check_end(&here, &link, owner)?;
                continue;
            }
        };
        match (openat(&here, name.as_os_str(), folder_flags(), Mode::empty()), mode) {
            (Ok(next), _) => here = next,
            (Err(Errno::ENOENT), Some(mode)) if !is_led(&steps) && links < MOST_LINKS => {
                match mkdirat(&here, name.as_os_str(), mode) {
                    Ok(()) | Err(Errno::EEXIST) => {}
                    Err(errno) => return Err(io::Error::from(errno).into()),
                }
                links += 1;
                steps.push(Step::Into(name));
            }
            (Err(Errno::ENOTDIR | Errno::ELOOP), _) if links < MOST_LINKS => {
                links += 1;
                let (target, found) = read_link(&here, &name)?;
                if found.st_uid != 0 && found.st_uid != geteuid().as_raw() {
                    steps.push(Step::EndOfLink { link: name, owner: found.st_uid });
                }
                if target.is_absolute() {
                    here = start(&target)?;
                }
                push(&mut steps, &target);
            }
            (Err(errno), _) => return Err(io::Error::from(errno).into()),
        }
    }
    Ok(Folder(here))
}

/// Whether we are where another user's link has led us, which is no place to make anything before its end is known.
fn is_led(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::EndOfLink { .. }))
}

fn folder_flags() -> OFlag {
    OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

fn start(path: &Path) -> io::Result<OwnedFd> {
    let start = if path.is_absolute() { "/" } else { "." };
    Ok(open(start, folder_flags(), Mode::empty())?)
}

/// The last part first, as they are taken from the end.
fn push(steps: &mut Vec<Step>, path: &Path) {
    let names = path.components().rev().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    steps.extend(names.map(|part| Step::Into(part.as_os_str().to_owned())));
}

fn read_link(folder: &OwnedFd, name: &OsStr) -> io::Result<(PathBuf, FileStat)> {
    let link = openat(folder, name, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?;
    let found = fstat(&link)?;
    if SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFLNK {
        return Err(Errno::ENOTDIR.into());
    }
    Ok((readlinkat(&link, "")?.into(), found))
}

/// A user may lead us about in what is theirs, and nowhere else.
fn check_end(here: &OwnedFd, link: &OsStr, owner: u32) -> Result<()> {
    let found = fstat(here).map_err(io::Error::from)?.st_uid;
    if found == owner {
        return Ok(());
    }
    Err(Error::Led { link: link.display().to_string(), owner, found })
}
