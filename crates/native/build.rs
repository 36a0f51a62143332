//! Compiles every algorithm of `bpf/cc/` and `bpf/rcv/` for the host, twice: plain, and with undefined behaviour turned into a trap. With
//! the feature `asan` both also have AddressSanitizer.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let bpf = manifest.join("../../bpf").canonicalize().expect("bpf/ lies beside crates/");
    println!("cargo:rerun-if-changed={}", bpf.display());

    base(&bpf).file(bpf.join("include/host/cc_host.c")).compile("cc_host");
    base(&bpf).file(bpf.join("include/host/link_host.c")).compile("link_host");
    let mut faults = base(&bpf);
    check(&mut faults);
    faults.file(bpf.join("include/host/cc_host_faults.c")).compile("cc_host_faults");
    if asan() {
        link_asan();
    }

    let senders = units(&bpf, "cc", "cca_unit");
    let receivers = units(&bpf, "rcv", "rcv_unit");
    let names: Vec<String> = sources(&bpf, "cc").iter().map(|source| stem(source)).collect();
    let text = senders.table("RawUnit", "raw_unit")
        + &format!("\n/// File stems under `bpf/cc/`, sorted.\npub const NAMES: &[&str] = &{names:?};\n");
    fs::write(out.join("units.rs"), text).expect("OUT_DIR is writable");
    let text = receivers.table("RawReceiver", "raw_receiver");
    fs::write(out.join("receivers.rs"), text).expect("OUT_DIR is writable");
}

/// Symbols of compiled units, as Rust declares and finds them.
#[derive(Default)]
struct Units {
    declarations: Vec<String>,
    rows: String,
}

impl Units {
    fn table(&self, raw: &str, function: &str) -> String {
        let declarations: Vec<String> =
            self.declarations.iter().map(|symbol| format!("    static {symbol}: {raw};\n")).collect();
        format!(
            "unsafe extern \"C\" {{\n{}}}\n\nfn {function}(name: &str, checked: bool) -> Option<*const {raw}> {{\n    \
             match (name, checked) {{\n{}        _ => None,\n    }}\n}}\n",
            declarations.concat(),
            self.rows
        )
    }
}

/// Compiles what is in a folder of `bpf/`, plain and checked.
fn units(bpf: &Path, folder: &str, prefix: &str) -> Units {
    let mut units = Units::default();
    for source in sources(bpf, folder) {
        let stem = stem(&source);
        let symbol = format!("{prefix}_{}", stem.replace('-', "_"));
        for (symbol, checked) in [(symbol.clone(), false), (symbol + "_checked", true)] {
            compile_unit(&source, &symbol, checked, bpf);
            writeln!(units.rows, "        ({stem:?}, {checked}) => Some(&raw const {symbol}),")
                .expect("writing to a String");
            units.declarations.push(symbol);
        }
    }
    units
}

/// The algorithms of a folder of `bpf/`, sorted.
fn sources(bpf: &Path, folder: &str) -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> = fs::read_dir(bpf.join(folder))
        .expect("the folder exists")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.to_string_lossy().ends_with(".bpf.c"))
        .collect();
    sources.sort();
    sources
}

fn base(bpf: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .std("gnu11")
        .define("CCA_HOST", None)
        .include(bpf.join("include"))
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .flag("-Wno-unused-parameter");
    if asan() {
        // CCA_GUARD puts poisoned bytes around the private state.
        build.flag("-fsanitize=address").flag("-fno-omit-frame-pointer").define("CCA_GUARD", None);
    }
    build
}

fn asan() -> bool {
    env::var_os("CARGO_FEATURE_ASAN").is_some()
}

/// rustc links with -nodefaultlibs, which makes gcc leave its run-time library out. The static one is taken whole, so that
/// the test's own malloc and free are its: an allocation of Rust then has red zones like one of C.
fn link_asan() {
    let compiler = cc::Build::new().get_compiler();
    assert!(compiler.is_like_gnu(), "the feature asan needs gcc as the C compiler: set CC=gcc");
    let output = compiler.to_command().arg("-print-file-name=libasan.a").output().expect("the compiler runs");
    let library = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    assert!(library.is_absolute(), "gcc has no libasan.a: on Debian and Ubuntu it is in the package libgcc-N-dev");
    for argument in ["-Wl,--whole-archive", &library.to_string_lossy(), "-Wl,--no-whole-archive", "-lm"] {
        println!("cargo:rustc-link-arg={argument}");
    }
}

fn compile_unit(source: &Path, symbol: &str, checked: bool, bpf: &Path) {
    let mut build = base(bpf);
    build.define("CCA_UNIT", symbol);
    if checked {
        check(&mut build);
    }
    build.file(source).compile(symbol);
}

/// A trap needs no run-time library. The two compilers spell it differently.
fn check(build: &mut cc::Build) {
    let trap = if build.get_compiler().is_like_clang() {
        "-fsanitize-trap=undefined"
    } else {
        "-fsanitize-undefined-trap-on-error"
    };
    build.flag("-fsanitize=undefined").flag(trap);
}

/// `bpf/cc/f-bbrv2.bpf.c` → `f-bbrv2`.
fn stem(source: &Path) -> String {
    let name = source.file_name().expect("a file").to_string_lossy().into_owned();
    name.trim_end_matches(".bpf.c").to_owned()
}
