//! The cgroup2 hierarchy: where it is mounted, and which directory a user means.

use crate::error::{Error, Result};
use nix::errno::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Inode number of the root of the hierarchy. Any other root of a mount is that of a part.
const ROOT_ID: u64 = 1;
/// `NAME_MAX` of include/uapi/linux/limits.h. A longer name is merely "not found" on a cgroup file system.
const NAME_MAX: usize = 255;
/// `FILEID_KERNFS` of include/linux/exportfs.h: the handle of a cgroup is its id.
const FILEID_KERNFS: libc::c_int = 0xfe;

/// The cgroup2 mount of this host. Hybrid hierarchies have it beside those of cgroup1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    path: PathBuf,
    v1: Vec<PathBuf>,
    is_whole: bool,
}

/// What the kernel says of a cgroup id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// It exists, here.
    At(PathBuf),
    /// It exists, outside of what this mount shows.
    OutOfSight,
    /// It was removed; sockets may still keep it in memory.
    Removed,
    /// The kernel does not say: no right to ask, or no answer for this file system.
    Unknown,
}

impl Life {
    /// Its directory, where that is known.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::At(path) => Some(path),
            Self::OutOfSight | Self::Removed | Self::Unknown => None,
        }
    }
}

impl Mount {
    /// Finds the mount in a table in the format of `/proc/mounts`.
    ///
    /// # Errors
    /// [`Error::NoCgroup2`] when there is none, or the table cannot be read.
    pub fn find(mounts: &Path) -> Result<Self> {
        let table = fs::read(mounts).map_err(Error::io(format!("cannot read {}", mounts.display())))?;
        Self::parse(&table, is_whole).ok_or_else(|| Error::NoCgroup2 { mounts: mounts.to_owned() })
    }

    /// Where cgroup2 usually is, for those who only look at a file.
    #[must_use]
    pub fn usual() -> Self {
        Self { path: "/sys/fs/cgroup".into(), v1: Vec::new(), is_whole: true }
    }

    /// The first mount that `is_whole`, or else the first.
    fn parse(table: &[u8], is_whole: impl Fn(&Path) -> bool) -> Option<Self> {
        let mut v2 = Vec::new();
        let mut v1 = Vec::new();
        for line in table.split(|&b| b == b'\n') {
            let mut fields = line.split(|&b| b == b' ');
            let (Some(_), Some(point), Some(kind)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            match kind {
                b"cgroup2" => v2.push(unescape(point)),
                b"cgroup" => v1.push(unescape(point)),
                _ => {}
            }
        }
        let whole = v2.iter().position(|path| is_whole(path));
        let path = v2.into_iter().nth(whole.unwrap_or(0))?;
        Some(Self { path, v1, is_whole: whole.is_some() })
    }

    /// Fails where the mount shows only a part of the hierarchy. There neither the path nor the depth of a cgroup is
    /// what the kernel takes it for.
    pub(crate) fn require_whole(&self) -> Result<()> {
        if self.is_whole { Ok(()) } else { Err(Error::CgroupPart { v2: self.path.clone() }) }
    }

    /// The mount point.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that the user means, whether or not it exists: `given` is relative to the mount, or absolute
    /// below it.
    ///
    /// # Errors
    /// A path on cgroup1, the root, one that leaves the mount, or a name that is too long.
    pub fn locate(&self, given: &Path) -> Result<PathBuf> {
        if let Some(v1) = self.v1.iter().find(|v1| given.starts_with(v1) && !given.starts_with(&self.path)) {
            return Err(Error::CgroupOnV1 { path: given.to_owned(), v1: v1.clone(), v2: self.path.clone() });
        }
        let elsewhere = || Error::CgroupElsewhere { path: given.to_owned(), v2: self.path.clone() };
        let relative = match given.strip_prefix(&self.path) {
            Ok(relative) => relative,
            // Nobody has a cgroup of that name: it is a path below another mount.
            Err(_) if given.starts_with("/sys/fs/cgroup") => return Err(elsewhere()),
            Err(_) => given,
        };
        let mut path = self.path.clone();
        for component in relative.components() {
            match component {
                Component::Normal(name) if name.len() > NAME_MAX => {
                    let length = name.len();
                    return Err(Error::CgroupName { length, name: name.to_string_lossy().into_owned() });
                }
                Component::Normal(name) => path.push(name),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => return Err(elsewhere()),
            }
        }
        if path == self.path {
            return Err(Error::CgroupIsRoot { v2: self.path.clone() });
        }
        Ok(path)
    }

    /// The existing cgroup that the user means.
    ///
    /// # Errors
    /// Those of [`Mount::locate`], and a missing cgroup.
    pub fn resolve(&self, given: &Path) -> Result<PathBuf> {
        let path = self.locate(given)?;
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Error::CgroupMissing { path, can_create: false });
            }
            Err(error) => return Err(Error::io(format!("cannot look at the cgroup {}", path.display()))(error)),
            Ok(_) => {}
        }
        if !path.join("cgroup.procs").exists() {
            return Err(Error::NotACgroup { path });
        }
        Ok(path)
    }

    /// Makes the cgroup and its missing ancestors; returns its path and what was made, outermost first.
    ///
    /// # Errors
    /// Those of [`Mount::locate`], and a directory that cannot be made; what was made before that is removed again.
    pub fn create(&self, given: &Path) -> Result<(PathBuf, Vec<PathBuf>)> {
        let path = self.locate(given)?;
        let missing: Vec<PathBuf> =
            path.ancestors().take_while(|ancestor| !ancestor.exists()).map(Path::to_owned).collect();
        let mut made = Vec::new();
        for folder in missing.into_iter().rev() {
            if let Err(source) = fs::create_dir(&folder) {
                remove_made(&made);
                return Err(Error::Io { what: format!("cannot make the cgroup {}", folder.display()), source });
            }
            made.push(folder);
        }
        Ok((self.resolve(&path)?, made))
    }

    /// How deep a cgroup lies below the mount: 1 for `/bench`.
    #[must_use]
    pub fn level(&self, path: &Path) -> u32 {
        let depth = path.strip_prefix(&self.path).map_or(0, |relative| relative.components().count());
        u32::try_from(depth).unwrap_or(u32::MAX)
    }

    /// The cgroup as the user writes it: `/bench`. A name that is not UTF-8 is `bytes:` and an escaped form from which it
    /// can be made again ([`ccactl_host::name`]).
    #[must_use]
    pub fn display(&self, path: &Path) -> String {
        let shown = path.strip_prefix(&self.path).map_or_else(|_| path.to_owned(), |below| Path::new("/").join(below));
        ccactl_host::name::of_path(&shown).into_owned()
    }

    /// Whether the cgroup with this id exists, and where.
    #[must_use]
    pub fn life(&self, id: u64) -> Life {
        self.lives(&[id]).pop().map_or(Life::Unknown, |(_, life)| life)
    }

    /// The same of several, in their order: asked of the kernel, whatever this process can see. Who may not ask looks for
    /// them in the mount; what is not found there may exist all the same.
    #[must_use]
    pub fn lives(&self, ids: &[u64]) -> Vec<(u64, Life)> {
        let mount = File::open(&self.path);
        let ask = |id: u64| mount.as_ref().map_or(Life::Unknown, |mount| self.ask(mount, id));
        let mut lives: Vec<(u64, Life)> = ids.iter().map(|id| (*id, ask(*id))).collect();
        let unknown: HashSet<u64> =
            lives.iter().filter(|(_, life)| *life == Life::Unknown).map(|(id, _)| *id).collect();
        let mut found = self.walk(&unknown);
        for (id, life) in &mut lives {
            if let Some(path) = found.remove(id) {
                *life = Life::At(path);
            }
        }
        lives
    }

    fn ask(&self, mount: &File, id: u64) -> Life {
        match open_by_id(mount, id) {
            Ok(cgroup) => {
                let path = fs::read_link(format!("/proc/self/fd/{}", cgroup.as_raw_fd())).unwrap_or_default();
                // Outside of the mount the path is that of something else.
                let is_it = path.starts_with(&self.path) && self::id(&path).is_ok_and(|found| found == id);
                if is_it { Life::At(path) } else { Life::OutOfSight }
            }
            Err(Errno::ESTALE) => Life::Removed,
            Err(errno) => {
                tracing::debug!("cgroup {id}: {errno}");
                Life::Unknown
            }
        }
    }

    /// Paths of all cgroups with one of these ids.
    #[must_use]
    pub fn find_ids(&self, ids: &[u64]) -> Vec<(u64, PathBuf)> {
        self.lives(ids).into_iter().filter_map(|(id, life)| Some((id, life.path()?.to_owned()))).collect()
    }

    /// Those of these cgroups that the mount shows.
    fn walk(&self, ids: &HashSet<u64>) -> HashMap<u64, PathBuf> {
        let mut found = HashMap::new();
        let mut pending = vec![self.path.clone()];
        while let Some(folder) = pending.pop() {
            if found.len() == ids.len() {
                break;
            }
            // A cgroup may vanish while we walk.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    continue;
                }
                let path = entry.path();
                if let Some(id) = id(&path).ok().filter(|id| ids.contains(id)) {
                    found.insert(id, path.clone());
                }
                pending.push(path);
            }
        }
        found
    }
}

/// The kernel's id of a cgroup: the inode number of its directory (on 64-bit kernels).
///
/// # Errors
/// When the directory cannot be looked at.
pub fn id(path: &Path) -> Result<u64> {
    let meta = fs::metadata(path).map_err(Error::io(format!("cannot look at the cgroup {}", path.display())))?;
    Ok(meta.ino())
}

/// Opens a cgroup by its id, as `open_by_handle_at` knows it; `ESTALE` when it was removed.
fn open_by_id(mount: &File, id: u64) -> nix::Result<OwnedFd> {
    /// `struct file_handle` with room for an id.
    #[repr(C)]
    struct Handle {
        bytes: libc::c_uint,
        kind: libc::c_int,
        id: [u8; 8],
    }
    let mut handle = Handle { bytes: 8, kind: FILEID_KERNFS, id: id.to_ne_bytes() };
    // SAFETY: the handle has the layout of `struct file_handle` with the number of bytes that it says.
    let fd =
        unsafe { libc::open_by_handle_at(mount.as_raw_fd(), (&raw mut handle).cast(), libc::O_PATH | libc::O_CLOEXEC) };
    // SAFETY: the call gives a descriptor that nobody else has.
    Errno::result(fd).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// One that cannot be looked at is not found to be a part; nothing in it is found either.
fn is_whole(mount: &Path) -> bool {
    id(mount).map_or(true, |id| id == ROOT_ID)
}

/// Processes of a cgroup and of its descendants.
pub(crate) fn processes(path: &Path) -> Vec<u32> {
    let members = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    let mut found: Vec<u32> = members.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    // A cgroup may vanish while we walk.
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(processes(&entry.path()));
        }
    }
    found
}

/// Takes back what [`Mount::create`] made, innermost first; a cgroup in use stays.
pub(crate) fn remove_made(made: &[PathBuf]) {
    for folder in made.iter().rev() {
        if let Err(error) = fs::remove_dir(folder) {
            tracing::warn!("cannot remove the cgroup {}: {error}", folder.display());
        }
    }
}

/// `/proc/mounts` writes space, tab, newline and backslash as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|b| (b'0'..=b'7').contains(b)));
        match octal {
            Some(digits) => {
                out.push(digits.iter().fold(0_u8, |value, digit| value.wrapping_mul(8) + (digit - b'0')));
                rest = &tail[3..];
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &[u8] = b"tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
        cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
        cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
    const UNIFIED: &[u8] = b"cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";

    fn hybrid() -> Mount {
        Mount::parse(HYBRID, |_| true).unwrap()
    }

    #[test]
    fn the_mount_is_found_in_hybrid_and_unified_hierarchies() {
        assert_eq!(hybrid().path(), Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(Mount::parse(UNIFIED, |_| true).unwrap().path(), Path::new("/sys/fs/cgroup"));
        assert_eq!(
            Mount::parse(b"cgroup2 /a\\040b\\134 cgroup2 rw 0 0\n", |_| true).unwrap().path(),
            Path::new("/a b\\")
        );
        assert_eq!(Mount::parse(b"proc /proc proc rw 0 0\n", |_| true), None);
    }

    #[test]
    fn of_several_mounts_the_one_with_the_whole_hierarchy_counts() {
        let table = b"cgroup2 /part cgroup2 rw 0 0\ncgroup2 /whole cgroup2 rw 0 0\n";
        let mount = Mount::parse(table, |path| path == Path::new("/whole")).unwrap();
        assert_eq!(mount.path(), Path::new("/whole"));
        assert!(mount.require_whole().is_ok());
        let part = Mount::parse(table, |_| false).unwrap();
        assert_eq!(part.path(), Path::new("/part"));
        assert!(matches!(part.require_whole(), Err(Error::CgroupPart { .. })));
    }

    #[test]
    fn a_path_may_be_relative_or_start_with_the_mount_point() {
        let bench = Path::new("/sys/fs/cgroup/unified/bench/a");
        for given in ["/bench/a", "bench/a", "/sys/fs/cgroup/unified/bench/a", "/bench//a/", "/bench/./a"] {
            assert_eq!(hybrid().locate(Path::new(given)).unwrap(), bench, "{given}");
        }
        let unified = Mount::parse(UNIFIED, |_| true).unwrap();
        assert_eq!(unified.locate(Path::new("/sys/fs/cgroup/bench")).unwrap(), Path::new("/sys/fs/cgroup/bench"));
    }

    #[test]
    fn cgroup1_the_root_and_paths_that_leave_the_mount_are_refused() {
        let locate = |given: &str| hybrid().locate(Path::new(given));
        assert!(matches!(locate("/sys/fs/cgroup/memory/bench"), Err(Error::CgroupOnV1 { .. })));
        assert!(matches!(locate("/sys/fs/cgroup/bench"), Err(Error::CgroupElsewhere { .. })));
        for root in ["/", "", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/"] {
            assert!(matches!(locate(root), Err(Error::CgroupIsRoot { .. })), "{root}");
        }
        for outside in ["/bench/../..", "../x", "/sys/fs/cgroup/unified/../memory"] {
            assert!(matches!(locate(outside), Err(Error::CgroupElsewhere { .. })), "{outside}");
        }
    }

    #[test]
    fn the_level_counts_from_the_mount() {
        assert_eq!(hybrid().level(Path::new("/sys/fs/cgroup/unified/bench")), 1);
        assert_eq!(hybrid().level(Path::new("/sys/fs/cgroup/unified/bench/a")), 2);
        assert_eq!(hybrid().display(Path::new("/sys/fs/cgroup/unified/bench/a")), "/bench/a");
    }
}
