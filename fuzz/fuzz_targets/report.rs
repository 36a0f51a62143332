//! What the two targets of the report share.

use ccactl_report::{Options, open_all, summarize};
use std::fs;
use std::path::PathBuf;

/// A report on a file with these bytes. An error is an answer; a panic or an allocation beyond the limit is not.
pub fn report(name: &str, bytes: &[u8]) {
    let path = PathBuf::from(format!("/dev/shm/ccactl-fuzz-{}-{name}", std::process::id()));
    fs::write(&path, bytes).expect("/dev/shm takes files");
    let _ = open_all(std::slice::from_ref(&path)).and_then(|recordings| summarize(&recordings, &Options::default()));
}
