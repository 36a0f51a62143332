//! Every algorithm on one kernel: does it load, carry data, get recorded, and go away without a trace?

use crate::error::{Error, Result};
use crate::job::{CommandOutcome, End, GuestCommand};
use crate::lab::{Lab, Results, Task};
use ccactl_abi::{ALGORITHMS, Algorithm, Kind, RECEIVERS};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Payload that each algorithm carries, in bytes.
pub const PAYLOAD_BYTES: u64 = 1_000_000;
/// A run lasts as long for one flow as for several. So many carry their payload in half of it, whoever yields to whom.
const FLOWS_PER_RUN: usize = 6;
/// The guest's time for a run of six seconds with all around it.
const COMMAND_LIMIT_S: u64 = 120;

/// Those that send, then those that receive.
fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    ALGORITHMS.iter().chain(RECEIVERS.iter())
}

/// What became of one algorithm on one kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// It carried all of the payload, its RTT was recorded so often, and nothing was left behind.
    Works {
        /// RTT samples of the recording.
        samples: u64,
    },
    /// The kernel does not take it; the reason as `ccactl probe` tells it.
    DoesNotLoad(String),
    /// It loads, but something after that went wrong.
    Fails(String),
}

/// One kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// `uname -r`.
    pub release: String,
    /// In the order of the registry, those that send before those that receive.
    pub cells: Vec<(&'static Algorithm, Cell)>,
}

impl Column {
    /// Tries every algorithm in one guest, several in one run. Where one of them does not work, those of its run are tried again, each
    /// alone in a second guest. `place` is where results are unpacked for a moment.
    ///
    /// # Errors
    /// What [`Lab::run`] reports; what an algorithm does is in its cell.
    pub fn measure(lab: &Lab, place: &Path, interrupt: &AtomicBool) -> Result<Column> {
        let (release, mut cells) = try_all(lab, &together(), place, interrupt)?;
        let failed = |(_, cell): &&(&'static Algorithm, Cell)| matches!(cell, Cell::Fails(_));
        let alone: Vec<_> = cells.iter().filter(failed).map(|(algorithm, _)| vec![*algorithm]).collect();
        if !alone.is_empty() {
            let (_, again) = try_all(lab, &alone, place, interrupt)?;
            for (algorithm, cell) in &mut cells {
                if let Some((_, judged)) = again.iter().find(|(other, _)| other.name == algorithm.name) {
                    *cell = judged.clone();
                }
            }
        }
        Ok(Column { release, cells })
    }
}

/// Algorithms that share a run.
type Group = Vec<&'static Algorithm>;

fn together() -> Vec<Group> {
    fn chunks(all: &'static [Algorithm]) -> impl Iterator<Item = Group> {
        all.chunks(FLOWS_PER_RUN).map(|group| group.iter().collect())
    }
    chunks(&ALGORITHMS).chain(chunks(&RECEIVERS)).collect()
}

/// The kernel's release, and what became of each algorithm.
fn try_all(
    lab: &Lab,
    groups: &[Group],
    place: &Path,
    interrupt: &AtomicBool,
) -> Result<(String, Vec<(&'static Algorithm, Cell)>)> {
    let results = lab.run(&task(groups, has_accecn(lab.release())), place, interrupt)?;
    let reasons = reasons(&results)?;
    let mut cells = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        for (flow, &algorithm) in group.iter().enumerate() {
            let cell = match reasons.iter().find(|(name, _)| name == algorithm.name) {
                Some((_, reason)) => Cell::DoesNotLoad(reason.clone()),
                None => after_loading(&results, number, flow)?,
            };
            cells.push((algorithm, cell));
        }
    }
    Ok((results.outcome.release.clone(), cells))
}

/// Whether algorithms may ask for Accurate ECN: from 7.0 on. Of the release, since the scenarios are written before the kernel is
/// booted; a wrong guess is told by the loader.
fn has_accecn(release: &str) -> bool {
    let major = release.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_some_and(|major| major >= 7)
}

/// The probe first, then for each group a run and what `status` says afterwards.
fn task(groups: &[Group], has_accecn: bool) -> Task {
    let command = |words: &[&str]| GuestCommand {
        arguments: words.iter().map(ToString::to_string).collect(),
        limit_s: COMMAND_LIMIT_S,
    };
    let mut task = Task { files: Vec::new(), commands: vec![command(&["probe", "--json"])], ..Task::default() };
    for (number, group) in groups.iter().enumerate() {
        let path = format!("job/{number}.toml");
        let (scenario, output) = (format!("/{path}"), format!("/results/{number}"));
        task.commands.push(command(&["bench", &scenario, "--output", &output, "--attempts", "1"]));
        task.commands.push(command(&["status", "--json"]));
        task.files.push((path, scenario_of(group, has_accecn).into_bytes()));
    }
    task
}

/// A short path that marks, for the algorithms that need marks, and is shallow enough for a loss, for the others. What
/// receives has a download with the kernel's own algorithm.
fn scenario_of(group: &Group, has_accecn: bool) -> String {
    let mut text = "name = 'carry'\ndescription = 'Each flow carries a payload once'\nduration = '6s'\nevery = 'ack'\n\
         [link]\nrate = '20Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'\necn_threshold = '20p'\nduplex = true\n"
        .to_owned();
    for algorithm in group {
        let name = algorithm.name;
        let flow = match algorithm.kind {
            Kind::Send if has_accecn => format!("algorithm = '{name}'"),
            Kind::Send => {
                let set = algorithm.settings_of_any_kernel().iter().map(|(name, value)| format!("{name} = {value}"));
                format!("algorithm = '{name}'\nset = {{ {} }}", set.collect::<Vec<_>>().join(", "))
            }
            Kind::Receive => format!("algorithm = 'native:reno'\ndirection = 'download'\nreceive = '{name}'"),
        };
        text += &format!("[[flow]]\nname = '{name}'\n{flow}\nbytes = {PAYLOAD_BYTES}\n");
    }
    text
}

/// Name and reason of each algorithm that does not load.
fn reasons(results: &Results) -> Result<Vec<(String, String)>> {
    let text = results.stdout(0)?;
    let probe: Value =
        serde_json::from_str(&text).map_err(|_| no_answer("probe --json", &results.outcome.commands[0]))?;
    let rows = probe["algorithms"].as_array().ok_or_else(|| no_answer("probe --json", &results.outcome.commands[0]))?;
    let problem = |row: &Value| Some((row["name"].as_str()?.to_owned(), row["problem"].as_str()?.to_owned()));
    Ok(rows.iter().filter_map(problem).collect())
}

fn no_answer(command: &str, outcome: &CommandOutcome) -> Error {
    let found = format!("gave no answer ({:?})", outcome.end);
    Error::Command { command: command.to_owned(), found, words: String::new(), code: ccactl_abi::exit::FAILURE }
}

fn after_loading(results: &Results, number: usize, flow: usize) -> Result<Cell> {
    let (bench, status) = (1 + 2 * number, 2 + 2 * number);
    let path = results.folder().join(number.to_string()).join("result.json");
    let Ok(text) = fs::read(path) else {
        let words = results.stderr(bench)?;
        let last = words.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no word of the bench");
        let how = match &results.outcome.commands[bench].end {
            End::Exited(_) => String::new(),
            other => format!("{other:?}: "),
        };
        return Ok(Cell::Fails(format!("{how}{last}")));
    };
    let result: Value = serde_json::from_slice(&text).map_err(|error| Error::Results { cause: error.into() })?;
    Ok(judge(&result["runs"][0]["flows"][flow], &results.stdout(status)?))
}

/// What a flow and the state after its run say. The validity of the run does not matter: nothing is measured.
fn judge(flow: &Value, status: &str) -> Cell {
    let (received, samples) = (flow["received_bytes"].as_u64(), flow["metrics"]["rtt_samples"].as_u64());
    match (received, samples) {
        (Some(PAYLOAD_BYTES), Some(samples)) if samples > 0 => match policies(status) {
            Some(left) if left.is_empty() => Cell::Works { samples },
            _ => Cell::Fails(format!("policies are left after the run: {}", status.trim())),
        },
        (Some(PAYLOAD_BYTES), _) => Cell::Fails("nothing of it was recorded".to_owned()),
        (received, _) => {
            let received = received.map_or_else(|| "nothing".to_owned(), |bytes| format!("{bytes} bytes"));
            Cell::Fails(format!("expected {PAYLOAD_BYTES} bytes at the receiver, found {received}"))
        }
    }
}

/// Of `status --json`.
fn policies(status: &str) -> Option<Vec<Value>> {
    let mut status: Value = serde_json::from_str(status).ok()?;
    Some(std::mem::take(status["policies"].as_array_mut()?))
}

/// Markdown: algorithms by kernels, and below it each reason with those that it concerns.
#[must_use]
pub fn table(columns: &[Column]) -> String {
    let releases: Vec<&str> = columns.iter().map(|column| column.release.as_str()).collect();
    let mut text = format!("| algorithm | {} |\n|---|{}\n", releases.join(" | "), "---|".repeat(columns.len()));
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    for (index, algorithm) in algorithms().enumerate() {
        text += &format!("| `{}` |", algorithm.name);
        for column in columns {
            let (word, reason) = match &column.cells[index].1 {
                Cell::Works { .. } => ("yes", None),
                Cell::DoesNotLoad(reason) => ("does not load", Some(reason)),
                Cell::Fails(reason) => ("fails", Some(reason)),
            };
            let note = reason.map_or_else(String::new, |reason| {
                let number = note_number(&mut notes, reason, &format!("{} on {}", algorithm.name, column.release));
                format!(" [{number}]")
            });
            text += &format!(" {word}{note} |");
        }
        text.push('\n');
    }
    for (index, (reason, whom)) in notes.iter().enumerate() {
        text += &format!("\n[{}] {}: {reason}\n", index + 1, whom.join(", "));
    }
    text
}

fn note_number(notes: &mut Vec<(String, Vec<String>)>, reason: &str, whom: &str) -> usize {
    let at = notes.iter().position(|(known, _)| known == reason).unwrap_or_else(|| {
        notes.push((reason.to_owned(), Vec::new()));
        notes.len() - 1
    });
    notes[at].1.push(whom.to_owned());
    at + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flow(received: u64, samples: u64) -> Value {
        json!({ "received_bytes": received, "metrics": { "rtt_samples": samples } })
    }

    #[test]
    fn an_algorithm_works_when_it_carries_is_recorded_and_is_gone() {
        assert_eq!(judge(&flow(PAYLOAD_BYTES, 900), r#"{"policies":[]}"#), Cell::Works { samples: 900 });
        let fails = |flow: &Value, status: &str, part: &str| match judge(flow, status) {
            Cell::Fails(reason) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{other:?}"),
        };
        fails(&flow(PAYLOAD_BYTES - 1, 900), r#"{"policies":[]}"#, "found 999999 bytes");
        fails(&flow(PAYLOAD_BYTES, 0), r#"{"policies":[]}"#, "recorded");
        fails(&flow(PAYLOAD_BYTES, 900), r#"{"policies":[{}]}"#, "left");
        fails(&json!(null), r#"{"policies":[]}"#, "found nothing");
    }

    #[test]
    fn every_algorithm_is_a_flow_of_one_run() {
        let groups = together();
        assert!(
            groups.iter().flatten().map(|algorithm| algorithm.name).eq(algorithms().map(|algorithm| algorithm.name))
        );
        let task = task(&groups, true);
        assert_eq!(task.commands.len(), 1 + 2 * groups.len());
        for ((path, text), group) in task.files.iter().zip(&groups) {
            let text = std::str::from_utf8(text).unwrap();
            let scenario = ccactl_scenario::ScenarioFile::parse(path, text, &[]).unwrap().scenario;
            assert_eq!(scenario.flows.len(), group.len());
            assert!(scenario.flows.iter().all(|flow| flow.bytes == Some(PAYLOAD_BYTES)));
        }
    }

    #[test]
    fn what_needs_accurate_ecn_does_without_before_7() {
        let releases = ["6.1.0-50-cloud-amd64", "6.18.15+deb13-cloud-amd64", "7.2.13+deb14-cloud-amd64", "10.0"];
        assert_eq!(releases.map(has_accecn), [false, false, true, true]);
        let classic = |has_accecn| {
            let task = task(&together(), has_accecn);
            task.files.iter().filter(|(_, text)| String::from_utf8_lossy(text).contains("classic_ecn = 1")).count()
        };
        assert_eq!((classic(false), classic(true)), (1, 0));
    }

    #[test]
    fn a_reason_is_told_once_for_all_that_it_concerns() {
        let cells = |cell: &Cell| algorithms().map(|algorithm| (algorithm, cell.clone())).collect();
        let works = Column { release: "7.2".into(), cells: cells(&Cell::Works { samples: 1 }) };
        let fails = Column { release: "6.1".into(), cells: cells(&Cell::DoesNotLoad("no write".into())) };
        let table = table(&[fails, works]);
        assert!(table.starts_with("| algorithm | 6.1 | 7.2 |\n|---|---|---|\n"), "{table}");
        let row = format!("| `{}` | does not load [1] | yes |\n", ALGORITHMS[0].name);
        assert!(table.contains(&row), "{table}");
        assert_eq!(table.matches("no write").count(), 1, "{table}");
    }
}
