//! `cargo xtask vm`: tables of what algorithms do in other kernels, in the virtual lab.

use crate::error::{Error, FAILURE, Result};
use crate::generate::{Markers, splice};
use crate::measure;
use crate::setup::{self, Scope};
use crate::shell::{self, heading, root};
use std::fs;
use std::process::Stdio;

const KERNELS: &str = "docs/kernels.md";
const MATRIX: Markers =
    Markers { begin: "<!-- matrix: begin, written by `cargo xtask vm matrix` -->", end: "<!-- matrix: end -->" };
const FIDELITY: &str = "docs/fidelity.md";
const TWINS: Markers =
    Markers { begin: "<!-- vm: begin, written by `cargo xtask vm fidelity` -->", end: "<!-- vm: end -->" };
const COST: &str = "docs/performance.md";
const INSTRUCTIONS: Markers =
    Markers { begin: "<!-- vm cost: begin, written by `cargo xtask vm cost` -->", end: "<!-- vm cost: end -->" };
const RING_ERROR: Markers =
    Markers { begin: "<!-- ring: begin, written by `cargo xtask vm ring` -->", end: "<!-- ring: end -->" };
/// A program ends with it when what it measured is not as it should be.
const MISSED: i32 = 6;

/// Every algorithm on every kernel; without kernels of the user's the table of the docs is written. 6 when an algorithm loads and then
/// does not work.
pub fn matrix(args: &[&str]) -> Result {
    let table = program("matrix", args, "an algorithm loads and does not work: see the table")?;
    if args.is_empty() {
        write(KERNELS, MATRIX, &table.text)?
    }
    table.verdict
}

/// Every twin beside the kernel's own; without arguments the tables of the docs are written. 6 when one differs before the first loss.
pub fn fidelity(args: &[&str]) -> Result {
    let table = program("fidelity", args, "a twin differs before the first loss or mark: see the tables")?;
    if args.is_empty() {
        write(FIDELITY, TWINS, &table.text)?
    }
    table.verdict
}

/// What each algorithm costs in instructions; without arguments the tables of the docs are written. 6 when one of ours costs more than
/// the kernel's own.
pub fn cost(args: &[&str]) -> Result {
    let table = program("vm_cost", args, "an algorithm costs more than the kernel's own: see the tables")?;
    if args.is_empty() {
        write(COST, INSTRUCTIONS, &table.text)?
    }
    table.verdict
}

/// What the send ring of BBRv2 knows of a packet beside the truth; without arguments the table of the docs is written.
pub fn ring(args: &[&str]) -> Result {
    let table = program("ring_error", args, "")?;
    if args.is_empty() {
        write(FIDELITY, RING_ERROR, &table.text)?
    }
    table.verdict
}

/// What a program printed, and how it ended.
struct Table {
    text: String,
    verdict: Result,
}

/// Builds `ccactl` and a program of `measure/`, and runs it.
fn program(name: &str, args: &[&str], missed: &str) -> Result<Table> {
    setup::tools(Scope::Lab)?;
    heading("build");
    let (ccactl, program) = (measure::ccactl()?, measure::program(name)?);
    heading(name);
    let mut program = shell::program(program);
    program.args(args).env("CCACTL", ccactl).stderr(Stdio::inherit());
    let output = program.output().map_err(|error| Error::io(&format!("cannot run {name}"), &error))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    let verdict = match output.status.code() {
        Some(0) => Ok(()),
        Some(MISSED) => Err(Error::new(MISSED as u8, missed)),
        _ => return Err(Error::new(FAILURE, format!("{name} failed ({})", output.status))),
    };
    Ok(Table { text, verdict })
}

fn write(page: &str, markers: Markers, table: &str) -> Result {
    let path = root().join(page);
    let text = fs::read_to_string(&path).map_err(|error| Error::io(page, &error))?;
    let text = splice(page, markers, &text, &format!("\n{table}"))?;
    fs::write(&path, text).map_err(|error| Error::io(page, &error))?;
    println!("{page} is written");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_have_a_place_for_their_tables() {
        for (page, markers) in [(KERNELS, MATRIX), (FIDELITY, TWINS), (FIDELITY, RING_ERROR), (COST, INSTRUCTIONS)] {
            let text = fs::read_to_string(root().join(page)).expect("the page is part of the docs");
            let once = splice(page, markers, &text, "x\n").expect("both markers");
            assert_eq!(splice(page, markers, &once, "x\n"), Ok(once.clone()));
        }
    }
}
