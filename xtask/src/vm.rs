//! `cargo xtask vm matrix`: every algorithm on other kernels, in the virtual lab.

use crate::error::{Error, FAILURE, Result};
use crate::generate::{Markers, splice};
use crate::setup::{self, Scope};
use crate::shell::{self, heading, root};
use std::fs;
use std::process::Stdio;

const PAGE: &str = "docs/kernels.md";
const TABLE: Markers =
    Markers { begin: "<!-- matrix: begin, written by `cargo xtask vm matrix` -->", end: "<!-- matrix: end -->" };
/// The example ends with it when an algorithm loads and then does not work.
const DOES_NOT_WORK: i32 = 6;

/// Builds `ccactl` and `crates/lab/examples/matrix`, and runs it; without kernels of the user's the table of the docs is written.
pub fn matrix(args: &[&str]) -> Result {
    setup::tools(Scope::Lab)?;
    heading("build");
    let mut build = shell::cargo();
    build.args(["build", "--release", "--workspace", "--bin", "ccactl", "--example", "matrix"]);
    shell::run(&mut build)?;
    heading("matrix");
    let release = shell::target_dir().join("release");
    let mut matrix = shell::program(release.join("examples/matrix"));
    matrix.args(args).env("CCACTL", release.join("ccactl")).stderr(Stdio::inherit());
    let output = matrix.output().map_err(|error| Error::io("cannot run matrix", &error))?;
    let table = String::from_utf8_lossy(&output.stdout);
    print!("{table}");
    let works = match output.status.code() {
        Some(0) => Ok(()),
        Some(DOES_NOT_WORK) => {
            Err(Error::new(DOES_NOT_WORK as u8, "an algorithm loads and does not work: see the table"))
        }
        _ => return Err(Error::new(FAILURE, format!("matrix failed ({})", output.status))),
    };
    if args.is_empty() {
        let path = root().join(PAGE);
        let text = fs::read_to_string(&path).map_err(|error| Error::io(PAGE, &error))?;
        let text = splice(PAGE, TABLE, &text, &format!("\n{table}"))?;
        fs::write(&path, text).map_err(|error| Error::io(PAGE, &error))?;
        println!("{PAGE} is written");
    }
    works
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let text = fs::read_to_string(root().join(PAGE)).expect("the page is part of the docs");
        let once = splice(PAGE, TABLE, &text, "x\n").expect("both markers");
        assert_eq!(splice(PAGE, TABLE, &once, "x\n"), Ok(once.clone()));
    }
}
