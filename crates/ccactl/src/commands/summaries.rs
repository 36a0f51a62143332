//! `ccactl report --partial` and `--merge`: summaries of parts of recordings.

use ccactl_host::{errln, terminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::error::Result;
use ccactl_report::{Options, Partial, Recording, Summary};

/// Makes a summary of recordings, or of other summaries.
pub fn write(paths: &[PathBuf], is_partial: bool, output: &Path, options: &Options) -> Result<ExitCode> {
    let partial = if is_partial { Partial::of(paths, options)? } else { Partial::read(paths)? };
    tell(&partial);
    let (parts, rows) = partial.size();
    partial.write(output)?;
    let bytes = std::fs::metadata(output).map_or(0, |file| file.len());
    errln!("summary: {} ({:.1} MB): {parts} parts, {rows} rows", output.display(), bytes as f64 / 1e6);
    Ok(ExitCode::SUCCESS)
}

/// The report that these summaries give, and the recordings if something is drawn of their rows.
pub fn report(paths: &[PathBuf], is_drawn: bool, options: &Options) -> Result<(Vec<Recording>, Summary)> {
    let partial = Partial::read(paths)?;
    tell(&partial);
    let recordings = if is_drawn { partial.recordings()? } else { Vec::new() };
    Ok((recordings, partial.summarize(options)?))
}

fn tell(partial: &Partial) {
    partial.notes().iter().for_each(|note| terminal::note(note));
}
