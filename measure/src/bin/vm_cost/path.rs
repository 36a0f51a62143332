//! The same over an emulated path of 100 Mbit/s, through `ccactl bench`.

use crate::{Failure, repeatable};
use ccactl_abi::Algorithm;
use ccactl_lab::{GuestCommand, Lab, Task};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;

const COMMAND_LIMIT_S: u64 = 600;
/// How often the recorder takes a row: hardly ever, and with every ACK.
const EVERY: [&str; 2] = ["2s", "ack"];

/// What a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Payload at the receiver.
    pub bytes: u64,
    /// Time in which the CPU was not idle, in s: sender, receiver, emulator, recorder and kernel.
    pub busy_s: f64,
    /// Packets that came back to the sender.
    pub acks: u64,
}

/// By algorithm, without and with a recording of every ACK.
pub type Runs = BTreeMap<String, [Run; 2]>;

/// Of one algorithm, in runs of so many seconds, slow start and all.
pub fn measure(lab: &Lab, name: &str, seconds: u32) -> Result<[Run; 2], Failure> {
    let mut task = Task::default();
    for every in EVERY {
        let path = format!("job/{every}.toml");
        let (file, output) = (format!("/{path}"), format!("/results/{every}"));
        let words = ["bench", &file, "--output", &output, "--attempts", "1", "--start-phase", "0s"];
        task.commands.push(GuestCommand { arguments: words.map(str::to_owned).into(), limit_s: COMMAND_LIMIT_S });
        task.files.push((path, scenario(name, every, seconds).into_bytes()));
    }
    let results = repeatable(lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false))?)?;
    let one = |way: usize| -> Result<Run, Failure> {
        let text = fs::read(results.folder().join(EVERY[way]).join("result.json"));
        let Ok(text) = text else { return Err(results.stderr(way)?.trim().into()) };
        run(&serde_json::from_slice(&text)?).ok_or_else(|| "a result without figures".into())
    };
    Ok([one(0)?, one(1)?])
}

fn run(result: &Value) -> Option<Run> {
    let run = &result["runs"][0];
    Some(Run {
        bytes: run["flows"][0]["received_bytes"].as_u64()?,
        busy_s: run["cpu"]["busy_s"].as_f64()?,
        acks: run["flows"][0]["link"]["returned_packets"].as_u64()?,
    })
}

/// Marks for those that need them, room for a BDP for the others.
fn scenario(algorithm: &str, every: &str, seconds: u32) -> String {
    let known = Algorithm::by_name(algorithm).map_or(&[][..], Algorithm::settings_of_any_kernel);
    let set: Vec<_> = known.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let set = set.join(", ");
    format!(
        "name = 'cost'\ndescription = 'One flow'\nduration = '{seconds}s'\nevery = '{every}'\n\
         [link]\nrate = '100Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'\necn_threshold = '40p'\n\
         [[flow]]\nname = 'flow'\nalgorithm = '{algorithm}'\nset = {{ {set} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_result_tells_its_run() {
        let result = json!({ "runs": [{ "cpu": { "busy_s": 0.5 }, "flows": [{ "received_bytes": 9, "link": { "returned_packets": 7 } }] }] });
        assert_eq!(run(&result), Some(Run { bytes: 9, busy_s: 0.5, acks: 7 }));
        assert_eq!(run(&json!({})), None);
    }

    #[test]
    fn every_scenario_is_one() {
        for every in EVERY {
            ccactl_scenario::Scenario::parse("x.toml", &scenario("native:reno", every, 2)).unwrap();
        }
    }
}
