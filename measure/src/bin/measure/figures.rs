//! The figure of every page in `docs/algorithms/`: window and RTT over 30 s, drawn by the report from a bench.

use crate::jobs::Job;
use crate::plans::{Outcome, Settings, grouped, only_flow};
use crate::tables::result;
use ccactl_abi::Algorithm;
use ccactl_report::{Options, charts, figure, open_all, summarize};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Where the pages look for them.
const FIGURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/algorithms/figures");
const SIDE_BY_SIDE: usize = 2;

/// 100 Mbit/s, 10 ms, 2 BDP.
pub fn groups(settings: &Settings) -> Vec<Vec<Job>> {
    let duration = if settings.quick { "5s" } else { "30s" };
    let job = |algorithm: &Algorithm| Job {
        label: algorithm.name.to_owned(),
        scenario: "single",
        args: only_flow(algorithm, &[("link.buffer", "{ bdp = 2 }"), ("duration", duration)]),
    };
    grouped(settings.algorithms().into_iter().map(job).collect(), SIDE_BY_SIDE)
}

/// Draws what was run; says what was not. A quick trial leaves the figures of the pages alone.
pub fn draw(dir: &Path, settings: &Settings) -> Result<Outcome, String> {
    let target = if settings.quick { dir.join("figures") } else { PathBuf::from(FIGURES) };
    std::fs::create_dir_all(&target).map_err(|e| format!("{}: {e}", target.display()))?;
    let mut outcome = Outcome::table("| algorithm | figure | kB |\n|---|---|---|\n".to_owned());
    for algorithm in settings.algorithms() {
        let name = algorithm.name;
        let Some(recording) = recording(dir, name)? else {
            outcome.holds = false;
            let _ = writeln!(outcome.text, "| {name} | no valid run | — |");
            continue;
        };
        let file = target.join(format!("{name}.svg"));
        draw_one(&recording, &file).map_err(|e| format!("{name}: {e}"))?;
        let bytes = std::fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.len();
        let _ = writeln!(outcome.text, "| {name} | {name}.svg | {} |", bytes.div_ceil(1000));
    }
    Ok(outcome)
}

fn draw_one(recording: &Path, file: &Path) -> Result<(), ccactl_report::Error> {
    let options = Options::default();
    let recordings = open_all(&[recording.to_owned()])?;
    let summary = summarize(&recordings, &options)?;
    let charts = charts(&recordings, &summary, &options)?;
    figure::write(file, &summary.recordings[0], &charts[0])
}

/// The recording of the first valid run of a job.
pub fn recording(dir: &Path, label: &str) -> Result<Option<PathBuf>, String> {
    let Some(result) = result(dir, label)? else { return Ok(None) };
    let runs = result["runs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let valid = runs.iter().find(|run| run["valid"] == true);
    let folder = valid.and_then(|run| run["directory"].as_str());
    Ok(folder.map(|folder| dir.join(label).join(folder).join("recording.parquet")))
}
