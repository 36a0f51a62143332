//! `cargo xtask shots`: the pictures of the documents, by the tests that know how to open the pages.

use crate::error::Result;
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Writes `docs/how-to/images`.
pub fn run() -> Result {
    setup::run(Scope::Test)?;
    heading("pictures");
    let mut test = shell::cargo();
    test.args([
        "test",
        "--release",
        "--workspace",
        "--features",
        "ccactl/object-store",
        "--test",
        "shots",
        "--",
        "--ignored",
        "--test-threads=1",
    ]);
    shell::run(&mut test)
}
