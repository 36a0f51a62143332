//! `cargo xtask test`: every test of the workspace, in the profile of the demo so that nothing is compiled twice.

use crate::error::Result;
use crate::measure;
use crate::setup::privilege::{is_root, sudo_runner};
use crate::setup::{self, Scope, s3};
use crate::shell::{self, heading};
use std::process::Command;

/// Prepares the machine and runs the tests; `args` go to cargo test as they are.
pub fn run(sudo: bool, args: &[&str]) -> Result {
    setup::run(Scope::Test)?;

    let server = if needs_server(args) { Some(s3::server()?) } else { None };

    heading("tests");
    let through_sudo = sudo && !is_root();
    let run = |mut test: Command| {
        test.arg("--release").envs(server.iter().map(|server| (s3::VARIABLE, server)));
        if through_sudo {
            test.args(sudo_runner());
        }
        shell::run(test.args(args))
    };
    let mut test = shell::cargo();
    test.arg("test");
    if !names_packages(args) {
        test.arg("--workspace");
    }
    if tests_ccactl(args) {
        test.args(shell::FEATURES);
    }
    run(test)?;
    if reaches_measure(args) {
        // After the others, which build the ccactl that the guests of these tests run.
        heading("tests of measure/");
        run(measure::with_manifest("test"))?;
    }
    if let Some(args) = sanitized(args) {
        sanitize(&args)?;
    }
    if !is_root() && !through_sudo {
        println!("\nNot root: the kernel and testbed tests were not run. `cargo xtask test --sudo` runs them as well.");
    }
    Ok(())
}

/// Whether the programs of `measure/` are among what is tested: unless arguments of cargo test choose packages or targets.
fn reaches_measure(args: &[&str]) -> bool {
    args.iter().take_while(|arg| **arg != "--").all(|arg| !arg.starts_with('-'))
}

/// The arguments of a second run of the algorithms' own tests, where the first one was to have them.
fn sanitized<'a>(args: &[&'a str]) -> Option<Vec<&'a str>> {
    if args.is_empty() {
        return Some(vec!["--package", "ccactl-native"]);
    }
    let named = args.iter().take_while(|arg| **arg != "--").any(|arg| arg.ends_with("ccactl-native"));
    named.then(|| args.to_vec())
}

/// The property tests and the hand-worked vectors once more, with AddressSanitizer in the algorithms.
fn sanitize(args: &[&str]) -> Result {
    heading("tests of the algorithms under AddressSanitizer");
    let mut test = shell::cargo();
    test.args(["test", "--release", "--features", "ccactl-native/asan"]);
    if randomness_is_too_wide() {
        // gcc's run-time library before version 14 wants addresses that a wide randomization may give to something else.
        test.args(["--config", "target.'cfg(all())'.runner=['setarch', '-R']"]);
    }
    shell::run(test.args(args))
}

/// More random bits in addresses than the default of x86-64.
fn randomness_is_too_wide() -> bool {
    let bits = std::fs::read_to_string("/proc/sys/vm/mmap_rnd_bits").unwrap_or_default();
    bits.trim().parse::<u32>().is_ok_and(|bits| bits > 28)
}

/// Whether the arguments of cargo test (not those after `--`, which are the test runner's) choose packages themselves.
fn names_packages(args: &[&str]) -> bool {
    args.iter()
        .take_while(|arg| **arg != "--")
        .any(|arg| *arg == "-p" || *arg == "--package" || arg.starts_with("--package="))
}

/// Whether ccactl itself is among what is tested: it has all features then, as the packages have.
fn tests_ccactl(args: &[&str]) -> bool {
    !names_packages(args) || names(args, "ccactl")
}

/// Whether tests of an object store are among them.
fn needs_server(args: &[&str]) -> bool {
    tests_ccactl(args) || names(args, "ccactl-store")
}

/// Whether the arguments of cargo test choose this package.
fn names(args: &[&str], package: &str) -> bool {
    args.iter()
        .take_while(|arg| **arg != "--")
        .any(|arg| *arg == package || arg.strip_prefix("--package=") == Some(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sanitized_run_follows_the_choice_of_packages() {
        assert_eq!(sanitized(&[]), Some(vec!["--package", "ccactl-native"]));
        assert_eq!(sanitized(&["-p", "ccactl-native", "reno"]), Some(vec!["-p", "ccactl-native", "reno"]));
        assert_eq!(sanitized(&["--package=ccactl-native"]), Some(vec!["--package=ccactl-native"]));
        assert_eq!(sanitized(&["-p", "ccactl-abi"]), None);
        assert_eq!(sanitized(&["layout"]), None);
    }

    #[test]
    fn the_programs_of_measure_are_tested_unless_something_else_is_chosen() {
        assert!(reaches_measure(&[]));
        assert!(reaches_measure(&["short", "--", "--nocapture"]));
        assert!(!reaches_measure(&["-p", "ccactl-abi"]));
        assert!(!reaches_measure(&["--test", "layout"]));
    }

    #[test]
    fn ccactl_is_tested_with_its_features_and_a_server() {
        for args in [&[][..], &["some_test"], &["-p", "ccactl", "--test", "record"], &["--package=ccactl"]] {
            assert!(tests_ccactl(args) && needs_server(args), "{args:?}");
        }
        assert!(!tests_ccactl(&["-p", "ccactl-store"]) && needs_server(&["-p", "ccactl-store"]));
        assert!(!needs_server(&["-p", "ccactl-abi", "layout", "--", "ccactl"]));
    }

    #[test]
    fn chosen_packages_replace_the_workspace() {
        assert!(names_packages(&["-p", "ccactl-abi"]));
        assert!(names_packages(&["--package=xtask", "--", "--nocapture"]));
        assert!(!names_packages(&["some_test", "--", "-p"]));
        assert!(!names_packages(&[]));
    }
}
