//! `--tune`: with which values does an algorithm do best?

use super::{Args, progress, tell};
use crate::commands::carry_out::interrupt_flag;
use crate::commands::output;
use crate::error::Result;
use ccactl_abi::{Algorithm, exit};
use ccactl_host::table::{self, Side};
use ccactl_host::{outln, terminal};
use ccactl_loader::{pick_algorithm, settle_algorithm};
use ccactl_search::{Bounds, Comparison, Judge, Knob, Knobs, Objective, Tuning, evolve, shrink};
use ccactl_testbed::bench::Interrupt;
use serde::Serialize;
use std::process::ExitCode;

/// A value goes back to its default when that makes the objective worse by no more than this share.
const SIMPLER_COST: f64 = 0.03;

/// What is printed.
#[derive(Serialize)]
struct Tuned {
    algorithm: String,
    objective: Objective,
    /// As for --set.
    values: Vec<(String, String)>,
    rows: Vec<Comparison>,
    settings: usize,
    seed: u64,
}

pub fn run(args: &Args, judge: Judge, bounds: &Bounds) -> Result<ExitCode> {
    let algorithm: &'static Algorithm = pick_algorithm(&judge.subject.algorithm)?;
    let knobs = args.tune.iter().map(|text| Knob::parse(text, algorithm)).collect::<Result<Vec<_>, _>>()?;
    let interrupt = interrupt_flag()?;
    let mut training = bounds.paths(2 * args.training, args.seed);
    let held_out = training.split_off(args.training);
    let kept = args.keep.iter().map(|objective| of(&judge, *objective, &args.rival)).collect::<Result<_>>()?;
    let tuning = Tuning { knobs: Knobs(knobs), judge, kept, training, held_out, interrupt: Interrupt(&interrupt) };
    let bar = progress(args.candidates, "settings, best");
    let text = |goodness: f64| tuning.judge.objective.text(-goodness);
    let before = tuning.kept_before()?;
    let goodness = |values: &Vec<i64>| tuning.goodness(values, &before);
    let mut settings = 0;
    let found = evolve(&tuning.knobs, args.effort(), &goodness, &mut |now| {
        settings = now.judged;
        bar.set_position(now.judged as u64);
        tell(&bar, &text(now.worst));
    })?;
    let least = found.badness * (1.0 + SIMPLER_COST);
    let best = shrink(&tuning.knobs, found, least, &goodness, &mut |_| {})?;
    bar.finish_and_clear();
    let tuned = Tuned {
        algorithm: args.subject.title(),
        objective: tuning.judge.objective,
        values: tuning.knobs.shown(&best.point),
        rows: tuning.compare(&best.point)?,
        settings,
        seed: args.seed,
    };
    if args.json {
        output::json(&tuned)?;
        return Ok(code(&tuned));
    }
    let set: Vec<String> = tuned.values.iter().map(|(name, value)| format!("--set {name}={value}")).collect();
    outln!("{} {}", tuned.algorithm, set.join(" "));
    outln!("{}", rows(&tuned.rows));
    outln!(
        "The best of {} settings on {} paths (seed {}); held out are {} others. Means over the paths, and the worst of them.",
        tuned.settings,
        args.training,
        tuned.seed,
        args.training
    );
    Ok(code(&tuned))
}

/// What does not hold on paths that were held out is no success.
fn code(tuned: &Tuned) -> ExitCode {
    let first = tuned.rows.iter().find(|row| row.held_out && row.objective == tuned.objective);
    let is_better = first.is_some_and(|row| row.after < row.before);
    if is_better { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) }
}

/// A judge of another objective on the same paths.
fn of(judge: &Judge, objective: Objective, rival: &str) -> Result<Judge> {
    let here = std::env::current_dir()?;
    let mut judge = Judge { objective, ..judge.clone() };
    judge.setting.rival = objective.has_rivals().then(|| settle_algorithm(&here, rival)).transpose()?;
    Ok(judge)
}

fn rows(rows: &[Comparison]) -> String {
    let mut lines = vec![["", "paths", "default", "worst", "tuned", "worst"].map(str::to_owned).to_vec()];
    for row in rows {
        let text = |badness| row.objective.text(badness);
        lines.push(vec![
            row.objective.heading().to_owned(),
            if row.held_out { "held out" } else { "training" }.to_owned(),
            text(row.before),
            text(row.worst_before),
            text(row.after),
            text(row.worst_after),
        ]);
    }
    table::grid(&lines, |column| if column < 2 { Side::Left } else { Side::Right }, terminal::width())
}
