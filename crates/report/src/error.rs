//! What can be wrong with a recording, a question about it, or a place to write to.

use std::path::PathBuf;

use ccactl_recording::read;

// The codes of `ccactl_abi::exit`, of which this crate knows no more than it must: it reads files, it needs no BPF.
const FAILURE: u8 = 1;
const BAD_INPUT: u8 = 2;

/// One line for the user: which object, what was expected, what was found, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The recording cannot be opened or read.
    #[error(transparent)]
    Recording(#[from] read::Error),
    /// Nothing to report on.
    #[error("{path}: no flow that sent data: {found}; record while a transfer runs")]
    NoFlow {
        /// As given.
        path: PathBuf,
        /// Rows and flows that are there.
        found: String,
    },
    /// `--from` and `--to` are not a window.
    #[error("{from_s} s to {to_s} s is not a time window: expected 0 <= from < to")]
    Window {
        /// Asked for.
        from_s: f64,
        /// Asked for.
        to_s: f64,
    },
    /// The rows span more intervals than anybody can look at, or the memory holds.
    #[error(
        "{path}: {span_s:.0} s in intervals of {interval_s} s are more than {most} {of}: give a wider --interval, or a part of the \
         recording with --from and --to"
    )]
    TooManyIntervals {
        /// As given.
        path: PathBuf,
        /// From the first row to the last one that was read.
        span_s: f64,
        /// Asked for.
        interval_s: f64,
        /// How many there may be …
        most: u64,
        /// … and where they are counted.
        of: &'static str,
    },
    /// The window lies outside of the recording.
    #[error("{path}: no rows between {from_s} s and {to_s} s: the recording covers {first_s:.1} s to {last_s:.1} s")]
    EmptyWindow {
        /// As given.
        path: PathBuf,
        /// Asked for.
        from_s: f64,
        /// Asked for, or the end.
        to_s: f64,
        /// First row.
        first_s: f64,
        /// Last row.
        last_s: f64,
    },
    /// No flow of that name.
    #[error("--flow: expected a flow of the recording, found {asked:?}; there are: {found}")]
    UnknownFlow {
        /// As asked.
        asked: String,
        /// Some of those that there are.
        found: String,
    },
    /// More rows of a flow than other tools take.
    #[error("{flow}: expected at most {most} rows, found more; choose a part with --from and --to")]
    TooManyRows {
        /// Its name.
        flow: String,
        /// The limit.
        most: usize,
    },
    /// Flows are to be compared, and no name is on both sides.
    #[error(
        "--by flow: expected flows of one name on both sides, as a scenario names them, found none; compare by algorithm instead"
    )]
    NoCounterpart,
    /// A side of a comparison holds recordings that are not runs of one thing.
    #[error(
        "{side}: expected repeats of one scenario with the same algorithms, found {one} and {other}, which differ; name the folder or \
         file of one"
    )]
    NotRepeats {
        /// As given.
        side: String,
        /// One recording.
        one: String,
        /// Another that is not a repeat of it.
        other: String,
    },
    /// A file that a summary is made of cannot be read again for its checksum.
    #[error("{path}: cannot be read for its checksum: {cause}")]
    Input {
        /// As given.
        path: PathBuf,
        /// From the operating system.
        cause: std::io::Error,
    },
    /// The file is no summary of parts, or not one of this version.
    #[error("{path}: expected a summary that `ccactl report --partial` has written, found {found}")]
    NotASummary {
        /// As given.
        path: PathBuf,
        /// What it is.
        found: String,
    },
    /// Two summaries that do not add up.
    #[error("{path}: cannot be merged with {other}: {reason}; {remedy}")]
    NotMergeable {
        /// As given.
        path: PathBuf,
        /// The one before.
        other: PathBuf,
        /// What was expected and found.
        reason: String,
        /// What to do.
        remedy: &'static str,
    },
    /// Summaries have no rows of which a window could be taken.
    #[error(
        "--from, --to: expected recordings, found summaries of parts, which have no rows to leave out; name the recordings"
    )]
    WindowOfSummary,
    /// Another interval than that of the summary.
    #[error(
        "{path}: its summary has intervals of {made_s} s, asked for {asked_s} s; make it anew with --partial --interval {asked_s}"
    )]
    OtherInterval {
        /// As given.
        path: PathBuf,
        /// In the summary.
        made_s: f64,
        /// Asked for.
        asked_s: f64,
    },
    /// What is drawn needs rows, and they are not there.
    #[error(
        "{path}: expected the recording of which the summary was made, found {found}; put it back, or ask for tables alone"
    )]
    Rows {
        /// Where it was.
        path: PathBuf,
        /// What is there now.
        found: String,
    },
    /// The tables of a recording cannot be made.
    #[error("{path}: its rows make no tables: {reason}")]
    Table {
        /// As given.
        path: PathBuf,
        /// What Polars says.
        reason: String,
    },
    /// The page or table cannot be written.
    #[error("{path}: cannot be written: {cause}")]
    Output {
        /// As given.
        path: PathBuf,
        /// From the operating system.
        cause: std::io::Error,
    },
    /// A figure cannot be turned into pixels.
    #[error("a figure cannot be drawn as PNG: {reason}; try --format svg")]
    Figure {
        /// What the renderer says.
        reason: String,
    },
}

impl Error {
    /// What Polars could not do with the rows of a file.
    pub(crate) fn table(path: &std::path::Path) -> impl Fn(polars::error::PolarsError) -> Error + '_ {
        |error| Error::Table { path: path.to_owned(), reason: error.to_string() }
    }

    /// Exit code of `ccactl`: a bad recording or argument is bad input, all else a failure.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Recording(error) => error.exit_code(),
            Error::Output { .. } | Error::Figure { .. } | Error::Input { .. } => FAILURE,
            _ => BAD_INPUT,
        }
    }
}
