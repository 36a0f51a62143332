//! What a check says, and what is asked of more than one field.

use crate::units::Span;

/// Names are parts of the names of namespaces, cgroups and folders.
const MAX_NAME_BYTES: usize = 40;

/// What [`check_name`] takes, as a regular expression.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,39}$";

/// A field with what is wrong with it.
pub(crate) struct Problem {
    pub field: String,
    pub message: String,
}

pub(crate) type Check = Result<(), Problem>;

pub(crate) fn ensure(condition: bool, field: impl Into<String>, message: impl FnOnce() -> String) -> Check {
    if condition { Ok(()) } else { Err(Problem { field: field.into(), message: message() }) }
}

/// Names become folders and cgroups.
pub(crate) fn check_name(field: &str, name: &str) -> Check {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let good = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.');
    ensure(good, field, || {
        format!("expected 1 to {MAX_NAME_BYTES} letters, digits, \"-\", \"_\" or \".\" (not first), found {name:?}")
    })
}

/// Steps come one after the other, the first after `since`, which is said in words too.
pub(super) fn check_ascending(path: &str, times: impl Iterator<Item = Span>, since: (&str, Span)) -> Check {
    let mut before = since;
    for (i, at) in times.enumerate() {
        ensure(at > before.1, format!("{path}[{i}].at"), || {
            format!("expected a time after {} ({}), found {at}", before.0, before.1)
        })?;
        before = ("the step before", at);
    }
    Ok(())
}
