//! `ccactl bench score`

use crate::commands::output;
use crate::error::Result;
use ccactl_suites::score::{self, Scored};
use std::path::PathBuf;
use std::process::ExitCode;

/// One line per suite, and the sums of those that are as written and of each variant.
pub fn score(paths: &[PathBuf], json: bool) -> Result<ExitCode> {
    let scored = paths.iter().map(|path| score::read(path)).collect::<Result<Vec<Scored>, _>>()?;
    let mut sums: Vec<Scored> = Vec::new();
    for Scored { variant, score, .. } in &scored {
        match sums.iter_mut().find(|sum| sum.variant == *variant) {
            Some(sum) => sum.score += *score,
            None => sums.push(Scored { scenario: "all".to_owned(), variant: variant.clone(), score: *score }),
        }
    }
    if json {
        output::json(&serde_json::json!({ "suites": scored, "sums": sums }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |Scored { scenario, variant, score }: &Scored| {
        let variant = variant.clone().unwrap_or_else(|| "as written".to_owned());
        let figures = format!("{} of {}", score.figures_met, score.figures);
        let orderings = format!("{} of {}", score.orderings_hold, score.orderings);
        [scenario.clone(), variant, figures, orderings, score.orderings_undecided.to_string()]
    };
    let rows: Vec<[String; 5]> = scored.iter().chain(&sums).map(row).collect();
    output::table(["suite", "run", "printed figures met", "orderings", "undecided"], &rows)?;
    Ok(ExitCode::SUCCESS)
}
