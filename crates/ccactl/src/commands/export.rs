//! `ccactl export`

use super::report;
use super::store;
use crate::error::{Context, Error, Result};
use ccactl_host::{errln, terminal};
use ccactl_report::figure::paper::{Format, Width, drawn};
use ccactl_report::figure::sequence;
use ccactl_report::trail::{Trail, flow_named, qlog, xplot};
use ccactl_report::{Options, open_all, output, summarize};
use clap::ValueEnum;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// One recording (Parquet, Arrow stream, or a folder of parts)
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// Flow, as the report names it [default: the one that moved most data]
    #[arg(long, value_name = "NAME")]
    flow: Option<String>,
    /// What to write: events for qlog's tools, a drawing for xplot, or the time-sequence figure
    #[arg(long = "as", value_enum, value_name = "FORMAT")]
    format: As,
    /// File; `-` is standard output, for text
    #[arg(short, long, value_name = "FILE|-")]
    output: PathBuf,
    /// Leave out what came before this second of the recording
    #[arg(long, value_name = "SECONDS")]
    from: Option<f64>,
    /// Leave out what came after this second of the recording
    #[arg(long, value_name = "SECONDS")]
    to: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum As {
    /// draft-ietf-quic-qlog-main-schema, sequential (.sqlog)
    Qlog,
    /// xplot and jPlot (.xpl)
    Xplot,
    /// Time-sequence figure
    Svg,
    /// The same for print
    Pdf,
    /// The same in pixels
    Png,
}

pub fn run(mut args: Args) -> Result<ExitCode> {
    // Kept to the end.
    let _copies = store::fetch(std::slice::from_mut(&mut args.recording))?;
    let options = Options { from_s: args.from, to_s: args.to, ..Options::default() };
    let named = std::slice::from_ref(&args.recording);
    report::tell_left_out(named);
    let recordings = open_all(named)?;
    let [recording] = recordings.as_slice() else {
        let (path, found) = (args.recording.display(), recordings.len());
        clap::Error::raw(
            ErrorKind::ArgumentConflict,
            format!("{path}: expected one recording, found {found}: name one\n"),
        )
        .exit();
    };
    let summary = summarize(&recordings, &options)?;
    let flow = flow_named(&summary.recordings[0].flows, args.flow.as_deref())?;
    let trail = Trail::read(recording, flow, &options)?;
    let figure = |format| drawn(&sequence(&trail, Width::Single), format);
    let content = match args.format {
        As::Qlog => qlog(&trail).into_bytes(),
        As::Xplot => xplot(&trail).into_bytes(),
        As::Svg => figure(Format::Svg)?,
        As::Pdf => figure(Format::Pdf)?,
        As::Png => figure(Format::Png)?,
    };
    if args.output == Path::new("-") {
        let refuse = |_| Error::Argument("-o -: expected a format of text, found one of bytes: name a file".to_owned());
        let text = String::from_utf8(content).map_err(refuse)?;
        terminal::write_data(&text).context("standard output")?;
        return Ok(ExitCode::SUCCESS);
    }
    output::write_whole(&args.output, &content)?;
    errln!("{}: {} rows of {}", args.output.display(), trail.moments.len(), trail.name);
    Ok(ExitCode::SUCCESS)
}
