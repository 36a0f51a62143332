//! `ccactl bench list`

use crate::commands::output;
use crate::error::Result;
use ccactl_host::outln;
use ccactl_host::units::duration_text;
use ccactl_suites::suite::papers;
use ccactl_suites::{Listed, Size};
use ccactl_testbed::bench::ATTEMPTS;
use std::process::ExitCode;
use std::time::Duration;

/// Suites and single scenarios.
pub fn list(json: bool) -> Result<ExitCode> {
    let all = ccactl_suites::listing()?;
    if json {
        output::json_list("scenarios", &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let time = |size: Size| duration_text(Duration::from_secs_f64(size.runs_s));
    let row = |listed: &Listed| {
        let quick = listed.quick.map_or_else(|| "-".to_owned(), time);
        let cells = listed.full.cells.to_string();
        [listed.name.clone(), cells, time(listed.full), quick, listed.description.clone()]
    };
    let (suites, single): (Vec<Listed>, Vec<Listed>) = all.into_iter().partition(|listed| listed.suite);
    let rows: Vec<_> = suites.iter().map(row).collect();
    output::table(["suite", "cells", "runs", "--quick", "description"], &rows)?;
    outln!();
    let papers: Vec<_> = papers().map(|(paper, suites)| [paper.to_owned(), suites.join(" ")]).collect();
    output::table(["paper", "suites"], &papers)?;
    outln!();
    let rows: Vec<_> = single.iter().map(|s| [s.name.clone(), time(s.full), s.description.clone()]).collect();
    output::table(["scenario", "runs", "description"], &rows)?;
    outln!();
    outln!(
        "runs: their length, one after the other. Each takes some 5 s more, and one that is not valid is run again, {ATTEMPTS} attempts at most."
    );
    Ok(ExitCode::SUCCESS)
}
