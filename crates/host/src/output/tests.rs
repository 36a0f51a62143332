use super::*;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::process::Command;
use std::{env, thread};
use tempfile::TempDir;

const NOBODY: u32 = 65534;

/// Only root can make what belongs to somebody else.
fn is_root() -> bool {
    let is_root = geteuid().is_root();
    assert!(is_root || std::env::var("CI").as_deref() != Ok("true"), "these tests need root");
    if !is_root {
        crate::errln!("not run: these tests need root");
    }
    is_root
}

fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("output");
    (folder, path)
}

fn names(folder: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

/// What can be told of a name without following it.
fn state(path: &Path) -> Option<(u64, u32, u32, u64, Vec<u8>)> {
    let found = fs::symlink_metadata(path).ok()?;
    let content = if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    Some((found.ino(), found.mode(), found.uid(), found.nlink(), content))
}

/// What somebody else may have put under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    Link,
    Dangling,
    HardLink,
    Fifo,
    File,
    Folder,
}

const OBSTACLES: [Obstacle; 6] =
    [Obstacle::Link, Obstacle::Dangling, Obstacle::HardLink, Obstacle::Fifo, Obstacle::File, Obstacle::Folder];

impl Obstacle {
    /// Puts it there; `victim` is what it must not be used against.
    fn put(self, at: &Path, victim: &Path) {
        if matches!(self, Obstacle::Link | Obstacle::HardLink) {
            fs::write(victim, "the victim's").unwrap();
            fs::set_permissions(victim, Permissions::from_mode(0o600)).unwrap();
        }
        match self {
            Obstacle::Link | Obstacle::Dangling => symlink(victim, at).unwrap(),
            Obstacle::HardLink => fs::hard_link(victim, at).unwrap(),
            Obstacle::Fifo => mkfifo(at, Mode::from_bits_truncate(0o666)).unwrap(),
            Obstacle::File => fs::write(at, "somebody's").unwrap(),
            Obstacle::Folder => fs::create_dir(at).unwrap(),
        }
        lchown(at, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// A way to write under a name.
type Way = fn(&Path) -> Result<()>;

#[test]
fn what_somebody_else_has_put_there_is_left_alone_by_every_way_to_write() {
    if !is_root() {
        return;
    }
    let ways: [(&str, Way); 3] = [
        ("a new file", |path| write(path, b"ours", Replace::Never)),
        ("in place of ours", |path| write(path, b"ours", Replace::Ours)),
        ("claimed", |path| Place::at(path)?.claim(0o600).map(drop)),
    ];
    for obstacle in OBSTACLES {
        for (way, attempt) in ways {
            let (dir, path) = folder();
            let victim = dir.path().join("victim");
            obstacle.put(&path, &victim);
            let before = (state(&path), state(&victim), names(dir.path()));
            let error = attempt(&path).unwrap_err();
            assert!(matches!(error, Error::Unfit { .. }), "{obstacle:?}, {way}: {error}");
            assert!(error.to_string().contains("of user 65534, not a regular file of user 0"), "{error}");
            assert_eq!((state(&path), state(&victim), names(dir.path())), before, "{obstacle:?}, {way}");
        }
    }
}

#[test]
fn what_comes_to_stand_there_while_we_write_is_left_alone_too() {
    if !is_root() {
        return;
    }
    for obstacle in OBSTACLES {
        for replace in [Replace::Never, Replace::Ours] {
            let (dir, path) = folder();
            let victim = dir.path().join("victim");
            let draft = Place::at(&path).unwrap().draft(replace).unwrap();
            draft.file().write_all(b"ours").unwrap();
            obstacle.put(&path, &victim);
            let before = (state(&path), state(&victim), names(dir.path()));
            assert!(matches!(draft.publish(), Err(Error::Unfit { .. })), "{obstacle:?}");
            assert_eq!((state(&path), state(&victim), names(dir.path())), before, "{obstacle:?}");
        }
    }
}

#[test]
fn a_file_of_ours_is_replaced_only_when_that_is_asked_for() {
    let (dir, path) = folder();
    write(&path, b"first", Replace::Never).unwrap();
    assert!(matches!(write(&path, b"second", Replace::Never), Err(Error::Exists)));
    assert_eq!(fs::read(&path).unwrap(), b"first");
    write(&path, b"third", Replace::Ours).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"third");

    // It appears after the first look.
    let other = dir.path().join("other");
    let draft = Place::at(&other).unwrap().draft(Replace::Never).unwrap();
    fs::write(&other, "came first").unwrap();
    assert!(matches!(draft.publish(), Err(Error::Exists)));
    assert_eq!(fs::read(&other).unwrap(), b"came first");
    assert_eq!(names(dir.path()), ["other", "output"]);
}

#[test]
fn files_and_folders_have_the_mode_that_the_umask_gives_but_nobody_else_writes_into_a_folder_for_state() {
    let (dir, path) = folder();
    write(&path, b"ours", Replace::Never).unwrap();
    let (results, state) = (dir.path().join("results"), dir.path().join("state"));
    Folder::make(&results).unwrap();
    Folder::make_for_state(&state).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).unwrap();
    let umask = u32::from_str_radix(umask.trim(), 8).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!([mode(&path), mode(&results), mode(&state)], [0o666, 0o777, 0o755].map(|most| most & !umask));
    if umask != 0 {
        // The umask is that of the whole process: this test again, in one without any.
        let name = thread::current().name().unwrap().to_owned();
        let script = "umask 000 && exec \"$0\" --exact \"$1\"";
        let test = Command::new("sh").args(["-c", script]).arg(env::current_exe().unwrap()).arg(name).output().unwrap();
        assert!(test.status.success(), "{test:?}");
        assert!(String::from_utf8_lossy(&test.stdout).contains("1 passed"), "{test:?}");
    }
}

/// As on a file system that has no files without a name.
fn named_draft(place: &Place, replace: Replace) -> Draft {
    let create = |path: &Path| new_file().create_new(true).open(path);
    let (file, name) = place.under_random_name(create).unwrap();
    Draft { file, name: Some(name), place: place.clone(), replace }
}

#[test]
fn a_draft_leaves_nothing_when_it_is_dropped_or_its_name_is_taken() {
    for make in [named_draft, |place: &Place, replace| place.draft(replace).unwrap()] {
        let (dir, path) = folder();
        let place = Place::at(&path).unwrap();
        make(&place, Replace::Never).file().write_all(b"half").unwrap();
        assert!(names(dir.path()).is_empty());
        let [first, second] = [(); 2].map(|()| make(&place, Replace::Never));
        first.publish().unwrap();
        assert!(matches!(second.publish(), Err(Error::Exists)));
        make(&place, Replace::Ours).publish().unwrap();
        assert_eq!(names(dir.path()), ["output"]);
    }
}

#[test]
fn a_claimed_file_is_ours_alone() {
    let (dir, path) = folder();
    let place = Place::at(&path).unwrap();
    let made = place.claim(0o600).unwrap();
    assert_eq!(made.metadata().unwrap().mode() & 0o7777, 0o600);
    assert!(place.has(&made));
    assert_eq!(place.claim(0o600).unwrap().metadata().unwrap().ino(), made.metadata().unwrap().ino());

    // A second name may be one that others read, or a file that was somebody's before.
    fs::hard_link(&path, dir.path().join("second")).unwrap();
    let error = place.claim(0o600).unwrap_err().to_string();
    assert!(error.contains("several names (hard links)"), "{error}");
    fs::remove_file(dir.path().join("second")).unwrap();

    fs::rename(&path, dir.path().join("moved")).unwrap();
    fs::write(&path, "another").unwrap();
    assert!(!place.has(&made));
    place.remove(&made);
    assert_eq!(fs::read(&path).unwrap(), b"another", "what is not the claimed file stays");
    assert!(place.rename(&made, &place.with_suffix(".done"), Replace::Never).is_err());
    fs::remove_file(&path).unwrap();

    let claimed = place.claim(0o600).unwrap();
    place.rename(&claimed, &place.with_suffix(".done"), Replace::Never).unwrap();
    assert_eq!(names(dir.path()), ["moved", "output.done"]);
    let next = place.claim(0o600).unwrap();
    let refused = place.rename(&next, &place.with_suffix(".done"), Replace::Never);
    assert!(matches!(refused, Err(Error::Exists)) && place.has(&next));
}

#[test]
fn a_fifo_and_a_link_of_ours_are_refused_and_nobody_waits() {
    let (dir, path) = folder();
    mkfifo(&path, Mode::from_bits_truncate(0o600)).unwrap();
    assert!(matches!(Place::at(&path).unwrap().claim(0o600), Err(Error::Unfit { .. })));
    assert!(matches!(write(&path, b"", Replace::Ours), Err(Error::Unfit { .. })));

    let link = dir.path().join("link");
    fs::write(dir.path().join("file"), "before").unwrap();
    symlink(dir.path().join("file"), &link).unwrap();
    assert!(matches!(write(&link, b"", Replace::Ours), Err(Error::Unfit { .. })));
    assert_eq!(fs::read(&link).unwrap(), b"before");
}

#[test]
fn a_path_without_a_name_and_a_missing_folder_are_told() {
    let error = write(Path::new(".."), b"", Replace::Never).unwrap_err().to_string();
    assert!(error.starts_with("it is a folder, not a regular file"), "{error}");
    let (dir, _) = folder();
    let error = write(&dir.path().join("missing/output"), b"", Replace::Never).unwrap_err();
    assert!(matches!(error, Error::Io(error) if error.kind() == io::ErrorKind::NotFound));
    fs::write(dir.path().join("file"), "").unwrap();
    let error = write(&dir.path().join("file/output"), b"", Replace::Never).unwrap_err();
    assert!(matches!(error, Error::Io(error) if error.kind() == io::ErrorKind::NotADirectory));
}

/// A folder of nobody's with a link `way` of nobody's in it.
fn foreign_way(dir: &Path, target: &Path) -> PathBuf {
    let way = dir.join("way");
    symlink(target, &way).unwrap();
    lchown(&way, Some(NOBODY), Some(NOBODY)).unwrap();
    way
}

#[test]
fn another_users_link_leads_only_to_what_is_that_users() {
    if !is_root() {
        return;
    }
    let (dir, _) = folder();
    let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
    fs::create_dir(&ours).unwrap();
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();

    let way = foreign_way(dir.path(), &ours);
    for path in [way.join("output"), way.join("../output"), way.join("deeper/output")] {
        let error = write(&path, b"ours", Replace::Ours).unwrap_err();
        assert!(matches!(error, Error::Led { .. }), "{error}");
        let expected = "way on the way is a symbolic link of user 65534 to a folder of user 0;";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    for path in [way.clone(), way.join("made"), way.join("made/deeper")] {
        Folder::make(&path).unwrap_err();
    }
    assert!(names(&ours).is_empty());
    fs::remove_file(&way).unwrap();

    // Nothing is made at the end of their link, even if it leads nowhere yet.
    let way = foreign_way(dir.path(), &ours.join("new"));
    Folder::make(&way.join("made")).unwrap_err();
    assert!(names(&ours).is_empty());
    fs::remove_file(&way).unwrap();

    let way = foreign_way(dir.path(), &theirs);
    write(&way.join("output"), b"ours", Replace::Never).unwrap();
    Folder::make(&way.join("made")).unwrap();
    assert_eq!(names(&theirs), ["made", "output"]);
}

#[test]
fn a_folder_of_somebody_else_is_told_where_it_must_be_ours() {
    let (dir, path) = folder();
    Folder::make(&path).unwrap().require_ours().unwrap();
    if is_root() {
        chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let error = Folder::open(dir.path()).unwrap().require_ours().unwrap_err().to_string();
        assert!(error.starts_with("it is one of user 65534, not a folder of user 0;"), "{error}");
    }
}

#[test]
fn links_of_our_own_are_followed_and_a_loop_of_them_ends() {
    let (dir, _) = folder();
    let at = |name: &str| dir.path().join(name);
    Folder::make(&at("a/b")).unwrap();
    symlink("a", at("relative")).unwrap();
    symlink(at("a/b"), at("absolute")).unwrap();
    write(&at("relative/../relative/b/one"), b"", Replace::Never).unwrap();
    write(&at("absolute/two"), b"", Replace::Never).unwrap();
    assert_eq!(names(&at("a/b")), ["one", "two"]);
    symlink("loop", at("loop")).unwrap();
    assert!(Folder::make(&at("loop/x")).is_err());
}

#[test]
fn a_place_stays_where_it_was_when_its_path_is_led_elsewhere() {
    let (dir, _) = folder();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("folder")).unwrap();
    fs::create_dir(at("elsewhere")).unwrap();
    let draft = Place::at(&at("folder/output")).unwrap().draft(Replace::Ours).unwrap();
    fs::rename(at("folder"), at("moved")).unwrap();
    symlink(at("elsewhere"), at("folder")).unwrap();
    draft.publish().unwrap();
    assert_eq!((names(&at("moved")), names(&at("elsewhere"))), (vec!["output".into()], vec![]));
}

#[test]
fn devices_and_pipes_are_written_to_but_not_a_fifo_of_somebody_else() {
    let (dir, path) = folder();
    assert!(open_stream(&path).unwrap().is_none() && open_stream(Path::new("/dev/null")).unwrap().is_some());
    fs::write(&path, "a file is replaced").unwrap();
    assert!(open_stream(&path).unwrap().is_none());

    let fifo = dir.path().join("fifo");
    mkfifo(&fifo, Mode::from_bits_truncate(0o600)).unwrap();
    let error = open_stream(&fifo).unwrap_err().to_string();
    assert_eq!(error, "it is a FIFO that nobody reads");
    let mut reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&fifo).unwrap();
    open_stream(&fifo).unwrap().unwrap().write_all(b"text").unwrap();
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    if is_root() {
        chown(&fifo, Some(NOBODY), Some(NOBODY)).unwrap();
        assert!(matches!(open_stream(&fifo), Err(Error::Unfit { .. })));
    }
}

#[test]
fn a_descriptor_is_used_and_its_file_not_replaced() {
    let (_dir, path) = folder();
    let file = File::create(&path).unwrap();
    for folder in ["/dev/fd", "/proc/self/fd"] {
        let name = format!("{folder}/{}", file.as_raw_fd());
        open_stream(Path::new(&name)).unwrap().unwrap().write_all(b"x").unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), b"xx");
    assert!(open_stream(Path::new("/dev/fd/1000000")).is_err());
}
