//! An algorithm's file as a library of this host, with undefined behaviour told by its line.

use crate::unit::SYMBOL;
use ccactl_abi::compile::clang;
use ccactl_abi::objects::unpack_headers;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Headers or compiler.
    #[error("cannot compile {} for this host: {cause}", path.display())]
    Io {
        /// The source.
        path: PathBuf,
        /// What failed.
        cause: io::Error,
    },
    /// The compiler's own words.
    #[error("{said}\n{} does not compile for this host", path.display())]
    Compile {
        /// The source.
        path: PathBuf,
        /// Its standard error.
        said: String,
    },
}

/// Makes a library of a `.bpf.c` in the folder `room`, for [`Unit::load`](crate::Unit::load). At undefined behaviour it ends
/// the process with code 1, after a line on standard error.
///
/// # Errors
/// [`BuildError`]
pub fn build(source: &Path, room: &Path) -> Result<PathBuf, BuildError> {
    let fail = |cause| BuildError::Io { path: source.to_owned(), cause };
    let include = unpack_headers(room).map_err(fail)?;
    let library = room.join("unit.so");
    let mut command = Command::new(clang());
    command.args(["-std=gnu11", "-O1", "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-DCCA_HOST", "-DCCA_PLACES"]);
    // What this host does not have is told here, not at the first call.
    command.args(["-Werror=implicit-function-declaration", "-Wl,-z,defs"]);
    // Its own handlers tell the line. Callbacks are called through a table of untyped pointers.
    command.args(["-fsanitize=undefined", "-fno-sanitize-recover=all", "-fno-sanitize=function,vptr"]);
    command.arg(format!("-DCCA_UNIT=__attribute__((visibility(\"default\"))) {SYMBOL}")).arg("-I").arg(&include);
    command.arg(source).arg("-o").arg(&library);
    for host in ["cc_host.c", "cc_host_ubsan.c"] {
        command.arg(include.join("host").join(host));
    }
    let output = command.output().map_err(fail)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        return Err(BuildError::Compile { path: source.to_owned(), said });
    }
    Ok(library)
}
