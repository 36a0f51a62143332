//! `ccactl report`

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use ccactl_abi::exit;
use ccactl_report::figure::{self, paper};
use ccactl_report::{Options, Recording, Summary, html, open_all, output, render, summarize};
use clap::error::ErrorKind;
use signal_hook::consts::SIGINT;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (Parquet or Arrow stream), folders of recordings or of `bench`, or `-` for standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Write one self-contained page with interactive charts
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Write a still figure of window and RTT over time for a document (takes one recording)
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    /// Write the figures of a paper into a folder, one file each: throughput, RTT, window, phases, distributions, fairness, buffer sweep
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,
    /// What the figures are written as; PNG has 300 dots per inch
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["svg", "png"], requires = "figures")]
    format: Vec<FigureFormat>,
    /// Width of the figures in a two-column paper: 3.5 in or 7.16 in
    #[arg(long, value_enum, default_value = "single", requires = "figures")]
    width: FigureWidth,
    /// Print JSON instead of the table (keys: docs/metrics.md)
    #[arg(long)]
    json: bool,
    /// Write one line per flow, algorithm and swap; `-` prints them instead of the table
    #[arg(long, value_name = "OUT|-")]
    csv: Option<PathBuf>,
    /// Leave out what came before this second of the recording (cuts the warm-up)
    #[arg(long, value_name = "SECONDS")]
    from: Option<f64>,
    /// Leave out what came after this second of the recording
    #[arg(long, value_name = "SECONDS")]
    to: Option<f64>,
    /// Width of the intervals of the Jain index
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FigureFormat {
    Svg,
    Png,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FigureWidth {
    Single,
    Double,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let csv_to_stdout = args.csv.as_deref() == Some(Path::new("-"));
    if csv_to_stdout && args.json {
        clap::Error::raw(ErrorKind::ArgumentConflict, "--json and --csv - both print to standard output: choose one\n")
            .exit();
    }
    if args.paths.iter().any(|path| path == Path::new("-")) {
        finish_pipe_before_ctrl_c()?;
    }
    let options = Options { from_s: args.from, to_s: args.to, interval_s: args.interval };
    let recordings = open_all(&args.paths)?;
    let summary = summarize(&recordings, &options)?;
    if let Some(path) = &args.html {
        html::write(path, &recordings, &summary, &options, &html::Heading::default())?;
        let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        eprintln!("page: {} ({:.1} MB)", path.display(), bytes as f64 / 1e6);
    }
    if let Some(path) = &args.svg {
        write_figure(path, &recordings, &summary, &options)?;
    }
    if let Some(folder) = &args.figures {
        write_figures(folder, &args, &recordings, &summary, &options)?;
    }
    if let Some(path) = args.csv.as_ref().filter(|_| !csv_to_stdout) {
        output::write_whole(path, render::csv(&summary).as_bytes())?;
    }
    print(&match (args.json, csv_to_stdout) {
        (true, _) => render::json(&summary),
        (_, true) => render::csv(&summary),
        _ => render::terminal(&summary),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn write_figure(path: &Path, recordings: &[Recording], summary: &Summary, options: &Options) -> anyhow::Result<()> {
    let ([recording], [of_it]) = (recordings, summary.recordings.as_slice()) else {
        let found = recordings.len();
        clap::Error::raw(ErrorKind::ArgumentConflict, format!("--svg draws one recording, found {found}: name one\n"))
            .exit();
    };
    figure::write(path, recording, of_it, options)?;
    eprintln!("figure: {}", path.display());
    Ok(())
}

fn write_figures(
    folder: &Path,
    args: &Args,
    recordings: &[Recording],
    summary: &Summary,
    options: &Options,
) -> anyhow::Result<()> {
    let width = match args.width {
        FigureWidth::Single => paper::Width::Single,
        FigureWidth::Double => paper::Width::Double,
    };
    let mut formats: Vec<paper::Format> = Vec::new();
    for format in &args.format {
        let format = match format {
            FigureFormat::Svg => paper::Format::Svg,
            FigureFormat::Png => paper::Format::Png,
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    let figures = paper::figures(recordings, summary, options, width)?;
    let files = paper::write(folder, &figures, &formats)?;
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    eprintln!("figures: {} files in {}: {}", files.len(), folder.display(), names.join(", "));
    Ok(())
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("expected a number of seconds above 0".to_owned()),
    }
}

/// In `ccactl record -o - | ccactl report -`, Ctrl-C reaches both ends. The first one ends the recorder, which then
/// closes the pipe, and the report is on what came through; the second one ends this process too.
fn finish_pipe_before_ctrl_c() -> anyhow::Result<()> {
    let pressed = Arc::new(AtomicBool::new(false));
    let exit_code = i32::from(exit::INTERRUPTED);
    signal_hook::flag::register_conditional_shutdown(SIGINT, exit_code, Arc::clone(&pressed))
        .and_then(|_| signal_hook::flag::register(SIGINT, pressed))
        .context("cannot set the handler of SIGINT")?;
    Ok(())
}

/// A reader that closes early (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}
