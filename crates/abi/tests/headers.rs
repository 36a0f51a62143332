//! What the header comment of every file of `bpf/cc/` has to say.

use std::path::Path;

/// Every file includes these two.
const USUAL_INCLUDES: usize = 2;

/// Names and texts of the files.
fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/cc");
    let files = std::fs::read_dir(folder).expect("bpf/cc is there").map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().trim_end_matches(".bpf.c").to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    };
    files.map(read).collect()
}

/// The phases that the file itself declares, as a diagram names them: without the name of the algorithm.
fn phases<'a>(name: &str, text: &'a str) -> Vec<&'a str> {
    let declared = text.split_once("\nCC_MODES(").and_then(|(_, rest)| rest.split_once(");"));
    let own = format!("{}_", name.to_uppercase().replace('-', "_"));
    let phases = declared.map_or("", |(phases, _)| phases).split(',').skip(1).map(str::trim);
    phases.map(|phase| phase.strip_prefix(&own).unwrap_or(phase)).collect()
}

#[test]
fn a_header_has_the_nutshell_every_phase_and_the_order_of_further_headers() {
    let mut missing = Vec::new();
    for (name, text) in files() {
        let (header, code) = text.split_once("*/").expect("a header comment");
        let mut want = |holds: bool, what: String| {
            if !holds {
                missing.push(format!("{name}: {what}"));
            }
        };
        want(header.contains("In a nutshell:"), "`In a nutshell:`".to_owned());
        for phase in phases(&name, code) {
            want(header.contains(phase), format!("phase {phase} in the diagram"));
        }
        let includes = code.lines().filter(|line| line.starts_with("#include")).count();
        let says_order = ["Read ", "read first", "to read"].iter().any(|words| header.contains(words));
        want(includes <= USUAL_INCLUDES || says_order, "the order in which to read its headers".to_owned());
    }
    assert_eq!(missing, Vec::<String>::new());
}
