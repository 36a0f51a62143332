//! A gate: nobody compiles a dependency twice. Cargo compiles one anew for each set of features that it is asked for, and the set depends
//! on what is built: `ccactl` alone, every test, or the programs of `measure/`.

use crate::error::{Error, FAILURE, Result};
use crate::measure;
use crate::shell::{self, cargo};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Of the packages in a build, by name and version; two sets where one is for build scripts and macros.
type Features = BTreeMap<String, BTreeSet<String>>;

/// Packages that the tests have with more features than the demo, which has no object store and so no HTTP client. A build of `ccactl` alone
/// compiles them once more, and axum, which is all that stands on them.
const SERVERS_ONLY: [&str; 4] = ["hyper ", "hyper-util ", "sync_wrapper ", "tower "];

/// Compares what `cargo xtask demo` and `measure/` build with what the tests build.
pub fn check() -> Result {
    let tests = tree(cargo().args(["tree", "--workspace", "--edges", "normal,build,dev"]).args(shell::FEATURES))?;
    let builds = [
        ("-p ccactl", tree(cargo().args(["tree", "-p", "ccactl", "--edges", "normal,build"]))?),
        ("measure/", tree(measure::with_manifest("tree").args(["--edges", "normal,build,dev"]))?),
    ];
    let mut found: Vec<String> = builds.iter().flat_map(|(name, build)| apart(name, build, &tests)).collect();
    found.retain(|line| !SERVERS_ONLY.iter().any(|package| line.starts_with(package)));
    found.iter().for_each(|line| println!("{line}"));
    if found.is_empty() {
        println!("{} packages have the same features in the demo, the tests and measure/", tests.len());
        return Ok(());
    }
    Err(Error::new(
        FAILURE,
        "dependencies are compiled twice: give them the same features in Cargo.toml, crates/ccactl/Cargo.toml and measure/Cargo.toml",
    ))
}

/// What a build would compile apart from the tests' build.
fn apart(name: &str, build: &Features, tests: &Features) -> Vec<String> {
    let missing = |package: &String, features: &String| match tests.get(package) {
        Some(sets) if sets.contains(features) => None,
        Some(sets) => {
            let others: Vec<_> = sets.iter().map(String::as_str).collect();
            Some(format!("{package}: {name} has [{features}], the tests have [{}]", others.join("] or [")))
        }
        None => {
            Some(format!("{package}: {name} has it, the tests have not (Cargo.lock and measure/Cargo.lock differ?)"))
        }
    };
    let all = build.iter().flat_map(|(package, sets)| sets.iter().map(move |features| (package, features)));
    all.filter_map(|(package, features)| missing(package, features)).collect()
}

/// What cargo would build.
fn tree(command: &mut Command) -> Result<Features> {
    command.args(["--locked", "--prefix", "none", "--format", "{p}\t{f}"]);
    let output = command.output().map_err(|error| Error::io("cannot run cargo tree", &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(FAILURE, format!("`{}` failed: {}", shell::line(command), said.trim())));
    }
    Ok(parse(&String::from_utf8_lossy(&output.stdout)))
}

/// From lines of `NAME VERSION[ (proc-macro)][ (FOLDER)]`, a tab and the features, with ` (*)` at the end of what was there before. Packages in
/// a folder are the project's own: tests may have them with other features.
fn parse(tree: &str) -> Features {
    let mut features = Features::new();
    for line in tree.lines() {
        let Some((package, set)) = line.split_once('\t') else { continue };
        if !package.contains("(/") {
            let set = set.trim_end_matches("(*)").trim_end().to_owned();
            features.entry(package.to_owned()).or_default().insert(set);
        }
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: &str = "ccactl v0.1.0 (/work/crates/ccactl)\t\nsyn v2.0.1\tfold,full\nsyn v3.0.0\tfull\nlibc v0.2.1\tstd\n\
                         libc v0.2.1\tstd (*)\nlibc v0.2.1\t\nserde_derive v1.0.0 (proc-macro)\tdefault\n";

    #[test]
    fn a_build_with_the_features_of_the_tests_is_not_apart() {
        let demo = "syn v3.0.0\tfull (*)\nlibc v0.2.1\t (*)\nserde_derive v1.0.0 (proc-macro)\tdefault\n";
        assert_eq!(apart("demo", &parse(demo), &parse(TESTS)), Vec::<String>::new());
    }

    #[test]
    fn another_set_of_features_and_another_version_are_named() {
        let found = apart("demo", &parse("syn v2.0.1\tfull\nlibc v0.2.2\tstd\n"), &parse(TESTS));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("libc v0.2.2: demo has it, the tests have not"), "{found:?}");
        assert_eq!(found[1], "syn v2.0.1: demo has [full], the tests have [fold,full]");
    }

    #[test]
    fn the_projects_own_crates_may_have_other_features() {
        assert!(!parse(TESTS).contains_key("ccactl v0.1.0 (/work/crates/ccactl)"));
        assert_eq!(parse(TESTS).len(), 4);
        assert_eq!(parse(TESTS)["libc v0.2.1"].len(), 2, "one of them for macros");
    }
}
