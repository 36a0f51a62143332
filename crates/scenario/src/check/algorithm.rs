//! Algorithms of flows and swaps, with their tunables and names.

use super::{Check, Problem, ensure};
use crate::Wanted;
use ccactl_loader::Choice;

/// Algorithm, tunables and name are what `ccactl load` takes; they are tried one by one to tell which is wrong.
pub(crate) fn check_algorithm(path: &str, wanted: Wanted<'_>) -> Result<Choice, Problem> {
    let at = |field: String| {
        let field = format!("{path}.{field}");
        |error: ccactl_loader::Error| Problem { field, message: error.to_string() }
    };
    let mut choice = Choice::parse(wanted.algorithm, &[], None).map_err(at("algorithm".to_owned()))?;
    for (name, value) in wanted.set {
        choice = choice.with(name, value).map_err(at(format!("set.{name}")))?;
    }
    choice.named(wanted.alias).map_err(at("as".to_owned()))
}

/// One kernel name cannot stand for two sets of tunables. `all` are the algorithms of flows and swaps: path, what users
/// call it, and what is asked for.
pub(crate) fn check_aliases(all: &[(String, &str, Wanted<'_>)]) -> Check {
    for (i, (path, name, wanted)) in all.iter().enumerate().filter(|(_, (_, _, wanted))| wanted.alias.is_some()) {
        let differs = |other: &Wanted<'_>| (other.algorithm, other.set) != (wanted.algorithm, wanted.set);
        let other = all[..i].iter().find(|(_, _, other)| other.alias == wanted.alias && differs(other));
        ensure(other.is_none(), format!("{path}.as"), || {
            format!(
                "expected one algorithm with one set of tunables per name, found {:?} for {} and {name}",
                wanted.alias.unwrap_or_default(),
                other.map_or("", |(_, other, _)| other),
            )
        })?;
    }
    Ok(())
}
