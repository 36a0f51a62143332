//! Which queue disciplines this kernel has: each is tried in a namespace of its own, so that the kernel loads its module if it has one.

use crate::error::{Error, Result};
use crate::host::iproute;
use crate::host::netns::Netns;
use crate::host::run_id::{PREFIX, RunId};
use crate::netem::Need;

/// Tries all of them on the loopback device of a new namespace.
///
/// # Errors
/// The first that is missing.
pub fn probe(needs: &[Need]) -> Result<()> {
    let netns = Netns::create(format!("{PREFIX}-{}-probe", RunId::new()))?;
    needs.iter().try_for_each(|need| try_one(&netns, need))
}

fn try_one(netns: &Netns, need: &Need) -> Result<()> {
    let words = format!("qdisc replace dev lo root {} {}", need.kind, need.words);
    let own = ["-n", netns.name()].into_iter().chain(words.split(' ')).map(str::to_owned);
    match iproute::run("tc", &own.collect::<Vec<_>>()) {
        Err(Error::Command { found, .. }) => Err(Error::NoDiscipline {
            field: need.field,
            kind: need.kind,
            module: need.module(),
            config: need.config(),
            found,
        }),
        other => other.map(|_| ()),
    }
}
