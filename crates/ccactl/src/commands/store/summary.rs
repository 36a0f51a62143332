//! What is told of an upload.

use ccactl_host::units::printed::{bytes, grouped};
use ccactl_host::{errln, name, outln};
use ccactl_store::{Report, Status, Tally};
use serde::Serialize;
use std::borrow::Cow;

/// An upload that is over.
pub struct Sent {
    pub location: String,
    pub report: Report,
}

/// As JSON. A store is not a path, but its address.
#[derive(Serialize)]
struct Row<'a> {
    location: &'a str,
    stored: Tally,
    were_there: u64,
    waiting: Tally,
    given_up: Tally,
    streams: u64,
    refused: &'a [String],
    folders: Vec<Cow<'a, str>>,
    trouble: Option<&'a str>,
}

/// Behind the progress of a recording: figures alone.
pub fn progress(status: &Status) -> String {
    let mut text = format!(" · {} parts stored", status.stored.parts);
    if status.waiting_parts > 0 {
        text += &format!(", {} wait ({}B)", status.waiting_parts, bytes(status.waiting_bytes as f64));
    }
    if status.given_up.parts > 0 {
        text += &format!(", {} given up", status.given_up.parts);
    }
    text
}

impl Sent {
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Whether the store has all of it.
    pub fn is_complete(&self) -> bool {
        self.report.is_complete()
    }

    /// One line of what is there, and one for each thing that is not as it should be.
    pub fn print(&self) {
        let Report { stored, were_there, given_up, waiting, refused, streams, folders, trouble } = &self.report;
        let there = if *were_there > 0 { format!(" ({were_there} of them were there)") } else { String::new() };
        outln!("{} stored{there} · {}", tally(stored), self.location);
        for told in refused {
            errln!("{}: {told}", self.location);
        }
        if waiting.parts > 0 || *streams > 0 {
            let places: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
            let streams = if *streams > 0 { format!(" and {streams} streams") } else { String::new() };
            let last = trouble.as_ref().map(|last| format!("; the store's last answer: {last}")).unwrap_or_default();
            errln!(
                "{}{streams} wait in {}: `ccactl send`, or the next recording to the same place, sends them{last}",
                tally(waiting),
                places.join(", ")
            );
        }
        if given_up.parts > 0 {
            errln!("{} were given up, as the spool had no room for them: --spool-limit gives it more", tally(given_up));
        }
    }

    pub fn json(&self) -> impl Serialize {
        let Report { stored, were_there, given_up, waiting, refused, streams, folders, trouble } = &self.report;
        Row {
            location: &self.location,
            stored: *stored,
            were_there: *were_there,
            waiting: *waiting,
            given_up: *given_up,
            streams: *streams,
            refused,
            folders: folders.iter().map(|folder| name::of_path(folder)).collect(),
            trouble: trouble.as_deref(),
        }
    }
}

fn tally(Tally { parts, rows, bytes: size }: &Tally) -> String {
    format!("{} parts · {} rows · {}B", grouped(*parts), grouped(*rows), bytes(*size as f64))
}
