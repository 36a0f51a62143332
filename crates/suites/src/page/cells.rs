//! What stands in one place of a table, for every kind of page.

use crate::compare::{Compared, ENOUGH_RUNS, Entry, Mark, Table};
use crate::results::Metric;

/// Stands for a figure that is not known.
pub const UNKNOWN: &str = "–";
/// Off by more than is expected of a reproduction.
pub const OFF: &str = "!";
/// The print cannot be right.
pub const FAULTY: &str = "†";

/// The lines of one place; both flows of a pair are told apart by a slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    /// What was measured.
    pub measured: String,
    /// What the paper prints, if anything.
    pub printed: Option<String>,
    /// Measured minus printed, with its mark.
    pub difference: Option<String>,
    /// Whether a figure of the place is off.
    pub off: bool,
}

impl Texts {
    /// Those of an entry.
    pub fn new(entry: &Entry) -> Texts {
        let unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
        let joined = |text: &dyn Fn(&Compared) -> Option<String>| {
            entry.0.iter().map(|compared| unknown(text(compared))).collect::<Vec<_>>().join(" / ")
        };
        // Both flows of a pair have room for their shares only.
        let pair = entry.0.len() > 1;
        let difference = |compared: &Compared| {
            let text = if pair { compared.difference_share_text() } else { compared.difference_text() };
            Some(format!("{}{}", text?, mark(compared)))
        };
        let any_printed = entry.0.iter().any(|compared| compared.printed.is_some());
        let any_measured = entry.0.iter().any(|compared| compared.measured.is_some());
        let printed = |compared: &Compared| {
            let faulty = compared.mark() == Some(Mark::FaultyPrint);
            Some(format!("{}{}", compared.printed_text()?, if faulty { FAULTY } else { "" }))
        };
        Texts {
            measured: if entry.0.is_empty() { UNKNOWN.to_owned() } else { joined(&Compared::measured_text) },
            printed: any_printed.then(|| joined(&printed)),
            difference: (any_printed && any_measured).then(|| joined(&difference)),
            off: entry.0.iter().any(|compared| compared.mark() == Some(Mark::Off)),
        }
    }
}

fn mark(compared: &Compared) -> &'static str {
    if compared.mark() == Some(Mark::Off) { OFF } else { "" }
}

/// What the marks of a table mean: each faulty print with its reason once.
pub fn notes(table: &Table) -> Vec<String> {
    let mut notes = Vec::new();
    if table.marked(Mark::Off).next().is_some() {
        let percent = |metric: Metric| metric.tolerance() * 100.0;
        let (most, throughput) = (percent(Metric::Rtt), percent(Metric::Throughput));
        notes.push(format!(
            "{OFF} off by more than {most:.0} % (throughput: {throughput:.0} %) of the printed figure and, where there are \
             {ENOUGH_RUNS} runs, outside the central 95 % of single runs"
        ));
    }
    for (row, column, compared) in table.marked(Mark::FaultyPrint) {
        let reason = compared.printed.and_then(|printed| printed.fault).unwrap_or_default();
        let note = format!("{FAULTY} {}, {column}: {reason}", row.names.join(", "));
        let said = notes.iter().any(|other: &String| other.ends_with(reason));
        if !said {
            notes.push(note);
        }
    }
    notes
}
