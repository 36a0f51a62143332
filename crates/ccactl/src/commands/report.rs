//! `ccactl report`

use ccactl_host::{errln, terminal};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::output as printed;
use super::{store, summaries};
use crate::error::{Context, Result};
use ccactl_abi::exit;
use ccactl_report::figure::{self, paper};
use ccactl_report::{
    By, Charts, Options, Summary, charts, compare, html, is_summary, left_out, open_all, output, render, summarize,
};
use clap::error::ErrorKind;
use signal_hook::consts::SIGINT;

#[derive(clap::Args)]
pub struct Args {
    /// Recordings (Parquet or Arrow stream), folders of recordings or of `bench`, s3:// or file:// places, or `-` for standard input
    #[arg(required_unless_present = "compare", value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Compare B with A, each a recording or a folder of repeats: differences, their 95 % intervals and significance
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["paths", "html", "svg", "figures", "parquet"])]
    compare: Option<Vec<PathBuf>>,
    /// What is compared: all flows of an `algorithm` together, or each `flow` by its name in the scenario [default: what leaves least out]
    #[arg(long, value_enum, requires = "compare", value_name = "WHAT")]
    by: Option<ComparedBy>,
    /// Fold parts of recordings into a summary, which adds up with those of the other parts
    #[arg(long, requires = "output", conflicts_with_all = ["compare", "merge", "html", "svg", "figures", "parquet", "markdown", "csv", "json", "from", "to"])]
    partial: bool,
    /// Put summaries of parts together: into a file with `-o`, else into the report that all parts together give
    #[arg(long, conflicts_with_all = ["compare", "from", "to"])]
    merge: bool,
    /// File of the summary
    #[arg(short, long, value_name = "SUMMARY")]
    output: Option<PathBuf>,
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
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["svg", "pdf", "png"], requires = "figures")]
    format: Vec<FigureFormat>,
    /// Width of the figures in a two-column paper: 3.5 in or 7.16 in
    #[arg(long, value_enum, default_value = "single", requires = "figures")]
    width: FigureWidth,
    /// Print JSON instead of the table (keys: docs/metrics.md)
    #[arg(long)]
    json: bool,
    /// Write the tables as Markdown; `-` prints them instead of the table
    #[arg(long, value_name = "OUT|-")]
    markdown: Option<PathBuf>,
    /// Write one row per flow, algorithm and swap as Parquet, with typed columns
    #[arg(long, value_name = "OUT")]
    parquet: Option<PathBuf>,
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
    Pdf,
    Png,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ComparedBy {
    Algorithm,
    Flow,
}

impl From<ComparedBy> for By {
    fn from(by: ComparedBy) -> By {
        match by {
            ComparedBy::Algorithm => By::Algorithm,
            ComparedBy::Flow => By::Flow,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FigureWidth {
    Single,
    Double,
}

pub fn run(mut args: Args) -> Result<ExitCode> {
    // Kept to the end.
    let _copies = (store::fetch(&mut args.paths)?, store::fetch(args.compare.as_deref_mut().unwrap_or_default())?);
    let printed = printed(&args);
    let options = Options { from_s: args.from, to_s: args.to, interval_s: args.interval };
    if let Some([a, b]) = args.compare.as_deref() {
        return print_comparison(&args, printed, a, b, &options);
    }
    if args.paths.iter().any(|path| path == Path::new("-")) {
        finish_pipe_before_ctrl_c()?;
    }
    tell_left_out(&args.paths);
    if let Some(output) = &args.output {
        if !args.partial && !args.merge {
            let text =
                "-o is for summaries: add --partial to make one of recordings, or --merge to make one of summaries\n";
            clap::Error::raw(ErrorKind::MissingRequiredArgument, text).exit();
        }
        return summaries::write(&args.paths, args.partial, output, &options);
    }
    let is_drawn = args.html.is_some() || args.svg.is_some() || args.figures.is_some();
    let (recordings, summary) = if args.merge || args.paths.iter().any(|path| is_summary(path)) {
        summaries::report(&args.paths, is_drawn, &options)?
    } else {
        let recordings = open_all(&args.paths)?;
        let summary = summarize(&recordings, &options)?;
        (recordings, summary)
    };
    let charts = if is_drawn { charts(&recordings, &summary, &options)? } else { Vec::new() };
    if let Some(path) = &args.html {
        html::write(path, &recordings, &summary, &charts, &html::Heading::default())?;
        let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
        errln!("page: {} ({:.1} MB)", path.display(), bytes as f64 / 1e6);
    }
    if let Some(path) = &args.svg {
        write_figure(path, &summary, &charts)?;
    }
    if let Some(folder) = &args.figures {
        write_figures(folder, &args, &summary, &charts)?;
    }
    if let Some(path) = &args.parquet {
        render::write_parquet(path, &summary)?;
    }
    write_texts(&args, || render::markdown(&summary), || render::csv(&summary))?;
    let text = match printed {
        Printed::Json => printed::json_text(&summary)?,
        Printed::Csv => render::csv(&summary),
        Printed::Markdown => render::markdown(&summary),
        Printed::Table => render::terminal_of_width(&summary, columns()),
    };
    print(printed, &text)?;
    Ok(ExitCode::SUCCESS)
}

fn print_comparison(args: &Args, printed: Printed, a: &Path, b: &Path, options: &Options) -> Result<ExitCode> {
    let summary = |side: &Path| -> Result<Summary> { Ok(summarize(&open_all(&[side.to_owned()])?, options)?) };
    tell_left_out(&[a.to_owned(), b.to_owned()]);
    let (name_a, name_b) = (a.display().to_string(), b.display().to_string());
    let comparison = compare((&name_a, &summary(a)?), (&name_b, &summary(b)?), args.by.map(Into::into))?;
    write_texts(args, || render::comparison_markdown(&comparison), || render::comparison_csv(&comparison))?;
    let text = match printed {
        Printed::Json => printed::json_text(&comparison)?,
        Printed::Csv => render::comparison_csv(&comparison),
        Printed::Markdown => render::comparison_markdown(&comparison),
        Printed::Table => render::comparison_terminal(&comparison, columns()),
    };
    print(printed, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Says which runs of benches are not among the recordings of these paths.
pub fn tell_left_out(paths: &[PathBuf]) {
    for run in left_out(paths) {
        terminal::note(&format!("{}: left out, as the run was not valid; name it to see it", run.display()));
    }
}

/// What goes to standard output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    Table,
    Json,
    Csv,
    Markdown,
}

/// Only one thing can.
fn printed(args: &Args) -> Printed {
    let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    let asked = [
        (args.json, Printed::Json),
        (to_stdout(&args.csv), Printed::Csv),
        (to_stdout(&args.markdown), Printed::Markdown),
    ];
    match asked.iter().filter(|(asked, _)| *asked).map(|(_, printed)| *printed).collect::<Vec<_>>()[..] {
        [] => Printed::Table,
        [one] => one,
        _ => clap::Error::raw(
            ErrorKind::ArgumentConflict,
            "--json, --csv - and --markdown - all print to standard output: choose one\n",
        )
        .exit(),
    }
}

/// Writes the files that were asked for beside what is printed.
fn write_texts(args: &Args, markdown: impl Fn() -> String, csv: impl Fn() -> String) -> Result<()> {
    let file = |path: &Option<PathBuf>| path.clone().filter(|path| path != Path::new("-"));
    if let Some(path) = file(&args.markdown) {
        output::write_whole(&path, markdown().as_bytes())?;
    }
    if let Some(path) = file(&args.csv) {
        output::write_whole(&path, csv().as_bytes())?;
    }
    Ok(())
}

/// Columns of the terminal; a pipe and a file get the usual ones.
fn columns() -> usize {
    terminal::width().unwrap_or(render::DEFAULT_WIDTH)
}

fn write_figure(path: &Path, summary: &Summary, charts: &[Charts]) -> Result<()> {
    let ([of_it], [charts]) = (summary.recordings.as_slice(), charts) else {
        let found = summary.recordings.len();
        clap::Error::raw(ErrorKind::ArgumentConflict, format!("--svg draws one recording, found {found}: name one\n"))
            .exit();
    };
    figure::write(path, of_it, charts)?;
    errln!("figure: {}", path.display());
    Ok(())
}

fn write_figures(folder: &Path, args: &Args, summary: &Summary, charts: &[Charts]) -> Result<()> {
    let width = match args.width {
        FigureWidth::Single => paper::Width::Single,
        FigureWidth::Double => paper::Width::Double,
    };
    let mut formats: Vec<paper::Format> = Vec::new();
    for format in &args.format {
        let format = match format {
            FigureFormat::Svg => paper::Format::Svg,
            FigureFormat::Pdf => paper::Format::Pdf,
            FigureFormat::Png => paper::Format::Png,
        };
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    let figures = paper::figures(summary, charts, width);
    let files = paper::write(folder, &figures, &formats)?;
    for (recording, charts) in summary.recordings.iter().zip(charts).filter(|(_, charts)| !charts.groups.is_empty()) {
        let (all, groups) = (recording.flows.len(), charts.groups.len());
        errln!("figures over time show {}: {all} flows by {groups} groups", recording.name);
    }
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    errln!("figures: {} files in {}: {}", files.len(), folder.display(), names.join(", "));
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
fn finish_pipe_before_ctrl_c() -> Result<()> {
    let pressed = Arc::new(AtomicBool::new(false));
    let exit_code = i32::from(exit::INTERRUPTED);
    signal_hook::flag::register_conditional_shutdown(SIGINT, exit_code, Arc::clone(&pressed))
        .and_then(|_| signal_hook::flag::register(SIGINT, pressed))
        .context("cannot set the handler of SIGINT")?;
    Ok(())
}

/// A reader that closes early (`| head`) is no error.
fn print(printed: Printed, text: &str) -> Result<()> {
    let written = match printed {
        Printed::Table => terminal::out().write_all(text.as_bytes()),
        Printed::Json => terminal::json_out().write_all(text.as_bytes()),
        Printed::Csv | Printed::Markdown => terminal::write_data(text),
    };
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}
