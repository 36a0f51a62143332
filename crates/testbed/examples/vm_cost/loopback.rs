//! Bulk transfers in one guest, one after the other.

use crate::transfer::Transfer;
use crate::{BASELINE, Failure, Subject, TRANSFER};
use ccactl_lab::{End, GuestCommand, Lab, Task};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The guest's time for one transfer.
const COMMAND_LIMIT_S: u64 = 600;

/// By algorithm, without and with a recording of every ACK.
pub type Transfers = BTreeMap<String, [Transfer; 2]>;

/// Whether every ACK is recorded.
const WAYS: [&str; 2] = ["bare", "recorded"];

/// Of all subjects, their twins and the baseline; `failures` gets what could not be measured.
pub fn measure(
    lab: &Lab,
    subjects: &[Subject],
    megabytes: u64,
    failures: &mut Vec<String>,
) -> Result<Transfers, Failure> {
    let mut names: Vec<String> = vec![BASELINE.to_owned()];
    for subject in subjects {
        names.extend(subject.twin.clone());
        names.push(subject.name.to_owned());
    }
    names.dedup();
    let calls: Vec<(&String, &str)> = names.iter().flat_map(|name| WAYS.map(|way| (name, way))).collect();
    let commands = calls.iter().map(|(name, way)| GuestCommand {
        arguments: [TRANSFER, name, &megabytes.to_string(), way].map(str::to_owned).into(),
        limit_s: COMMAND_LIMIT_S,
    });
    let task = Task { files: Vec::new(), commands: commands.collect() };
    let results = lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false))?;
    let mut transfers = BTreeMap::<String, Vec<Transfer>>::new();
    for (index, (name, way)) in calls.iter().enumerate() {
        match &results.outcome.commands[index].end {
            End::Exited(0) => {
                let transfer = serde_json::from_str(&results.stdout(index)?)?;
                transfers.entry((*name).clone()).or_default().push(transfer);
            }
            end => failures.push(format!("{name}, loopback, {way}: {end:?}: {}", results.stderr(index)?.trim())),
        }
    }
    let pair = |(name, both): (String, Vec<Transfer>)| Some((name, <[Transfer; 2]>::try_from(both.get(..2)?).ok()?));
    Ok(transfers.into_iter().filter_map(pair).collect())
}
