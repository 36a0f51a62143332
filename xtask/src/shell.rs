//! Running other programs: always from the root of the workspace, always with the command line shown.

use crate::error::{Error, FAILURE, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What packages, the tests and the gates build ccactl with. The demo builds it without, which takes a minute less.
pub const FEATURES: [&str; 2] = ["--features", "ccactl/object-store"];

/// Root of the workspace: the folder above `xtask/`.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask/ lies in the workspace").to_owned()
}

/// The cargo that started xtask, in the root of the workspace.
pub fn cargo() -> Command {
    let mut command = cargo_here();
    command.current_dir(root());
    command
}

/// The cargo that started xtask, in the folder where the user is.
pub fn cargo_here() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(describes_xtask) {
            command.env_remove(name);
        }
    }
    command
}

/// Variables with which `cargo run` describes xtask itself. Some build scripts (ring's) are run again when they change, and
/// polars stands on those: handed on, every clone and every plain `cargo build` would compile all of it anew.
fn describes_xtask(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
        || ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"].contains(&name)
}

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A program that will run in the root of the workspace.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Heading of a step.
pub fn heading(text: &str) {
    println!("\n== {text}");
}

/// Runs a command with its output visible; not ending with 0 is an error.
pub fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| Error::io(&format!("cannot run {}", name(command)), &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::new(exit_code(status), format!("`{}` failed ({status})", line(command))))
    }
}

/// What a command prints; not ending with 0 is an error.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Error::io(&format!("cannot run {}", name(command)), &error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Error::new(exit_code(output.status), format!("`{}` failed ({})", line(command), output.status)))
    }
}

/// Whether a command runs and ends with 0, its output unseen.
pub fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// The command as one would type it.
pub fn line(command: &Command) -> String {
    let mut words = vec![name(command)];
    words.extend(command.get_args().map(|arg| {
        let arg = arg.to_string_lossy();
        if arg.is_empty() || arg.contains([' ', '\'']) { format!("'{arg}'") } else { arg.into_owned() }
    }));
    words.join(" ")
}

/// File name of the program, which is all that a reader wants to see of `/home/…/bin/cargo`.
fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

/// The child's own code, so that `cargo xtask demo` ends as `ccactl demo` did.
fn exit_code(status: std::process::ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILURE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_of_a_child_is_kept() {
        let error = run(Command::new("sh").args(["-c", "exit 6"])).expect_err("6 is a failure");
        assert_eq!(error.code, 6);
        assert!(error.message.starts_with("`sh -c 'exit 6'` failed"), "{}", error.message);
    }

    #[test]
    fn what_cargo_says_of_xtask_is_not_handed_on() {
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_BIN_NAME"] {
            assert!(describes_xtask(name), "{name}");
        }
        for name in ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "PATH", "CI"] {
            assert!(!describes_xtask(name), "{name}");
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_named() {
        let error = run(&mut Command::new("/nonexistent/frobnicate")).expect_err("there is no such program");
        assert!(error.message.starts_with("cannot run frobnicate"), "{}", error.message);
    }

    #[test]
    fn the_root_is_the_workspace() {
        assert!(root().join("Cargo.lock").is_file());
        assert!(root().join("bpf/cc").is_dir());
    }
}
