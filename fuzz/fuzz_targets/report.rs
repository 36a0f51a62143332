//! What the two targets of the report share.

use ccactl_report::{Options, open_all, summarize};
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

/// In memory.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PathBuf::from(format!("/dev/shm/ccactl-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("/dev/shm takes files");
    folder
});

/// A report on a file with these bytes. An error is an answer; a panic or an allocation beyond the limit is not. A panic
/// that the report itself catches, of Polars' readers, does not reach the hook with which libFuzzer ends the process.
///
/// The seeds have no checksum, as files of other writers, so that what the fuzzer makes of them is decoded.
pub fn report(name: &str, bytes: &[u8]) {
    let path = FOLDER.join(name);
    fs::write(&path, bytes).expect("/dev/shm takes files");
    let _ = open_all(std::slice::from_ref(&path)).and_then(|recordings| summarize(&recordings, &Options::default()));
}
