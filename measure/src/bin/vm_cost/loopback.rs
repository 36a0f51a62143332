//! Bulk transfers in one guest, one after the other.

use crate::transfer::Transfer;
use crate::{Failure, TRANSFER, repeatable};
use ccactl_lab::{End, GuestCommand, Lab, Task};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The guest's time for one transfer.
const COMMAND_LIMIT_S: u64 = 600;

/// By algorithm, without and with a recording of every ACK.
pub type Transfers = BTreeMap<String, [Transfer; 2]>;

/// Whether every ACK is recorded.
const WAYS: [&str; 2] = ["bare", "recorded"];

/// Of each of them, and what could not be measured.
pub fn measure(lab: &Lab, names: &[String], megabytes: u64) -> Result<(Transfers, Vec<String>), Failure> {
    // Before the first one that counts, one that touches the memory that all will use.
    let first_touch = (&names[0], WAYS[0]);
    let calls = std::iter::once(first_touch).chain(names.iter().flat_map(|name| WAYS.map(|way| (name, way))));
    let calls: Vec<(&String, &str)> = calls.collect();
    let commands = calls.iter().map(|(name, way)| GuestCommand {
        arguments: [TRANSFER, name, &megabytes.to_string(), way].map(str::to_owned).into(),
        limit_s: COMMAND_LIMIT_S,
    });
    let task = Task { commands: commands.collect(), ..Task::default() };
    let results = repeatable(lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false))?)?;
    let (mut transfers, mut failures) = (BTreeMap::<String, Vec<Transfer>>::new(), Vec::new());
    for (index, (name, way)) in calls.iter().enumerate().skip(1) {
        match &results.outcome.commands[index].end {
            End::Exited(0) => {
                let transfer = serde_json::from_str(&results.stdout(index)?)?;
                transfers.entry((*name).clone()).or_default().push(transfer);
            }
            end => failures.push(format!("loopback, {name}, {way}: {end:?}: {}", results.stderr(index)?.trim())),
        }
    }
    let pair = |(name, both): (String, Vec<Transfer>)| Some((name, <[Transfer; 2]>::try_from(both.get(..2)?).ok()?));
    Ok((transfers.into_iter().filter_map(pair).collect(), failures))
}
