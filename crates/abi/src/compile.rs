//! From a C file to a BPF object: for the build of this crate (`build.rs` includes this file) and for a path in the place
//! of an algorithm's name alike.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, Output};

/// -mcpu=v3: understood by every clang since 9 and every kernel since 5.1; v4 would need kernel 6.6.
pub const FLAGS: [&str; 10] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-O2",
    "-g",
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-missing-declarations",
];

/// `CLANG`, or `clang`.
#[must_use]
pub fn clang() -> OsString {
    env::var_os("CLANG").unwrap_or_else(|| "clang".into())
}

/// Makes `output` of `source`. `mode` is what clang is to do: `-c`, or `-E` for the text after the preprocessor.
///
/// # Errors
/// When clang cannot be run; what it says of the file is in the output.
pub fn run_clang(mode: &[&str], source: &Path, includes: &[&Path], output: &Path) -> io::Result<Output> {
    let includes = includes.iter().flat_map(|include| [OsStr::new("-I"), include.as_os_str()]);
    let mut command = Command::new(clang());
    command.args(FLAGS).arg("-fno-stack-protector").args(includes).args(mode).arg(source).arg("-o").arg(output);
    command.output()
}

/// DWARF is of no use to the loader; BTF (.BTF, .BTF.ext) stays. Without llvm-strip the object is only larger.
pub fn strip(object: &Path) {
    let _ = Command::new("llvm-strip").arg("-g").arg(object).output();
}
