//! What people read goes through `ccactl_host::terminal`, in every crate that is part of `ccactl`: a line of code that goes
//! round it is found here.

use std::fs;
use std::path::{Path, PathBuf};

/// What writes to standard output or standard error by itself.
const ROUND_IT: [&str; 7] = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!(", "io::stdout()", "io::stderr()"];
/// What hands text to a progress bar, which writes escapes of its own.
const TO_A_BAR: [&str; 5] = [".set_message(", ".set_prefix(", "bar.println(", "bars.println(", "overall.println("];

/// Files that may, with the reason.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("host/src/terminal.rs", "it is the way"),
    ("collector/src/writer.rs", "the stream of a recording, which is refused where standard output is a terminal"),
    ("testbed/src/traffic/protocol.rs", "the protocol between the bench and its flows, on pipes"),
    ("lab/src/guest/mod.rs", "the console of a guest; its host shows it through the module"),
];

/// Bars whose text is figures of our own.
const OWN_FIGURES: [&str; 4] = [
    "progress_text(&recorder.progress())",
    "{canary_flows} + {baseline_flows}",
    "about {} left",
    "{running} tasks run, {waiting} wait",
];

#[test]
fn nothing_is_printed_round_the_module_that_makes_it_fit() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let mut files = 0;
    for file in sources(crates) {
        let name = file.strip_prefix(crates).unwrap().display().to_string();
        if EXCEPTIONS.iter().any(|(exception, _)| *exception == name) {
            continue;
        }
        files += 1;
        let text = fs::read_to_string(&file).unwrap();
        // Tests print for those who develop.
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (at, line) in code.lines().enumerate() {
            if goes_round(line.trim_start()) {
                found.push(format!("{name}:{}: {}", at + 1, line.trim_start()));
            }
        }
    }
    assert!(files > 200, "only {files} files were looked at: are the sources elsewhere now?");
    assert!(found.is_empty(), "use outln!, errln! or terminal::out() of ccactl_host:\n{}", found.join("\n"));
}

#[test]
fn the_gate_knows_a_call_that_goes_round_from_one_that_does_not() {
    for line in [
        "println!(\"{cgroup}\");",
        "Ok(_) => eprintln!(\"x\"),",
        "let mut out = io::stdout().lock();",
        "match std::io::stderr().write_all(text) {",
        "self.bar.println(line)",
    ] {
        assert!(goes_round(line), "{line}");
    }
    for line in [
        "outln!(\"{cgroup}\");",
        "/// println!(\"{}\")",
        "//! println!(\"{}\")",
        "self.bar.println(fit(line))",
        "terminal::out().write_all(text)",
    ] {
        assert!(!goes_round(line), "{line}");
    }
}

fn goes_round(code: &str) -> bool {
    let is_raw = ROUND_IT.iter().any(|call| is_call(code, call));
    let is_raw_bar = TO_A_BAR.iter().any(|call| code.contains(call))
        && !["fit(", "fit_line("].iter().any(|call| code.contains(call))
        && !OWN_FIGURES.iter().any(|own| code.contains(own));
    !code.starts_with("//") && (is_raw || is_raw_bar)
}

/// Not a call whose name only ends like it: `outln!` has no `println!` in it, `eprintln!` has one.
fn is_call(code: &str, call: &str) -> bool {
    code.match_indices(call).any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// The sources of all crates, without their tests and examples.
fn sources(crates: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending: Vec<PathBuf> =
        fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src")).collect();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}
