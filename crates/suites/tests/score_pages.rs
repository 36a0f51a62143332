//! The score in the documents is that of the stored results. With `CCACTL_BLESS=1` it is written there.

use ccactl_suites::score::{Score, Scored, read};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// By suite.
fn stored(run: &str) -> BTreeMap<String, Scored> {
    let folder = root().join("docs/experiments/results").join(run);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    files
        .map(|file| {
            let path = file.unwrap().path();
            let scored = read(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(path.file_stem().unwrap().to_str(), Some(scored.scenario.as_str()));
            (scored.scenario.clone(), scored)
        })
        .collect()
}

fn figures(score: Score) -> String {
    if score.figures == 0 { "–".to_owned() } else { format!("{} of {}", score.figures_met, score.figures) }
}

fn orderings(score: Score) -> String {
    format!("{} of {}", score.orderings_hold, score.orderings)
}

/// The table, and one sentence.
fn score() -> (String, String) {
    let (written, printed) = (stored("as-written"), stored("as-printed"));
    assert!(printed.keys().all(|suite| written.contains_key(suite)), "a suite is run as it is written too");
    let mut table = String::from(
        "| suite | figures as written | as printed | orderings as written | as printed | undecided |\n|---|---|---|---|---|---|\n",
    );
    let (mut of_written, mut of_printed) = (Score::default(), Score::default());
    let row = |name: &str, written: Score, printed: Option<Score>| {
        let of = |text: fn(Score) -> String| printed.map_or_else(|| "=".to_owned(), text);
        let undecided = printed.unwrap_or(written).orderings_undecided;
        format!(
            "| {name} | {} | {} | {} | {} | {undecided} |\n",
            figures(written),
            of(figures),
            orderings(written),
            of(orderings)
        )
    };
    for (suite, scored) in &written {
        let as_printed = printed.get(suite).map(|scored| scored.score);
        table += &row(&format!("[{suite}]({suite}.md)"), scored.score, as_printed);
        of_written += scored.score;
        of_printed += as_printed.unwrap_or(scored.score);
    }
    table += &row("**all**", of_written, Some(of_printed));
    let sentence = format!(
        "As the scenarios are written, {} printed figures are met and {} orderings hold.\n\
         Under the conditions that the print shows it is {} and {}, {} undecided\n\
         ([the score](docs/experiments/score.md)).\n",
        figures(of_written),
        orderings(of_written),
        figures(of_printed),
        orderings(of_printed),
        of_printed.orderings_undecided
    );
    (table, sentence)
}

fn check(page: &str, block: &str, expected: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {block} -->\n"), format!("<!-- /{block} -->"));
    let from = text.find(&begin).unwrap_or_else(|| panic!("{page} has {begin}")) + begin.len();
    let to = from + text[from..].find(&end).unwrap_or_else(|| panic!("{page} has {end}"));
    if std::env::var_os("CCACTL_BLESS").is_some() {
        std::fs::write(&path, format!("{}{expected}{}", &text[..from], &text[to..])).unwrap();
        return;
    }
    assert_eq!(&text[from..to], expected, "{page}: `CCACTL_BLESS=1 cargo test --test score_pages` writes it");
}

#[test]
fn the_score_of_the_documents_is_that_of_the_stored_results() {
    let (table, sentence) = score();
    check("docs/experiments/score.md", "score", &table);
    check("README.md", "score", &sentence);
}
