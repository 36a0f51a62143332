//! A folder that others may write, what they have put there, and a victim that ccactl must not touch.

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const NOBODY: u32 = 65534;
/// Long enough for a busy machine; a command that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What somebody else may have put under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// A symbolic link to a file of root's.
    Link,
    /// One to a file that root has not made.
    Dangling,
    /// A second name of a file of theirs.
    HardLink,
    Fifo,
    File,
    Folder,
}

pub const OBSTACLES: [Obstacle; 6] =
    [Obstacle::Link, Obstacle::Dangling, Obstacle::HardLink, Obstacle::Fifo, Obstacle::File, Obstacle::Folder];

/// Whose folder it is, and who may write there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Root's, as /tmp.
    Sticky,
    /// Root's; anybody may remove and rename.
    Open,
    /// Somebody else's.
    Theirs,
}

pub const ACCESSES: [Access; 3] = [Access::Sticky, Access::Open, Access::Theirs];

/// What can be told of a name without following it; none where nothing stands.
#[derive(Debug, PartialEq, Eq)]
pub struct State(Option<Found>);

#[derive(Debug, PartialEq, Eq)]
struct Found {
    ino: u64,
    mode: u32,
    owner: u32,
    links: u64,
    /// Of a file.
    content: Vec<u8>,
    /// Of a symbolic link.
    target: Option<PathBuf>,
    /// In a folder.
    names: Vec<OsString>,
}

impl State {
    pub fn of(path: &Path) -> State {
        let Ok(found) = fs::symlink_metadata(path) else { return State(None) };
        let content = if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        let names = fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect();
        let target = fs::read_link(path).ok();
        let (ino, mode, owner, links) = (found.ino(), found.mode(), found.uid(), found.nlink());
        State(Some(Found { ino, mode, owner, links, content, target, names }))
    }
}

/// The folder of one attempt.
pub struct Room {
    folder: TempDir,
}

impl Room {
    pub fn new(access: Access) -> Room {
        let folder = TempDir::new().unwrap();
        let (mode, owner) = match access {
            Access::Sticky => (0o1777, 0),
            Access::Open => (0o777, 0),
            Access::Theirs => (0o755, NOBODY),
        };
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        chown(&out, Some(owner), Some(owner)).unwrap();
        fs::set_permissions(&out, Permissions::from_mode(mode)).unwrap();
        Room { folder }
    }

    /// In the folder that others may write.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    /// In a folder of root's alone.
    pub fn private(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn put(&self, obstacle: Obstacle, name: &str) {
        let (at, victim) = (self.path(name), self.private("victim"));
        if matches!(obstacle, Obstacle::Link | Obstacle::HardLink) {
            self.victim();
        }
        match obstacle {
            Obstacle::Link | Obstacle::Dangling => symlink(victim, &at).unwrap(),
            Obstacle::HardLink => fs::hard_link(victim, &at).unwrap(),
            Obstacle::Fifo => mkfifo(&at, Mode::from_bits_truncate(0o666)).unwrap(),
            Obstacle::File => fs::write(&at, "somebody's").unwrap(),
            Obstacle::Folder => fs::create_dir(&at).unwrap(),
        }
        lchown(&at, Some(NOBODY), Some(NOBODY)).unwrap();
        if obstacle == Obstacle::File {
            fs::set_permissions(&at, Permissions::from_mode(0o666)).unwrap();
        }
    }

    /// Makes a file that only root may read.
    pub fn victim(&self) -> PathBuf {
        let victim = self.private("victim");
        fs::write(&victim, "the victim's").unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
        victim
    }

    /// The victim and what stands under this name.
    pub fn states(&self, name: &str) -> [State; 2] {
        [State::of(&self.private("victim")), State::of(&self.path(name))]
    }

    /// Names in the folder, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Runs a command in the folder to its end, which comes.
#[track_caller]
pub fn end_of(command: &mut Command, room: &Room) -> Output {
    let mut child = command.current_dir(room.path("")).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    // What these commands print fits into a pipe, so they do not wait for us.
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= deadline {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{command:?} does not end");
        }
        sleep(Duration::from_millis(2));
    }
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    Output { status: child.wait().unwrap(), stdout, stderr }
}

/// What ccactl made is a file of its own, with the mode that the umask gives.
#[track_caller]
pub fn assert_ours(path: &Path) {
    let found = fs::symlink_metadata(path).unwrap();
    assert!(found.is_file() && found.uid() == 0 && found.nlink() == 1, "{found:?}");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap();
    let umask = u32::from_str_radix(umask.trim(), 8).unwrap();
    assert_eq!(found.mode() & 0o7777, 0o666 & !umask);
}
