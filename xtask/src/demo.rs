//! `cargo xtask demo`: from a fresh clone to a table of BBRv2 and F-BBRv2 against CUBIC on this kernel.

use crate::error::{Error, Result};
use crate::setup::privilege::{is_root, sudo_runner};
use crate::setup::{self, Scope, host};
use crate::shell::{self, heading};
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

/// Prepares the machine, builds, and becomes `ccactl demo ARGS`.
pub fn run(args: &[&str]) -> Result<ExitCode> {
    heading("kernel");
    host::mount_bpffs();
    let facts = host::inspect();
    host::print(&facts);
    host::require(&facts)?;
    setup::tools(Scope::Build)?;

    heading("build (the first time it compiles all dependencies: about ten minutes on two cores)");
    shell::run(shell::cargo().args(["build", "--release", "--package", "ccactl"]))?;

    heading("demo");
    let mut demo = shell::cargo_here();
    demo.args(["run", "--release", "--quiet", "--package", "ccactl"]);
    if !is_root() {
        demo.args(sudo_runner());
    }
    demo.args(["--", "demo"]).args(args);
    // exec, so that signals and the exit code are those of ccactl, in the folder where the user is.
    Err(Error::io("cannot run cargo", &demo.exec()))
}
