//! `ccactl evaluate` on the real kernel: what it says of an algorithm that harms others, and of one that is of no use.

use crate::host::{Host, failed};
use serde_json::Value;
use std::path::Path;

const HARMFUL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluation/harmful.bpf.c");
const USELESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evaluation/useless.bpf.c");

/// The first line, and the card.
fn evaluated(host: &Host, algorithm: &str, output: &Path, paths: &[&str]) -> (String, Value) {
    let output = output.to_str().unwrap();
    let mut args = vec!["evaluate", algorithm, "--profile", "quick", "--jobs", "2", "--attempts", "5", "-o", output];
    args.extend(paths.iter().flat_map(|path| ["--path", path]));
    let told = host.ok(&args);
    // From the same folder: nothing is run again.
    args.push("--json");
    (told.lines().next().unwrap().to_owned(), host.json(&args))
}

fn rows(card: &Value) -> Vec<&Value> {
    card["groups"].as_array().unwrap().iter().flat_map(|group| group["rows"].as_array().unwrap()).collect()
}

#[test]
fn harmful_and_useless_algorithms_are_called_so_in_the_first_line() {
    let Some(host) = Host::with_root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");

    let (headline, card) = evaluated(&host, HARMFUL, &output, &["beside-cubic"]);
    assert!(headline.starts_with("Harmful: harmful does others harm of "), "{headline}");
    let [row] = rows(&card)[..] else { panic!("{card:#}") };
    assert_eq!((&row["path"], &row["verdict"]), (&"beside-cubic".into(), &"worse".into()), "{row}");
    let mean = |of: &str| row[of]["mean"].as_f64().unwrap();
    assert!(mean("subject") > 75.0 && (25.0..75.0).contains(&mean("cubic")), "{row}");

    let (headline, card) = evaluated(&host, USELESS, &output, &["bulk", "shallow-buffer"]);
    assert!(headline.starts_with("Of little use: useless carries less than half"), "{headline}");
    let bulk = rows(&card).into_iter().find(|row| row["path"] == "bulk" && row["measure"] == "goodput").unwrap();
    let mean = |of: &str| bulk[of]["mean"].as_f64().unwrap();
    // Four packets of 1448 bytes per 40 ms.
    assert!((0.9..1.25).contains(&mean("subject")) && mean("cubic") > 16.0, "{bulk}");

    let page = |name: &str| {
        let found = std::fs::read_dir(&output).unwrap().flatten().map(|entry| entry.path());
        let mut pages = found.filter(|path| path.extension().is_some_and(|ext| ext == "html"));
        std::fs::read_to_string(pages.find(|path| path.display().to_string().contains(name)).unwrap()).unwrap()
    };
    assert!(page("harmful-").contains("Harmful: harmful") && page("useless-").contains("Of little use"));
    let cell = output.join("native-cubic/bulk/report.html");
    assert!(cell.exists(), "a page for each path: {}", cell.display());
}

#[test]
fn what_cannot_be_evaluated_is_said_before_anything_runs() {
    let host = Host::new();
    let output = host.run.path().join("out");
    let evaluate = |args: &[&str]| {
        let all = ["evaluate"].iter().chain(args).chain(&["-o", output.to_str().unwrap()]).copied().collect::<Vec<_>>();
        host.ccactl(&all)
    };
    failed(&evaluate(&["bbrv9"]), 2, &["bbrv9", "nearest"]);
    let profile = evaluate(&["bbrv3", "--profile", "rfc"]);
    let said = String::from_utf8_lossy(&profile.stderr).into_owned();
    assert!(profile.status.code() == Some(2) && said.contains("expected rfc9743 or quick or bbr-draft"), "{said}");
    failed(&evaluate(&["bbrv3", "--path", "nowhere"]), 2, &["nowhere"]);
    failed(&evaluate(&["bbrv3", "--preset", "none"]), 2, &["none", "draft"]);
    assert!(!output.exists());
}
