//! What a search found, as a page.

use crate::document::RIVAL;
use crate::error::{Error, Result};
use crate::judge::mildest;
use crate::objective::Objective;
use ccactl_report::figure::paper;
use ccactl_report::html::{still_page, text as escaped};
use ccactl_scenario::Scenario;
use ccactl_testbed::Totals;
use ccactl_testbed::bench::{BenchResult, RECORDING_FILE};
use serde::Serialize;
use std::path::Path;

/// A kernel confirms what shows at least so much of it there: it begins its runs at other moments, and its clocks are coarser.
const CONFIRMED_SHARE: f64 = 0.75;

/// Figures of a report that show what happened.
const SHOWN: [&str; 3] = ["goodput", "rtt", "cwnd"];

/// Beyond the look of a report.
const STYLE: &str = "
p.headline { font-size: 1.15rem; font-weight: 600; max-width: 60rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 36rem)); gap: 1rem; }
.pair figure { margin: 0; } .pair svg { width: 100%; height: auto; } .pair figcaption { color: var(--soft); font-size: .85rem; }
pre { overflow-x: auto; }
@media (prefers-color-scheme: dark) { .pair svg { filter: invert(1) hue-rotate(180deg); } }
@media print { .pair svg { filter: none; } }
";

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The algorithm with what was set of it, as users write it.
    pub algorithm: String,
    /// What was looked for.
    pub objective: Objective,
    /// How bad it is in the simulator: the mildest run.
    pub simulated: f64,
    /// Another algorithm on the same path, and how bad it is there: the run in the middle.
    pub other: Option<(String, f64)>,
    /// How bad it was on a kernel; none where it was not replayed.
    pub replayed: Option<Replayed>,
    /// What flows beside it had.
    pub rival: Option<String>,
    /// How many paths were looked at.
    pub judged: usize,
    /// Of the search.
    pub seed: u64,
}

/// A finding on a kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    /// Its release.
    pub kernel: String,
    /// How bad each valid run was.
    pub runs: Vec<f64>,
    /// The mildest.
    pub mildest: f64,
    /// Whether that is enough of what was simulated.
    pub confirmed: bool,
}

impl Replayed {
    /// Of the runs of a bench in `folder`.
    ///
    /// # Errors
    /// When no run was valid, or what the links did cannot be read.
    pub fn of(
        (objective, simulated): (Objective, f64),
        kernel: &str,
        scenario: &Scenario,
        (folder, result): (&Path, &BenchResult),
    ) -> Result<Replayed> {
        let mut runs = Vec::new();
        for run in result.runs.iter().filter(|run| run.valid) {
            let totals = Totals::of_run(&folder.join(&run.directory), run)?;
            runs.push(objective.badness(scenario, &totals));
        }
        if runs.is_empty() {
            return Err(Error::NoValidRun { folder: folder.to_owned(), attempts: result.runs.len() });
        }
        let mildest = mildest(&runs);
        let confirmed = mildest >= simulated * CONFIRMED_SHARE;
        Ok(Replayed { kernel: kernel.to_owned(), runs, mildest, confirmed })
    }
}

impl Finding {
    /// What was found, in a sentence or two.
    #[must_use]
    pub fn headline(&self) -> String {
        let text = |badness| self.objective.text(badness);
        let Finding { algorithm, simulated, .. } = self;
        if let Some((other, badness)) = self.other.as_ref().filter(|(_, badness)| badness >= simulated) {
            let (own, its) = (text(*simulated), text(*badness));
            return format!(
                "No path was found on which {algorithm} does worse than {other}: at most {own}, and {its} there."
            );
        }
        let what = match self.objective {
            Objective::Use => format!("{algorithm} leaves {} of this link unused", text(*simulated)),
            Objective::Queue => format!("{algorithm} keeps a queue of {} base RTTs", text(*simulated)),
            Objective::Starve => {
                format!("{} beside {algorithm} misses {} of its half", self.beside(), text(*simulated))
            }
            Objective::Unfair => {
                format!("beside {} the Jain index of {algorithm} is {:.3}", self.beside(), 1.0 - simulated)
            }
            Objective::Recover => format!("{algorithm} needs {} to use the link again", text(*simulated)),
        };
        let other = self.other.as_ref().map(|(name, badness)| format!("; {name} in its place: {}", text(*badness)));
        let kernel = match &self.replayed {
            None => "Not replayed on a kernel.".to_owned(),
            Some(Replayed { kernel, mildest, confirmed: true, .. }) => {
                format!("Linux {kernel} confirms it: {}.", text(*mildest))
            }
            Some(Replayed { kernel, mildest, .. }) => {
                format!("Linux {kernel} does not confirm it: {}.", text(*mildest))
            }
        };
        format!("{what}{}. {kernel}", other.unwrap_or_default())
    }

    fn beside(&self) -> &str {
        self.rival.as_deref().unwrap_or(RIVAL)
    }

    /// Where the figures come from, in a sentence.
    #[must_use]
    pub fn basis(&self) -> String {
        format!(
            "The worst of {} paths in the simulator (seed {}), without what it does not need. Shown is the {}, in the mildest \
             of three runs.",
            self.judged,
            self.seed,
            self.objective.heading()
        )
    }
}

/// Figures of one place where the finding was run.
pub struct Figures {
    /// Heading of its column.
    pub place: String,
    /// Folder of its report, beside the page.
    pub folder: String,
    /// The drawings.
    pub drawn: Vec<paper::Figure>,
}

impl Figures {
    /// Of the first valid run of a bench.
    ///
    /// # Errors
    /// When its recording cannot be read.
    pub fn of(place: &str, (folder, name): (&Path, &str), result: &BenchResult) -> Result<Figures> {
        let first = result.runs.iter().find(|run| run.valid);
        let drawn = first.map(|run| drawn(&folder.join(&run.directory).join(RECORDING_FILE))).transpose()?;
        Ok(Figures { place: place.to_owned(), folder: name.to_owned(), drawn: drawn.unwrap_or_default() })
    }
}

fn drawn(recording: &Path) -> Result<Vec<paper::Figure>> {
    let recordings = ccactl_report::open_all(&[recording.to_owned()])?;
    let options = ccactl_report::Options::default();
    let summary = ccactl_report::summarize(&recordings, &options)?;
    let charts = ccactl_report::charts(&recordings, &summary, &options)?;
    let mut figures = paper::figures(&summary, &charts, paper::Width::Single);
    figures.retain(|figure| SHOWN.contains(&figure.name.as_str()));
    Ok(figures)
}

/// The finding as a page that needs no network; `scenario` is its text.
#[must_use]
pub fn page(finding: &Finding, scenario: &str, places: &[Figures]) -> String {
    let mut body = format!(
        "<p class=\"headline\">{}</p>\n<p class=\"soft\">{}</p>\n<div class=\"pair\">\n",
        escaped(&finding.headline()),
        escaped(&finding.basis())
    );
    for Figures { place, folder, drawn } in places {
        body.push_str(&format!("<section>\n<h2><a href=\"./{folder}/report.html\">{}</a></h2>\n", escaped(place)));
        for figure in drawn {
            body.push_str(&format!(
                "<figure>{}<figcaption>{}</figcaption></figure>\n",
                figure.svg,
                escaped(&figure.name)
            ));
        }
        body.push_str("</section>\n");
    }
    body.push_str(&format!("</div>\n<section>\n<h2>The path</h2>\n<pre>{}</pre>\n</section>\n", escaped(scenario)));
    let title = format!("{}: {}", finding.algorithm, finding.objective.heading());
    still_page(&title, STYLE, &body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(objective: Objective, replayed: Option<Replayed>) -> Finding {
        Finding {
            algorithm: "mine".to_owned(),
            objective,
            simulated: 0.625,
            other: Some(("native:cubic".to_owned(), 0.1)),
            replayed,
            rival: objective.has_rivals().then(|| "native:reno".to_owned()),
            judged: 1000,
            seed: 1,
        }
    }

    #[test]
    fn the_headline_says_what_was_found_and_whether_a_kernel_agrees() {
        let used = finding(Objective::Use, None).headline();
        assert_eq!(
            used,
            "mine leaves 62.5 % of this link unused; native:cubic in its place: 10.0 %. Not replayed on a kernel."
        );
        let replayed = Replayed { kernel: "6.18".to_owned(), runs: vec![0.5], mildest: 0.5, confirmed: true };
        let starved = finding(Objective::Starve, Some(replayed)).headline();
        assert!(starved.starts_with("native:reno beside mine misses 62.5 % of its half"), "{starved}");
        assert!(starved.ends_with("Linux 6.18 confirms it: 50.0 %."), "{starved}");
    }

    #[test]
    fn where_nothing_was_found_the_headline_says_so() {
        let found = Finding { other: Some(("native:cubic".to_owned(), 0.7)), ..finding(Objective::Use, None) };
        let expected =
            "No path was found on which mine does worse than native:cubic: at most 62.5 %, and 70.0 % there.";
        assert_eq!(found.headline(), expected);
    }

    #[test]
    fn the_page_has_the_path_and_no_markup_of_others() {
        let mut found = finding(Objective::Queue, None);
        found.algorithm = "<b>".to_owned();
        let page = page(&found, "rate = \"10Mbit/s\"", &[]);
        assert!(page.contains("&lt;b&gt; keeps a queue") && page.contains("rate = &quot;10Mbit/s&quot;"), "{page}");
    }
}
