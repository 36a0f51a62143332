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

/// Of one suite: as it is written, as printed, and the same simulated. What is missing is as the one before.
#[derive(Clone, Copy, Default)]
struct Three([Score; 3]);

fn row(name: &str, Three([written, printed, simulated]): Three, has: [bool; 2]) -> String {
    let of = |text: fn(Score) -> String, score, has: bool| if has { text(score) } else { "=".to_owned() };
    let three = |text: fn(Score) -> String| {
        format!("{} | {} | {}", text(written), of(text, printed, has[0]), of(text, simulated, has[1]))
    };
    let undecided = format!("{}, {}", printed.orderings_undecided, simulated.orderings_undecided);
    format!("| {name} | {} | {} | {undecided} |\n", three(figures), three(orderings))
}

/// Suites that stand on the page of another one.
const SHARED_PAGES: [(&str, &str); 2] = [("p4-upload", "p4"), ("fbbrv2-staggered", "fbbrv2-beside")];

fn page_of(suite: &str) -> &str {
    SHARED_PAGES.iter().find(|(of, _)| *of == suite).map_or(suite, |(_, page)| page)
}

/// The table, and the sentences.
fn score() -> (String, String) {
    let (written, printed, simulated) = (stored("as-written"), stored("as-printed"), stored("simulated"));
    for suite in printed.keys().chain(simulated.keys()) {
        assert!(written.contains_key(suite), "{suite}: a suite is run as it is written too");
    }
    let mut table = String::from(
        "| suite | figures as written | as printed | simulated | orderings as written | as printed | simulated | undecided |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    let mut all = Three::default();
    for (suite, scored) in &written {
        let (of_printed, of_simulated) = (printed.get(suite), simulated.get(suite));
        let as_printed = of_printed.unwrap_or(scored).score;
        let three = [scored.score, as_printed, of_simulated.map_or(as_printed, |scored| scored.score)];
        table += &row(
            &format!("[{suite}]({}.md)", page_of(suite)),
            Three(three),
            [of_printed.is_some(), of_simulated.is_some()],
        );
        for (sum, score) in all.0.iter_mut().zip(three) {
            *sum += score;
        }
    }
    table += &row("**all**", all, [true, true]);
    let Three([written, printed, simulated]) = all;
    let sentence = format!(
        "As the scenarios are written, {} printed figures are met and {} orderings hold.\n\
         Under the conditions that the print shows it is {} and {}, {} undecided.\n\
         Simulated under the same conditions, with more runs, it is {} and {}, {} undecided\n\
         ([the score](docs/experiments/score.md)).\n",
        figures(written),
        orderings(written),
        figures(printed),
        orderings(printed),
        printed.orderings_undecided,
        figures(simulated),
        orderings(simulated),
        simulated.orderings_undecided
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
