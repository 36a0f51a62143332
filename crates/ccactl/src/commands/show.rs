//! `ccactl show`

use super::list::{TunableRow, family_name};
use super::output;
use crate::error::Result;
use ccactl_abi::{Algorithm, Family, Preset, TraceValue};
use ccactl_host::outln;
use ccactl_loader::pick_either;
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Algorithm: a name of `ccactl list`
    #[arg(value_name = "ALGO")]
    algorithm: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Page {
    name: &'static str,
    kernel_name: &'static str,
    family: Family,
    summary: &'static str,
    reference: &'static str,
    hooks: &'static [&'static str],
    tunables: Vec<TunableRow>,
    presets: Vec<PresetRow>,
    modes: &'static [&'static str],
    v0: Option<TraceValue>,
    v1: Option<TraceValue>,
}

#[derive(Serialize)]
struct PresetRow {
    name: &'static str,
    /// As `--set` takes them.
    set: BTreeMap<&'static str, String>,
    doc: &'static str,
    source: &'static str,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let algorithm = pick_either(&args.algorithm)?;
    if args.json {
        output::json(&page(algorithm))?;
    } else {
        print(algorithm)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(algorithm: &Algorithm) -> Page {
    Page {
        name: algorithm.name,
        kernel_name: algorithm.kernel_name,
        family: algorithm.family,
        summary: algorithm.summary,
        reference: algorithm.reference,
        hooks: algorithm.hooks,
        tunables: algorithm.tunables.iter().map(TunableRow::from).collect(),
        presets: algorithm.presets.iter().map(|preset| preset_row(algorithm, preset)).collect(),
        modes: algorithm.modes,
        v0: algorithm.v0,
        v1: algorithm.v1,
    }
}

fn preset_row(algorithm: &Algorithm, preset: &Preset) -> PresetRow {
    let value = |&(name, raw): &(&'static str, i64)| {
        (name, algorithm.tunable(name).expect("a preset sets tunables of its algorithm").display(raw))
    };
    PresetRow {
        name: preset.name,
        set: preset.values.iter().map(value).collect(),
        doc: preset.doc,
        source: preset.source,
    }
}

fn print(algorithm: &Algorithm) -> Result<()> {
    outln!("{} ({}): {}", algorithm.name, family_name(algorithm.family), algorithm.summary);
    outln!("kernel name  {}", algorithm.kernel_name);
    outln!("reference    {}", algorithm.reference);
    outln!("hooks        {}", algorithm.hooks.join(", "));
    outln!("phases       {}", algorithm.modes.join(", "));
    for value in [algorithm.v0, algorithm.v1].into_iter().flatten() {
        outln!("trace value  {}: {}", value.name, value.doc);
    }
    if algorithm.tunables.is_empty() {
        outln!("\nno tunables");
        return Ok(());
    }
    outln!();
    let rows: Vec<[String; 6]> = algorithm
        .tunables
        .iter()
        .map(|tunable| {
            let range = format!("{} to {}", tunable.display(tunable.min_raw), tunable.display(tunable.max_raw));
            let default = tunable.display(tunable.default_raw);
            [tunable.name, tunable.unit, &default, &range, tunable.source, tunable.doc].map(str::to_owned)
        })
        .collect();
    output::table(["TUNABLE", "UNIT", "DEFAULT", "RANGE", "SOURCE", "WHAT IT DOES"], &rows)?;
    if algorithm.presets.is_empty() {
        return Ok(());
    }
    outln!();
    let row = |preset: &Preset| {
        let PresetRow { name, set, doc, source } = preset_row(algorithm, preset);
        let set: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [name, &set.join(" "), source, doc].map(str::to_owned)
    };
    let rows: Vec<[String; 4]> = algorithm.presets.iter().map(row).collect();
    output::table(["PRESET", "SETS", "SOURCE", "WHAT IT STANDS FOR"], &rows)
}
