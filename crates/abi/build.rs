//! Compiles every BPF source of `bpf/` with clang and writes the table that embeds the objects.

use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/compile.rs"]
mod compile;

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let bpf = manifest.join("bpf").canonicalize().expect("a link to the folder beside crates/");
    println!("cargo:rerun-if-changed={}", bpf.display());
    println!("cargo:rerun-if-env-changed=CLANG");

    let libbpf_headers = write_libbpf_headers(&out);
    let compile = |source: &Path| compile_bpf(source, &bpf, &libbpf_headers, &out);

    let algorithms = sources(&bpf.join("cc"));
    let mut table = String::new();
    for (constant, folder) in [("ALGORITHM_OBJECTS", "cc"), ("RECEIVER_OBJECTS", "rcv")] {
        table +=
            &format!("/// Objects of `bpf/{folder}/`, by file stem.\npub static {constant}: &[(&str, &[u8])] = &[\n");
        for source in sources(&bpf.join(folder)) {
            table += &format!("    ({:?}, include_bytes!({:?})),\n", stem(&source), compile(&source));
        }
        table += "];\n";
    }
    for (name, doc, file) in [
        ("ATTACH", "sockops policy for the new sockets of a cgroup.", "attach.bpf.c"),
        ("MIGRATE", "Moves live sockets to what their policy says.", "migrate.bpf.c"),
        ("RECEIVE", "Brings live sockets to a receiving algorithm, and back.", "receive.bpf.c"),
        ("STEER", "Hands connections to chosen destinations to one listener.", "steer.bpf.c"),
        ("ECT1", "Has L4S senders send ECT(1).", "ect1.bpf.c"),
        ("LINK", "A bottleneck as a queue discipline.", "link.bpf.c"),
        ("COLLECT", "Samples and events into the ring buffer.", "collect.bpf.c"),
        ("RING_ERROR", "Measures what BBRv2's ring says of packets.", "measure/ring_error.bpf.c"),
    ] {
        let object = compile(&bpf.join(file));
        table += &format!("/// {doc}\npub static {name}: &[u8] = include_bytes!({object:?});\n");
    }
    table += &headers_table(&bpf, &libbpf_headers);
    table += "/// Sources to begin an algorithm of one's own with, by file stem.\npub static TEMPLATES: &[(&str, &str)] = &[\n";
    for name in ["reno", "cubic", "vegas", "bbr"] {
        table += &format!("    ({name:?}, include_str!({:?})),\n", bpf.join(format!("cc/{name}.bpf.c")));
    }
    table += "];\n";
    fs::write(out.join("objects.rs"), table).expect("OUT_DIR is writable");
    fs::write(out.join("test_macro.rs"), test_macro(&algorithms)).expect("OUT_DIR is writable");
}

/// One test function per algorithm, so that a test runner names and counts them one by one.
fn test_macro(algorithms: &[PathBuf]) -> String {
    let mut text = String::from(
        "/// Makes one test of each algorithm out of a function of its name: `test_every_algorithm!(moves_bytes)` calls\n\
         /// `moves_bytes(\"f-bbrv2\")` from a test `moves_bytes::f_bbrv2`, and so on for every file of `bpf/cc/`.\n\
         #[macro_export]\nmacro_rules! test_every_algorithm {\n    ($check:ident) => {\n        mod $check {\n",
    );
    for source in algorithms {
        let name = stem(source);
        let function = name.replace('-', "_");
        text += &format!("            #[test]\n            fn {function}() {{\n                ");
        text += &format!("super::$check({name:?});\n            }}\n");
    }
    text + "        }\n    };\n}\n"
}

/// The `.bpf.c` files of a folder, sorted.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder exists")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.to_string_lossy().ends_with(".bpf.c"))
        .collect();
    sources.sort();
    sources
}

/// `bpf/cc/f-bbrv2.bpf.c` → `f-bbrv2`.
fn stem(source: &Path) -> String {
    let name = source.file_name().expect("a file").to_string_lossy().into_owned();
    name.trim_end_matches(".bpf.c").to_owned()
}

/// The BPF-side headers of the very libbpf that loads the objects.
fn write_libbpf_headers(out: &Path) -> PathBuf {
    let include = out.join("include");
    fs::create_dir_all(include.join("bpf")).expect("OUT_DIR is writable");
    for (name, text) in libbpf_sys::API_HEADERS {
        fs::write(include.join("bpf").join(name), text).expect("OUT_DIR is writable");
    }
    include
}

fn compile_bpf(source: &Path, bpf: &Path, libbpf_headers: &Path, out: &Path) -> PathBuf {
    let object = out.join(format!("{}.bpf.o", stem(source)));
    let includes = [&*bpf.join("include"), libbpf_headers];
    let said = compile::run_clang(&["-Werror", "-c"], source, &includes, &object)
        .unwrap_or_else(|error| panic!("cannot run clang: {error}; `cargo xtask setup` installs it"));
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    compile::strip(&object);
    object
}

/// What a file outside of this tree is compiled with: our headers, those of libbpf that they include, and what the native
/// build needs besides.
fn headers_table(bpf: &Path, libbpf_headers: &Path) -> String {
    let is_header = |path: &PathBuf| path.is_file() && path.extension().is_some_and(|extension| extension == "h");
    let in_folder = |folder: &Path| {
        let entries =
            fs::read_dir(folder).expect("a folder of headers").map(|entry| entry.expect("it is readable").path());
        let mut found: Vec<PathBuf> = entries.filter(is_header).collect();
        found.sort();
        found
    };
    let libbpf = ["bpf_helpers.h", "bpf_helper_defs.h", "bpf_tracing.h", "bpf_core_read.h", "bpf_endian.h"];
    let libbpf = libbpf.map(|name| (format!("bpf/{name}"), libbpf_headers.join("bpf").join(name)));
    let ours = in_folder(&bpf.join("include"))
        .into_iter()
        .map(|path| (path.file_name().expect("a file").to_string_lossy().into_owned(), path));
    let host = ["cc_host.h", "rcv_host.h", "cc_host.c", "cc_host_ubsan.c"];
    let host = host.map(|name| (format!("host/{name}"), bpf.join("include/host").join(name)));
    let mut table =
        String::from("/// Headers by the name that `#include` has.\npub static HEADERS: &[(&str, &str)] = &[\n");
    for (name, path) in ours.chain(libbpf).chain(host) {
        table += &format!("    ({name:?}, include_str!({path:?})),\n");
    }
    table + "];\n"
}
