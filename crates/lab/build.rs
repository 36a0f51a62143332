//! Compiles what is preloaded into QEMU.

use std::env;
use std::path::PathBuf;

const SOURCE: &str = "preload/host_time.c";

fn main() {
    println!("cargo:rerun-if-changed={SOURCE}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let compiler =
        cc::Build::new().std("c11").opt_level(2).warnings(true).extra_warnings(true).pic(true).get_compiler();
    let status = compiler
        .to_command()
        .args(["-shared", "-D_DEFAULT_SOURCE", "-o"])
        .args([out.join("host_time.so"), SOURCE.into()])
        .status()
        .unwrap_or_else(|error| panic!("cannot run the C compiler {}: {error}", compiler.path().display()));
    assert!(status.success(), "{SOURCE} does not compile ({status})");
}
