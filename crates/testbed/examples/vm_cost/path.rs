//! The same over an emulated path of 100 Mbit/s, through `ccactl bench`.

use crate::{BASELINE, Failure, Subject};
use ccactl_lab::{GuestCommand, Lab, Task};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;

const COMMAND_LIMIT_S: u64 = 600;
/// Of a run, slow start and all. Longer ones take an hour of the host's time, and every instruction is counted anyway.
const DURATION_S: u32 = 2;
/// How often the recorder takes a row: hardly ever, and with every ACK.
const EVERY: [&str; 2] = ["2s", "ack"];

/// What a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Payload at the receiver.
    pub bytes: u64,
    /// Time in which the CPU was not idle, in s: sender, receiver, emulator, recorder and kernel.
    pub busy_s: f64,
    /// Rows of the recording: ACKs and events, when each is recorded.
    pub rows: u64,
}

/// By algorithm, without and with a recording of every ACK.
pub type Runs = BTreeMap<String, [Run; 2]>;

/// Of all subjects, their twins and the baseline; `failures` gets what could not be measured.
pub fn measure(lab: &Lab, subjects: &[Subject], failures: &mut Vec<String>) -> Result<Runs, Failure> {
    let mut names: Vec<String> = vec![BASELINE.to_owned()];
    for subject in subjects {
        names.extend(subject.twin.clone());
        names.push(subject.name.to_owned());
    }
    names.dedup();
    let mut task = Task::default();
    for (index, name) in names.iter().enumerate() {
        for every in EVERY {
            let path = format!("job/{index}-{every}.toml");
            let (file, output) = (format!("/{path}"), format!("/results/{index}-{every}"));
            let words = ["bench", &file, "--output", &output, "--attempts", "1", "--start-phase", "0s"];
            task.commands.push(GuestCommand { arguments: words.map(str::to_owned).into(), limit_s: COMMAND_LIMIT_S });
            task.files.push((path, scenario(name, every).into_bytes()));
        }
    }
    let results = lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false))?;
    let mut runs = Runs::new();
    for (index, name) in names.into_iter().enumerate() {
        let one = |way: usize| -> Result<Run, Failure> {
            let path = results.folder().join(format!("{index}-{}/result.json", EVERY[way]));
            let Ok(text) = fs::read(path) else { return Err(results.stderr(2 * index + way)?.trim().into()) };
            run(&serde_json::from_slice(&text)?).ok_or_else(|| "a result without figures".into())
        };
        match one(0).and_then(|bare| Ok([bare, one(1)?])) {
            Ok(both) => _ = runs.insert(name, both),
            Err(error) => failures.push(format!("{name}, path: {error}")),
        }
    }
    Ok(runs)
}

fn run(result: &Value) -> Option<Run> {
    let run = &result["runs"][0];
    Some(Run {
        bytes: run["flows"][0]["received_bytes"].as_u64()?,
        busy_s: run["cpu"]["busy_s"].as_f64()?,
        rows: run["recorded_rows"].as_u64()?,
    })
}

/// Marks for those that need them, room for a BDP for the others.
fn scenario(algorithm: &str, every: &str) -> String {
    format!(
        "name = 'cost'\ndescription = 'One flow'\nduration = '{DURATION_S}s'\nevery = '{every}'\n\
         [link]\nrate = '100Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'\necn_threshold = '40p'\n\
         [[flow]]\nname = 'flow'\nalgorithm = '{algorithm}'\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_tells_its_run() {
        let result =
            json!({ "runs": [{ "cpu": { "busy_s": 0.5 }, "recorded_rows": 7, "flows": [{ "received_bytes": 9 }] }] });
        assert_eq!(run(&result), Some(Run { bytes: 9, busy_s: 0.5, rows: 7 }));
        assert_eq!(run(&json!({})), None);
    }

    #[test]
    fn every_scenario_is_one() {
        for every in EVERY {
            ccactl_scenario::Scenario::parse("x.toml", &scenario("native:reno", every)).unwrap();
        }
    }
}
