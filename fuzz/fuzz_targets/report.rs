//! What the two targets of the report share.

use ccactl_report::{Options, open_all, summarize};
use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{LazyLock, Mutex};

/// What the last panic said and where, in whichever thread.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// A folder in memory. libFuzzer has a hook that ends the process at every panic, but Polars' readers are allowed to panic
/// where the report catches it: only what comes out of the report is a finding.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    panic::set_hook(Box::new(|panic| {
        *LAST_PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = panic.to_string();
    }));
    let folder = PathBuf::from(format!("/dev/shm/ccactl-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("/dev/shm takes files");
    folder
});

/// A report on a file with these bytes. An error is an answer; a panic or an allocation beyond the limit is not.
///
/// The seeds have no checksum, as files of other writers, so that what the fuzzer makes of them is decoded.
pub fn report(name: &str, bytes: &[u8]) {
    let path = FOLDER.join(name);
    fs::write(&path, bytes).expect("/dev/shm takes files");
    if panic::catch_unwind(AssertUnwindSafe(|| report_on(&path))).is_err() {
        eprintln!("{}", LAST_PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        process::abort();
    }
}

fn report_on(path: &Path) {
    let files = [path.to_owned()];
    let _ = open_all(&files).and_then(|recordings| summarize(&recordings, &Options::default()));
}
