//! `ccactl recover`

use crate::error::Result;
use ccactl_collector::{Recovered, recover, recovered_path, streams_in};
use ccactl_host::{errln, name, outln};
use clap::error::ErrorKind;
use serde::Serialize;
use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Stream of a killed recording (FILE.partial.arrows), one that came through a pipe, or the folder of a recording in
    /// parts
    #[arg(value_name = "STREAM|DIR")]
    source: PathBuf,
    /// Parquet file to make [default: the file that the recording would have made]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace FILE
    #[arg(long)]
    force: bool,
    /// Print what was recovered as JSON
    #[arg(long)]
    json: bool,
}

/// What was recovered, with paths as JSON can have them.
#[derive(Serialize)]
struct Row<'a> {
    stream: Cow<'a, str>,
    path: Cow<'a, str>,
    rows: u64,
    until: Option<&'a str>,
    truncated: bool,
    damage: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(found: &'a Recovered) -> Self {
        Self {
            stream: name::of_path(&found.stream),
            path: name::of_path(&found.path),
            rows: found.rows,
            until: found.until.as_deref(),
            truncated: found.truncated,
            damage: found.damage.as_deref(),
        }
    }
}

pub fn run(args: Args) -> Result<ExitCode> {
    let streams = if args.source.is_dir() { streams_in(&args.source)? } else { vec![args.source.clone()] };
    if args.output.is_some() && args.source.is_dir() {
        let text = "-o names one file, and a folder may hold several streams: name the stream\n";
        clap::Error::raw(ErrorKind::ArgumentConflict, text).exit();
    }
    let mut recovered = Vec::new();
    for stream in &streams {
        let target = args.output.clone().unwrap_or_else(|| recovered_path(stream));
        let found = recover(stream, &target, args.force)?;
        if !args.json {
            print(&found);
        }
        recovered.push(found);
    }
    if args.json {
        super::output::json_list("recovered", &recovered.iter().map(Row::of).collect::<Vec<_>>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(found: &Recovered) {
    let until = found.until.as_ref().map(|until| format!(" · until {until}")).unwrap_or_default();
    outln!("{} rows{until} · {}", found.rows, found.path.display());
    if let Some(damage) = &found.damage {
        errln!("{}: damaged: {damage}; recovered is what comes before that", found.stream.display());
    } else if found.truncated {
        errln!("{}: ends in the middle, as what a killed recording leaves; it is kept", found.stream.display());
    }
}
