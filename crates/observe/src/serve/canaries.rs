//! Canaries that are being watched now, as their watchers tell of them.

use crate::rollout::RUNNING;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Of one file.
const MOST_BYTES: u64 = 256 << 10;
/// Of a folder.
const MOST: usize = 16;

/// Those in a folder of evidence, with living watchers, by their names.
pub fn running(folder: &Path) -> Vec<Value> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(RUNNING)))
        .collect();
    files.sort();
    files.iter().filter_map(|path| read(path)).take(MOST).collect()
}

fn read(path: &Path) -> Option<Value> {
    let bytes = ccactl_host::input::read(path, MOST_BYTES).ok()?;
    let told: Value = serde_json::from_slice(&bytes).ok()?;
    let watcher = told.get("pid")?.as_u64()?;
    Path::new("/proc").join(watcher.to_string()).exists().then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_canaries_whose_watchers_live_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        write("a.running.json", json!({"pid": std::process::id(), "algorithm": "bbrv3"}).to_string());
        write("b.running.json", json!({"pid": u32::MAX, "algorithm": "gone"}).to_string());
        write("c.running.json", "{ half".to_owned());
        write("d.json", json!({"pid": std::process::id()}).to_string());
        let found = running(folder.path());
        assert_eq!(found.iter().map(|told| told["algorithm"].clone()).collect::<Vec<_>>(), ["bbrv3"]);
        assert!(running(&folder.path().join("none")).is_empty());
    }
}
