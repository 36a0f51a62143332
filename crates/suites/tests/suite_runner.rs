//! The runner with an executor that only writes files: order, side by side, and resuming after every interruption.

mod common;

use ccactl_suites::folder::{Experiment, Place, SuiteFolder};
use ccactl_suites::runner::{
    Ended, Executor, Notice, Only, Overhead, Selection, Shard, Step, Watcher, pending, remaining, run,
};
use ccactl_suites::{Cell, Error, Result};
use ccactl_testbed::bench::Backend;
use common::{cells, result_json};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// Writes what a bench writes, in its order; is killed after so many writes of files and folders, as by SIGKILL.
struct Fake {
    writes_left: AtomicUsize,
    valid: fn(&Cell) -> bool,
    fails: fn(&Cell) -> bool,
    begun: Mutex<Vec<String>>,
    now: AtomicUsize,
    most: AtomicUsize,
    pause: Duration,
}

impl Fake {
    fn new() -> Fake {
        Fake::killed_after(usize::MAX)
    }

    fn killed_after(writes: usize) -> Fake {
        Fake {
            writes_left: AtomicUsize::new(writes),
            valid: |_| true,
            fails: |_| false,
            begun: Mutex::default(),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            pause: Duration::ZERO,
        }
    }

    fn begun(&self) -> Vec<String> {
        self.begun.lock().unwrap().clone()
    }

    fn write(&self, action: impl FnOnce()) -> Result<()> {
        let left = self.writes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| Error::Interrupted)?;
        action();
        Ok(())
    }
}

impl Executor for Fake {
    fn execute(&self, cell: &Cell, folder: &Path, _: &AtomicBool, observe: &mut dyn FnMut(Step<'_>)) -> Result<()> {
        self.begun.lock().unwrap().push(cell.id.clone());
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(self.pause);
        self.now.fetch_sub(1, Ordering::SeqCst);
        if (self.fails)(cell) {
            return Err(Error::Panicked);
        }
        let there = fs::read_to_string(folder.join("result.json")).ok();
        assert!(there.is_some() || !folder.exists(), "a cell begins without what an earlier attempt has left");
        let made = there.map_or(0, |json| json.matches("directory").count());
        self.write(|| fs::create_dir_all(folder).unwrap())?;
        self.write(|| fs::write(folder.join("scenario.toml"), cell.scenario.to_toml()).unwrap())?;
        for run in made as u32 + 1..=cell.scenario.repeat {
            observe(Step::Run { run, attempt: 1 });
            let directory = folder.join(format!("run-{run}"));
            self.write(|| fs::create_dir(&directory).unwrap())?;
            self.write(|| fs::write(directory.join("recording.parquet"), "rows").unwrap())?;
        }
        let json = result_json(cell, (self.valid)(cell));
        self.write(|| fs::write(folder.join("result.json.partial"), &json).unwrap())?;
        self.write(|| fs::rename(folder.join("result.json.partial"), folder.join("result.json")).unwrap())
    }
}

struct Nobody;

impl Watcher for Nobody {
    fn notice(&mut self, _: Notice<'_>) {}
}

fn open(folder: &Path, scenario: &str, cells: &[Cell]) -> Result<SuiteFolder> {
    open_at(folder, scenario, cells, Place::default())
}

fn open_at(folder: &Path, scenario: &str, cells: &[Cell], place: Place) -> Result<SuiteFolder> {
    SuiteFolder::open(folder, Experiment { place, ..Experiment::new(scenario, "", None, cells) })
}

fn carry_out(folder: &Path, cells: &[Cell], jobs: usize, fake: &Fake) -> Result<Vec<String>> {
    let folder = open(folder, "test", cells)?;
    let left = pending(&folder, cells)?;
    let Ended { failures, elsewhere } = run(&folder, &left, jobs, fake, &AtomicBool::new(false), &mut Nobody)?;
    assert_eq!(elsewhere, Vec::<String>::new());
    Ok(failures.into_iter().map(|failure| failure.cell).collect())
}

/// Every file with its content.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                files.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    files
}

#[test]
fn cells_run_in_their_order_and_never_more_side_by_side_than_asked_for() {
    let cells = cells(&["a", "b", "c", "d", "e", "f", "g"]);
    let names: Vec<String> = cells.iter().map(|cell| cell.id.clone()).collect();
    for jobs in [1, 3] {
        let folder = TempDir::new().unwrap();
        let fake = Fake { pause: Duration::from_millis(30), ..Fake::new() };
        assert_eq!(carry_out(folder.path(), &cells, jobs, &fake).unwrap(), Vec::<String>::new());
        let mut begun = fake.begun();
        assert!(fake.most.load(Ordering::SeqCst) <= jobs);
        if jobs > 1 {
            // Threads that wake up together may note their cells in another order, but only within a round.
            begun.sort();
        }
        assert_eq!(begun, names);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the moments at which it is killed, the suite ends with the files of one that was not, and no
    /// finished cell is run again.
    #[test]
    fn a_suite_that_is_killed_at_any_moments_ends_like_one_that_was_not(
        kills in proptest::collection::vec(0usize..30, 0..5),
        repeats in proptest::collection::vec(1u32..3, 1..5),
        jobs in 1usize..3,
    ) {
        let names: Vec<String> = (0..repeats.len()).map(|i| format!("cell-{i}")).collect();
        let mut cells = cells(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for (cell, repeat) in cells.iter_mut().zip(repeats) {
            cell.scenario.repeat = repeat;
        }
        let (whole, killed) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        carry_out(whole.path(), &cells, 1, &Fake::new()).unwrap();
        for writes in kills {
            let fake = Fake::killed_after(writes);
            let finished = |folder: &Path| -> Vec<String> {
                cells.iter().map(|c| c.id.clone()).filter(|id| folder.join(id).join("result.json").exists()).collect()
            };
            let before = finished(killed.path());
            let _ = carry_out(killed.path(), &cells, jobs, &fake);
            prop_assert!(fake.begun().iter().all(|id| !before.contains(id)));
        }
        carry_out(killed.path(), &cells, jobs, &Fake::new()).unwrap();
        prop_assert_eq!(tree(killed.path()), tree(whole.path()));
    }
}

#[test]
fn a_cell_without_a_valid_run_is_run_again_and_others_are_not() {
    let cells = cells(&["a", "b", "c"]);
    let folder = TempDir::new().unwrap();
    let fake = Fake { valid: |cell| cell.id != "axis=b", ..Fake::new() };
    carry_out(folder.path(), &cells, 1, &fake).unwrap();
    let again = Fake::new();
    carry_out(folder.path(), &cells, 1, &again).unwrap();
    assert_eq!(again.begun(), ["axis=b"]);
    let never = Fake::new();
    carry_out(folder.path(), &cells, 1, &never).unwrap();
    assert!(never.begun().is_empty());
}

#[test]
fn a_suite_with_more_runs_keeps_those_that_are_there() {
    let mut cells = cells(&["a", "b"]);
    let folder = TempDir::new().unwrap();
    carry_out(folder.path(), &cells, 1, &Fake::new()).unwrap();
    let kept = folder.path().join("axis=a/run-1/recording.parquet");
    fs::write(&kept, "rows of the first run").unwrap();
    cells.iter_mut().for_each(|cell| cell.scenario.repeat = 3);
    let more = Fake::new();
    carry_out(folder.path(), &cells, 1, &more).unwrap();
    assert_eq!(more.begun(), ["axis=a", "axis=b"]);
    assert_eq!(fs::read_to_string(&kept).unwrap(), "rows of the first run");
    let whole = TempDir::new().unwrap();
    carry_out(whole.path(), &cells, 1, &Fake::new()).unwrap();
    fs::write(&kept, "rows").unwrap();
    assert_eq!(tree(folder.path()), tree(whole.path()), "as if all had been asked for at once");
    cells.iter_mut().for_each(|cell| cell.scenario.repeat = 2);
    let fewer = Fake::new();
    carry_out(folder.path(), &cells, 1, &fewer).unwrap();
    assert!(fewer.begun().is_empty());
}

#[test]
fn a_finished_cell_that_has_lost_its_recording_is_told_before_others_run() {
    let cells = cells(&["a", "b"]);
    let folder = TempDir::new().unwrap();
    carry_out(folder.path(), &cells, 1, &Fake { fails: |cell| cell.id == "axis=b", ..Fake::new() }).unwrap();
    fs::remove_file(folder.path().join("axis=a/run-1/recording.parquet")).unwrap();
    let again = Fake::new();
    let error = carry_out(folder.path(), &cells, 1, &again).unwrap_err().to_string();
    assert!(error.contains("run-1/recording.parquet is missing"), "{error}");
    assert!(error.contains("remove the folder of this cell"), "{error}");
    assert!(again.begun().is_empty());
}

#[test]
fn cells_that_fail_are_named_and_the_others_run() {
    let cells = cells(&["a", "b", "c"]);
    let folder = TempDir::new().unwrap();
    let fake = Fake { fails: |cell| cell.id == "axis=b", ..Fake::new() };
    assert_eq!(carry_out(folder.path(), &cells, 1, &fake).unwrap(), ["axis=b"]);
    assert_eq!(fake.begun(), ["axis=a", "axis=b", "axis=c"]);
}

#[test]
fn three_failures_in_a_row_end_the_suite() {
    let cells = cells(&["a", "b", "c", "d", "e", "f"]);
    let folder = TempDir::new().unwrap();
    let fake = Fake { fails: |cell| cell.id != "axis=a", ..Fake::new() };
    assert_eq!(carry_out(folder.path(), &cells, 1, &fake).unwrap(), ["axis=b", "axis=c", "axis=d"]);
    assert_eq!(fake.begun(), ["axis=a", "axis=b", "axis=c", "axis=d"]);
}

#[test]
fn cells_that_are_given_up_are_told() {
    let cells = cells(&["a", "b", "c", "d", "e"]);
    let root = TempDir::new().unwrap();
    let folder = open(root.path(), "test", &cells).unwrap();
    #[derive(Default)]
    struct Told(Vec<usize>);
    impl Watcher for Told {
        fn notice(&mut self, notice: Notice<'_>) {
            if let Notice::GivenUp(left) = notice {
                self.0.push(left);
            }
        }
    }
    let fake = Fake { fails: |_| true, ..Fake::new() };
    let mut told = Told::default();
    let ended = run(&folder, &cells, 1, &fake, &AtomicBool::new(false), &mut told).unwrap();
    assert_eq!((ended.failures.len(), told.0), (3, vec![2]));
}

#[test]
fn an_interrupted_suite_begins_no_further_cell() {
    let cells = cells(&["a", "b", "c"]);
    let root = TempDir::new().unwrap();
    let folder = open(root.path(), "test", &cells).unwrap();
    struct Raise<'a>(&'a AtomicBool);
    impl Watcher for Raise<'_> {
        fn notice(&mut self, notice: Notice<'_>) {
            if matches!(notice, Notice::Finished(0)) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
    }
    let flag = AtomicBool::new(false);
    let fake = Fake::new();
    let error = run(&folder, &cells, 1, &fake, &flag, &mut Raise(&flag)).unwrap_err();
    assert_eq!((error.exit_code(), fake.begun()), (ccactl_abi::exit::INTERRUPTED, vec!["axis=a".to_owned()]));
}

#[test]
fn the_folder_of_another_scenario_is_refused_and_says_what_differs() {
    let cells = cells(&["a", "b"]);
    let folder = TempDir::new().unwrap();
    carry_out(folder.path(), &cells, 1, &Fake::new()).unwrap();
    let before = tree(folder.path());
    let refused = |scenario: &str, cells: &[Cell]| {
        let error = open(folder.path(), scenario, cells).unwrap_err();
        assert_eq!(error.exit_code(), ccactl_abi::exit::USAGE);
        error.to_string()
    };
    let mut other = cells.clone();
    other[1].scenario.repeat = 7;
    other[1].scenario.every = "rtt".to_owned();
    let text = refused("test", &other);
    assert!(text.contains("`every = \"rtt\"` in cell axis=b") && text.contains("`every = \"ack\"`"), "{text}");
    assert!(refused("other", &cells).contains("results of other"), "names of the scenarios");
    assert!(refused("test", &cells[..1]).contains("without the cell axis=b"), "fewer cells");
    let error = open_at(folder.path(), "test", &cells, Backend::Netem.into()).unwrap_err().to_string();
    assert!(error.contains("results of --link netem") && error.contains("results of --link emulator"), "{error}");
    let in_a_guest = Place { lab: Some("6.12.90".to_owned()), ..Place::default() };
    let error = open_at(folder.path(), "test", &cells, in_a_guest).unwrap_err().to_string();
    assert!(error.contains("results of --link emulator in a guest with Linux 6.12.90, found"), "{error}");
    assert_eq!(tree(folder.path()), before, "nothing was touched");
}

#[test]
fn a_matrix_that_has_grown_goes_on_with_what_is_there() {
    let folder = TempDir::new().unwrap();
    carry_out(folder.path(), &cells(&["a", "b"]), 1, &Fake::new()).unwrap();
    let grown = cells(&["a", "b", "c"]);
    let fake = Fake::new();
    carry_out(folder.path(), &grown, 1, &fake).unwrap();
    assert_eq!(fake.begun(), ["axis=c"]);
    let shrunk = open(folder.path(), "test", &cells(&["a", "b"])).unwrap_err().to_string();
    assert!(shrunk.contains("without the cell axis=c"), "{shrunk}");
}

#[test]
fn somebody_elses_folder_is_refused_and_left_as_it_is() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("thesis.tex"), "text").unwrap();
    let error = open(folder.path(), "test", &cells(&["a"])).unwrap_err();
    assert!(error.to_string().contains("thesis.tex"), "{error}");
    assert_eq!(tree(folder.path()).len(), 1);
}

/// As on two machines that share a folder: each opens the lock files by itself, which is what flock(2) goes by.
#[test]
fn two_that_work_in_one_folder_share_the_cells() {
    let root = TempDir::new().unwrap();
    let cells = cells(&["a", "b", "c", "d", "e", "f"]);
    let work = |fake: &Fake| {
        let folder = open(root.path(), "test", &cells).unwrap();
        let left = pending(&folder, &cells).unwrap();
        run(&folder, &left, 1, fake, &AtomicBool::new(false), &mut Nobody).unwrap()
    };
    let slow = || Fake { pause: Duration::from_millis(50), ..Fake::new() };
    let (one, other) = (slow(), slow());
    let ended = std::thread::scope(|scope| {
        let first = scope.spawn(|| work(&one));
        let second = scope.spawn(|| work(&other));
        [first.join().unwrap(), second.join().unwrap()]
    });
    let mut begun = [one.begun(), other.begun()].concat();
    begun.sort();
    assert_eq!(begun, cells.iter().map(|cell| cell.id.clone()).collect::<Vec<_>>(), "each cell once");
    assert!(ended.iter().all(|ended| ended.failures.is_empty()));
    let whole = TempDir::new().unwrap();
    carry_out(whole.path(), &cells, 1, &Fake::new()).unwrap();
    assert_eq!(tree(root.path()), tree(whole.path()));
}

#[test]
fn a_cell_that_another_runs_is_left_to_it() {
    let root = TempDir::new().unwrap();
    let cells = cells(&["a", "b"]);
    let folder = open(root.path(), "test", &cells).unwrap();
    let held = folder.claim("axis=a").unwrap().unwrap();
    assert!(folder.claim("axis=a").unwrap().is_none());
    let fake = Fake::new();
    let ended = run(&folder, &cells, 1, &fake, &AtomicBool::new(false), &mut Nobody).unwrap();
    assert_eq!((ended.elsewhere, fake.begun()), (vec!["axis=a".to_owned()], vec!["axis=b".to_owned()]));
    // Whoever waits for it takes it over from a process that is no more.
    let folder = folder.with_patience(Duration::from_secs(30));
    let soon = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        drop(held);
    });
    let ended = run(&folder, &cells, 1, &Fake::new(), &AtomicBool::new(false), &mut Nobody).unwrap();
    soon.join().unwrap();
    assert_eq!(ended.elsewhere, Vec::<String>::new());
    assert!(folder.finished("axis=a").unwrap().is_some());
}

#[test]
fn a_cell_made_on_another_disk_is_there_as_a_whole_or_not_at_all() {
    let (root, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let cells = cells(&["a"]);
    let folder = open(root.path(), "test", &cells).unwrap().with_scratch(Some(scratch.path().to_owned())).unwrap();
    struct Looks<'a>(Fake, &'a Path, &'a Path);
    impl Executor for Looks<'_> {
        fn execute(&self, cell: &Cell, folder: &Path, flag: &AtomicBool, see: &mut dyn FnMut(Step<'_>)) -> Result<()> {
            let ended = self.0.execute(cell, folder, flag, see);
            assert!(folder.starts_with(self.2) && !self.1.exists(), "made on the disk that is near");
            ended
        }
    }
    let target = folder.of_cell("axis=a");
    let run_with = |writes| {
        let looks = Looks(Fake::killed_after(writes), &target, scratch.path());
        run(&folder, &cells, 1, &looks, &AtomicBool::new(false), &mut Nobody)
    };
    run_with(4).unwrap();
    assert!(!target.exists());
    run_with(usize::MAX).unwrap();
    assert_eq!(folder.finished("axis=a").unwrap().map(|finished| finished.valid_runs), Some(1));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing stays there");
}

#[test]
fn runs_that_count_outlive_a_kill_while_their_cell_is_replaced() {
    let root = TempDir::new().unwrap();
    let mut cells = cells(&["a"]);
    carry_out(root.path(), &cells, 1, &Fake::new()).unwrap();
    let kept = root.path().join("axis=a/run-1/recording.parquet");
    fs::write(&kept, "rows of the first run").unwrap();
    // What is there between the two renames.
    let aside = root.path().join(".cells/axis=a/work-killed");
    fs::create_dir(&aside).unwrap();
    fs::rename(root.path().join("axis=a"), aside.join("replaced")).unwrap();
    cells[0].scenario.repeat = 2;
    carry_out(root.path(), &cells, 1, &Fake::new()).unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "rows of the first run");
    assert!(root.path().join("axis=a/run-2").exists());
}

#[test]
fn a_cell_that_a_full_disk_has_no_room_for_fails_and_leaves_nothing() {
    if !nix::unistd::geteuid().is_root() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs this test, so it needs root");
        eprintln!("not run: needs root");
        return;
    }
    struct Large;
    impl Executor for Large {
        fn execute(&self, cell: &Cell, folder: &Path, flag: &AtomicBool, see: &mut dyn FnMut(Step<'_>)) -> Result<()> {
            Fake::new().execute(cell, folder, flag, see)?;
            fs::write(folder.join("run-1/recording.parquet"), vec![7; 1 << 20]).unwrap();
            Ok(())
        }
    }
    // A mount of this thread alone.
    let of_a_thread = || {
        let (root, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
        let mount = |source, kind, flags, data| {
            nix::mount::mount(
                source,
                if kind == Some("tmpfs") { root.path() } else { Path::new("/") },
                kind,
                flags,
                data,
            )
        };
        let private = nix::mount::MsFlags::MS_PRIVATE | nix::mount::MsFlags::MS_REC;
        mount(None::<&str>, None, private, None::<&str>).unwrap();
        mount(Some("none"), Some("tmpfs"), nix::mount::MsFlags::empty(), Some("size=256k")).unwrap();
        let cells = cells(&["a"]);
        let folder = open(root.path(), "test", &cells).unwrap().with_scratch(Some(scratch.path().to_owned())).unwrap();
        let ended = run(&folder, &cells, 1, &Large, &AtomicBool::new(false), &mut Nobody).unwrap();
        let error = &ended.failures[0].error;
        assert_eq!(error.exit_code(), ccactl_abi::exit::FAILURE, "{error}");
        assert!(error.to_string().contains("copy a file of the cell there: No space left"), "{error}");
        assert!(!folder.of_cell("axis=a").exists());
        let left: Vec<_> = fs::read_dir(root.path().join(".cells/axis=a")).unwrap().collect();
        assert_eq!(left.len(), 1, "the lock: {left:?}");
    };
    std::thread::spawn(of_a_thread).join().unwrap();
}

/// Where files cannot be locked, two may run a cell. The first whole one stays.
#[test]
fn of_two_that_run_a_cell_the_first_one_stays() {
    let root = TempDir::new().unwrap();
    let cells = cells(&["a"]);
    let folder = open(root.path(), "test", &cells).unwrap();
    let claim = folder.claim("axis=a").unwrap().unwrap();
    let make = |folder: &Path| Fake::new().execute(&cells[0], folder, &AtomicBool::new(false), &mut |_| {}).unwrap();
    make(&claim.work());
    fs::create_dir(claim.work().join("run-1/second")).unwrap();
    // Between the look of the second one and its end.
    let target = folder.of_cell("axis=a");
    make(&target);
    claim.publish().unwrap();
    assert!(folder.finished("axis=a").unwrap().is_some());
}

#[test]
fn a_result_of_another_scenario_or_version_is_an_error_and_is_not_removed() {
    let cells = cells(&["a"]);
    let folder = TempDir::new().unwrap();
    carry_out(folder.path(), &cells, 1, &Fake::new()).unwrap();
    let result = folder.path().join("axis=a/result.json");
    let (good, toml) = (fs::read_to_string(&result).unwrap(), folder.path().join("axis=a/scenario.toml"));
    let refused = |what: &str| {
        let error = carry_out(folder.path(), &cells, 1, &Fake::new()).unwrap_err();
        assert!(matches!(error, Error::Result { .. }), "{what}: {error}");
        assert!(result.exists(), "{what}");
    };
    fs::write(&result, good.replace(ccactl_suites::runner::VERSION, "0.0.9")).unwrap();
    refused("another version");
    fs::write(&result, &good[..good.len() / 2]).unwrap();
    refused("half a file");
    fs::write(&result, &good).unwrap();
    fs::write(toml, "repeat = 9").unwrap();
    refused("another scenario");
}

#[test]
fn only_takes_cells_by_their_labels() {
    let cells: Vec<Cell> = common::grid(&[("buffer", &["5bdp", "0.8bdp"]), ("pair", &["reno+cubic", "vegas+bbr"])]);
    let ids = |only: &[&str]| -> Result<Vec<String>> {
        let only: Vec<Only> = only.iter().map(|text| text.parse().unwrap()).collect();
        Ok(Selection { only, ..Selection::default() }.of(&cells)?.into_iter().map(|cell| cell.id).collect())
    };
    assert_eq!(ids(&[]).unwrap().len(), 4);
    assert_eq!(ids(&["buffer=5bdp,pair=reno+cubic"]).unwrap(), ["buffer=5bdp,pair=reno+cubic"]);
    assert_eq!(ids(&["pair=vegas+bbr"]).unwrap(), ["buffer=5bdp,pair=vegas+bbr", "buffer=0.8bdp,pair=vegas+bbr"]);
    assert_eq!(ids(&["pair=vegas+bbr", "buffer=5bdp"]).unwrap().len(), 3, "several are alternatives");
    let error = |only| ids(&[only]).unwrap_err().to_string();
    assert!(error("bufer=5bdp").contains("(buffer, pair)"));
    assert!(error("buffer=6bdp").contains("(0.8bdp, 5bdp)"));
    assert!(error("buffer=5bdp,buffer=0.8bdp").contains("one cell has together"));
    for text in ["", "buffer", "buffer=", "=5bdp", "buffer=5bdp,"] {
        assert!(text.parse::<Only>().is_err(), "{text:?}");
    }
}

#[test]
fn cells_are_taken_by_name_or_dealt_out_in_parts() {
    let cells = cells(&["a", "b", "c", "d", "e"]);
    let ids =
        |selection: Selection| selection.of(&cells).map(|taken| taken.into_iter().map(|c| c.id).collect::<Vec<_>>());
    let named = |name: &str| Selection { cells: vec![name.to_owned()], ..Selection::default() };
    assert_eq!(ids(named("axis=c")).unwrap(), ["axis=c"]);
    let error = ids(named("axis=g")).unwrap_err().to_string();
    assert!(error.contains("found \"axis=g\", nearest: axis="), "{error}");
    let part = |text: &str| ids(Selection { shard: Some(text.parse().unwrap()), ..Selection::default() }).unwrap();
    assert_eq!([part("1/2"), part("2/2")], [vec!["axis=a", "axis=c", "axis=e"], vec!["axis=b", "axis=d"]]);
    assert!(part("7/7").is_empty(), "more parts than cells");
    for text in ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3"] {
        assert!(text.parse::<Shard>().is_err(), "{text:?}");
    }
}

#[test]
fn remaining_time_is_that_of_the_job_that_ends_last() {
    let seconds = |all: &[u64]| all.iter().map(|&s| Duration::from_secs(s)).collect::<Vec<_>>();
    let left = |running: &[u64], waiting: &[u64], jobs| remaining(&seconds(running), seconds(waiting), jobs).as_secs();
    assert_eq!(left(&[], &[], 2), 0);
    assert_eq!(left(&[40], &[100, 100], 1), 240);
    assert_eq!(left(&[40, 90], &[100, 100], 2), 190);
    assert_eq!(left(&[40], &[100], 2), 100, "a free job takes the one that waits");
}

#[test]
fn overhead_is_what_cells_took_beyond_their_runs() {
    let second = Duration::from_secs(1);
    let mut overhead = Overhead::guessed(Duration::from_secs(5));
    let guess = overhead.per_run();
    assert!(guess > Duration::ZERO);
    overhead.learn(32 * second, 10 * second, 3);
    overhead.learn(14 * second, 10 * second, 1);
    assert_eq!(overhead.per_run(), Duration::from_millis(1500));
    assert_eq!(overhead.of_cell(10 * second, 2), 23 * second);
}
