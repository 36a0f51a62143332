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
    // Each pair once, though the matrix shows it on both sides of its diagonal: 3 near, 7 off, 5 that cannot be right.
    let pairs = read(&golden("pairs.json")).unwrap().score;
    assert_eq!((pairs.figures_met, pairs.figures), (3, 10));
    let mut sum = single.score;
    sum += pairs;
    assert_eq!((sum.figures_met, sum.figures, sum.orderings), (10, 22, 12));
}

#[test]
fn as_printed_what_a_condition_was_inferred_from_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("suite.json");
    let mut suite: serde_json::Value = serde_json::from_slice(&std::fs::read(golden("single.json")).unwrap()).unwrap();
    suite["variant"] = "as-printed".into();
    std::fs::write(&path, suite.to_string()).unwrap();
    // The throughputs of the five that are not BBR, the window and the RTT of Reno, the retransmissions of Reno, ...
    let figures =
        suite["tables"][0]["rows"].as_array().unwrap().iter().flat_map(|row| row["entries"].as_array().unwrap());
    let figures = figures.flat_map(|entry| entry.as_array().unwrap()).filter(|figure| !figure["printed"].is_null());
    let evidence = figures.filter(|figure| !figure["evidence_for"].is_null()).count();
    assert!((1..12).contains(&evidence), "{evidence} of 12");
    assert_eq!(read(folder.path()).unwrap().score.figures, 12 - evidence);
}

#[test]
fn as_printed_an_ordering_that_a_condition_was_inferred_from_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let of = |variant: Option<&str>| {
        let verdict = |text: &str| serde_json::json!({ "text": text, "outcome": "holds" });
        let verdicts = [
            verdict("F-BBRv2 is fairer than BBRv2 from 2 BDP on"),
            verdict("F-BBRv2 has a smaller gap to CUBIC than BBRv2 at 4 BDP"),
        ];
        let suite = serde_json::json!({ "scenario": "fbbrv2-vs-cubic", "variant": variant, "tables": [], "verdicts": verdicts });
        std::fs::write(folder.path().join("suite.json"), suite.to_string()).unwrap();
        read(folder.path()).unwrap().score.orderings
    };
    assert_eq!((of(None), of(Some("as-printed"))), (2, 1));
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
