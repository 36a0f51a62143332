//! `cargo xtask test`: every test of the workspace, in the profile of the demo so that nothing is compiled twice.

use crate::error::Result;
use crate::setup::privilege::{is_root, sudo_runner};
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Prepares the machine and runs the tests; `args` go to cargo test as they are.
pub fn run(sudo: bool, args: &[&str]) -> Result {
    setup::run(Scope::Build)?;

    heading("tests");
    let through_sudo = sudo && !is_root();
    let mut test = shell::cargo();
    test.args(["test", "--release"]);
    if !names_packages(args) {
        test.arg("--workspace");
    }
    if through_sudo {
        test.args(sudo_runner());
    }
    shell::run(test.args(args))?;
    if !is_root() && !through_sudo {
        println!("\nNot root: the kernel and testbed tests were not run. `cargo xtask test --sudo` runs them as well.");
    }
    Ok(())
}

/// Whether the arguments of cargo test (not those after `--`, which are the test runner's) choose packages themselves.
fn names_packages(args: &[&str]) -> bool {
    args.iter()
        .take_while(|arg| **arg != "--")
        .any(|arg| *arg == "-p" || *arg == "--package" || arg.starts_with("--package="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_packages_replace_the_workspace() {
        assert!(names_packages(&["-p", "ccactl-abi"]));
        assert!(names_packages(&["--package=xtask", "--", "--nocapture"]));
        assert!(!names_packages(&["some_test", "--", "-p"]));
        assert!(!names_packages(&[]));
    }
}
