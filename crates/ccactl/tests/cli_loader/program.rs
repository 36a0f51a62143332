//! What the program needs of a host, and what it writes for its packages.

use object::{Object, ObjectSection};
use std::fs;
use std::process::Command;

/// RHEL 9 has it; Debian 12 and Ubuntu 22.04 have later ones.
const GLIBC: (u32, u32) = (2, 34);

fn ccactl(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_ccactl")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_runs_with_the_glibc_of_rhel_9() {
    let program = fs::read(env!("CARGO_BIN_EXE_ccactl")).unwrap();
    let file = object::File::parse(&*program).unwrap();
    let names = file.section_by_name(".dynstr").unwrap().data().unwrap();
    let version = |name: &[u8]| {
        let (major, minor) = str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split_once('.')?;
        // 2.2.5 has a third part, and is older than anything.
        Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
    };
    let versions: Vec<(u32, u32)> = names.split(|byte| *byte == 0).filter_map(version).collect();
    assert!(versions.len() > 5, "it names the versions that it needs: {versions:?}");
    let newest = versions.iter().max().unwrap();
    assert!(*newest <= GLIBC, "expected GLIBC_{}.{} at most, found {newest:?}", GLIBC.0, GLIBC.1);
}

#[test]
fn the_version_names_what_it_agrees_on_with_others() {
    let version = ccactl(&["--version"]);
    for part in [env!("CARGO_PKG_VERSION"), "recordings: schema 4", "contract 1"] {
        assert!(version.contains(part), "{part}: {version}");
    }
    assert_eq!(ccactl(&["-V"]).trim(), format!("ccactl {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn it_writes_manual_pages_and_completions() {
    let folder = tempfile::tempdir().unwrap();
    ccactl(&["__pages", folder.path().to_str().unwrap()]);
    let page = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(page("man/ccactl.1").contains("a threshold of a scenario was missed"));
    assert!(page("man/ccactl-swap.1").contains("ccactl swap f\\-bbrv2 \\-\\-cgroup /web"), "it has examples");
    for name in ["__flow", "help-swap", "bench-help"] {
        assert!(!folder.path().join(format!("man/ccactl-{name}.1")).exists(), "{name}");
    }
    for completion in ["ccactl.bash", "_ccactl", "ccactl.fish"] {
        assert!(page(&format!("completions/{completion}")).contains("rollback"), "{completion}");
    }
}
