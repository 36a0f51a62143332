//! Counts of what was met, from what suites have left.

use ccactl_suites::score::{Score, read};
use std::path::Path;

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn what_was_not_measured_was_not_met_and_faulty_print_does_not_count() {
    // Of 12 printed figures 7 are near, 1 is off, and 4 were not measured.
    let single = read(&golden("single.json")).unwrap();
    let expected = Score { figures_met: 7, figures: 12, orderings_hold: 0, orderings_undecided: 3, orderings: 4 };
    assert_eq!(
        (single.scenario.as_str(), single.variant.as_deref(), single.score),
        ("interaction-single", None, expected)
    );
    // 5 near, 12 off, 10 that cannot be right.
    let pairs = read(&golden("pairs.json")).unwrap().score;
    assert_eq!((pairs.figures_met, pairs.figures), (5, 17));
    let mut sum = single.score;
    sum += pairs;
    assert_eq!((sum.figures_met, sum.figures, sum.orderings), (12, 29, 11));
}

#[test]
fn a_folder_stands_for_its_file_and_other_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read(folder.path()).unwrap_err().to_string();
    assert!(missing.contains("suite.json: read it"), "{missing}");
    std::fs::copy(golden("plain.json"), folder.path().join("suite.json")).unwrap();
    assert_eq!(read(folder.path()).unwrap().score, Score::default());
    std::fs::write(folder.path().join("suite.json"), "{}").unwrap();
    let other = read(folder.path()).unwrap_err().to_string();
    assert!(other.contains("suite.json") && other.contains("missing field"), "{other}");
}
