//! The fields of a scenario: one table from which the reader takes the names, the JSON schema the types and
//! `docs/scenarios.md` the reference.

mod document;
mod link;
mod traffic;

pub(crate) use document::{AS_PRINTED, CELL, DOCUMENT, HOST, MATRIX, PROXY, PUBLISHED, QUICK, THRESHOLDS};
pub(crate) use link::{DELAY_STEP, GILBERT_ELLIOTT, HOP, JITTER, LINK, LOSS, RATE_STEP, RTT_STEP, TRACE, WIRELESS};
pub(crate) use traffic::{APPLICATION, FLOW, PATHS, SIZES, SWAP, TOUR, UDP};

/// What a field may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// A name that becomes a folder or a cgroup.
    Name,
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Count(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// `50Mbit/s`.
    Rate,
    /// `40ms`.
    Span,
    /// `4bdp`, `{ bytes = 625000 }`, `412p`.
    Size,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `ack`, `rtt` or a time.
    Sampling,
    /// An array of text.
    Strings,
    /// An array of whole numbers.
    Counts,
    /// Text and numbers by name: tunables, sysctls.
    Settings,
    /// `until-stop` or a number of transfers.
    Repeat,
    /// `"all"` or an array of algorithms.
    Through,
    /// A probability or `{ gilbert_elliott = { … } }`.
    Loss,
    /// A time span or a table.
    SpanOr(&'static Table),
    /// A name of a file or a table.
    TextOr(&'static Table),
    /// Name of a discipline, or a table with its parameters.
    Queue,
    /// The name of the discipline in that table.
    Discipline,
    /// Any values by field.
    Changes,
    /// An array of text, numbers and flags.
    Values,
    /// Arrays of labels by axis.
    Labels,
    /// By axis, values by those that they replace.
    Exchanges,
    /// `[name]`.
    Table(&'static Table),
    /// `[[name]]`.
    Tables(&'static Table),
    /// `[name.KEY]`, one table per key.
    Map(&'static Table),
}

/// No upper limit of a [`Kind::Count`] but that of TOML itself.
pub(crate) const ANY: u64 = i64::MAX as u64;

/// One field of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// What holds without it, in words; required when absent.
    pub default: Option<&'static str>,
    /// Meaning, as `docs/scenarios.md` prints it.
    pub doc: &'static str,
}

/// A table of the document.
#[derive(Debug)]
pub(crate) struct Table {
    /// As a heading of the reference.
    pub title: &'static str,
    pub fields: &'static [Field],
}

impl Table {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// All names, for a complaint about another one.
    pub(crate) fn names(&self) -> String {
        self.fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
    }
}

/// A field that must be there.
pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Field {
    Field { name, kind, default: None, doc }
}

/// A field that may be absent, with what holds then.
pub(crate) const fn optional(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Field {
    Field { name, kind, default: Some(default), doc }
}
