//! Scenario files of the tests.

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with a scenario and a place for its results.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    /// 20 Mbit/s, 20 ms, 2 BDP, with these flows.
    pub fn new(duration: &str, flows: &str) -> Self {
        let text = format!(
            "duration = \"{duration}\"\n[link]\nrate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = {{ bdp = 2 }}\n{flows}"
        );
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("test.toml"), text).unwrap();
        Bench { folder }
    }

    pub fn file(&self) -> String {
        self.folder.path().join("test.toml").display().to_string()
    }

    pub fn output(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// `bench FILE -o OUT --json`.
    pub fn args(&self) -> Vec<String> {
        ["bench", &self.file(), "-o", &self.output().display().to_string(), "--json"].map(str::to_owned).to_vec()
    }
}

/// A flow of a scenario with further lines.
pub fn flow(name: &str, algorithm: &str, lines: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nalgorithm = \"{algorithm}\"\n{lines}\n")
}
