//! L4S on a stock kernel: Accurate ECN and ECT(1) by an algorithm in BPF, as the packets show it.

mod needs;

use ccactl_lab::{End, GuestCommand, Results, Task};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const SCENARIO: &str = "
name = 'l4s'
description = 'Prague and CUBIC through DualPI2'
duration = '6s'
[link]
rate = '20Mbit/s'
base_rtt = '20ms'
buffer = { packets = 1000 }
queue = { discipline = 'dual-pi2' }
[[flow]]
name = 'prague'
algorithm = 'prague'
bytes = 4000000
[[flow]]
name = 'cubic'
algorithm = 'cubic'
";

fn command(words: &[&str]) -> GuestCommand {
    GuestCommand { arguments: words.iter().map(ToString::to_string).collect(), limit_s: 120 }
}

/// What the guest printed of one command, which must have ended well.
fn printed(results: &Results, command: usize) -> Value {
    let end = &results.outcome.commands[command].end;
    assert_eq!(end, &End::Exited(0), "{}", results.stderr(command).unwrap());
    serde_json::from_str(&results.stdout(command).unwrap()).unwrap()
}

/// By `ecn_mode` of Prague's rows: the most that `delivered_ce_bytes` has come to.
fn marks_of_prague(recording: &Path) -> BTreeMap<String, u64> {
    let reader = SerializedFileReader::new(File::open(recording).unwrap()).unwrap();
    let mut most = BTreeMap::new();
    let wanted = ["algorithm", "ecn_mode", "delivered_ce_bytes"];
    let schema = reader.metadata().file_metadata().schema();
    let columns = schema.get_fields().iter().filter(|column| wanted.contains(&column.name())).cloned().collect();
    let rows = Type::group_type_builder(schema.name()).with_fields(columns).build().unwrap();
    for row in reader.get_row_iter(Some(rows)).unwrap() {
        let fields: HashMap<String, Field> =
            row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect();
        // A copy with tunables of its own has a name of its own: bpf_prag_570092.
        if !matches!(&fields["algorithm"], Field::Str(name) if name.starts_with("bpf_prag")) {
            continue;
        }
        let Field::Str(mode) = &fields["ecn_mode"] else { panic!("{:?}", fields["ecn_mode"]) };
        let bytes = match &fields["delivered_ce_bytes"] {
            Field::ULong(bytes) => *bytes,
            Field::Null => 0,
            other => panic!("{other:?}"),
        };
        let so_far = most.entry(mode.clone()).or_insert(0);
        *so_far = bytes.max(*so_far);
    }
    most
}

#[test]
fn prague_negotiates_accurate_ecn_sends_ect1_and_counts_each_mark() {
    let Some(lab) = needs::ccactl_in("7") else { return };
    let task = Task {
        files: vec![("job/l4s.toml".to_owned(), SCENARIO.as_bytes().to_vec())],
        commands: vec![
            command(&["load", "prague", "--cgroup", "/l4s", "--create", "--json"]),
            command(&["load", "prague", "--cgroup", "/l4s", "--json"]),
            command(&["unload", "--cgroup", "/l4s", "--json"]),
            command(&["bench", "/job/l4s.toml", "--output", "/results/l4s", "--attempts", "1", "--json"]),
        ],
    };
    let results = lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false)).unwrap();
    let loaded = printed(&results, 0);
    let interfaces = loaded["ect1_interfaces"].as_array().unwrap();
    assert!(interfaces.contains(&"lo".into()), "{loaded}");
    let again = printed(&results, 1);
    assert_eq!((&again["change"], &again["ect1_interfaces"]), (&"unchanged".into(), &loaded["ect1_interfaces"]));
    printed(&results, 2);

    printed(&results, 3);
    let result = std::fs::read(results.folder().join("l4s/result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    let run = &result["runs"][0];
    let ecn = &run["transmitters"][0]["ecn"];
    let count = |codepoint: &str, of: &str| ecn[codepoint][of].as_u64().unwrap_or_default();
    assert_eq!(count("ect0", "offered_packets"), 0, "nothing of an L4S sender leaves as ECT(0): {ecn}");
    assert!(count("ect1", "offered_packets") > 1000, "{ecn}");
    // It ends before the run does, so that every mark has come back.
    let [prague, cubic] = [&run["flows"][0], &run["flows"][1]];
    let marks = count("ect1", "marked_packets");
    assert!(marks > 0, "{ecn}");
    assert_eq!(prague["received_bytes"], 4_000_000);
    assert_eq!(prague["metrics"]["delivered_ce_pkts"], marks, "the sender's count is the link's");
    assert_eq!(cubic["metrics"]["delivered_ce_pkts"], 0);
    let recorded = marks_of_prague(&results.folder().join("l4s/run-1/recording.parquet"));
    assert_eq!(recorded.keys().map(String::as_str).collect::<Vec<_>>(), ["accecn"], "what the handshake agreed on");
    let bytes = recorded["accecn"];
    // Full segments, and the option is allowed to come late: within a tenth.
    let expected = marks * 1448;
    assert!(bytes.abs_diff(expected) * 10 <= expected, "{bytes} bytes of {marks} marked segments");
    // What the two queues are for. The bounds are those of a short run; docs/experiments has the long ones.
    let p99_us = ecn["ect1"]["queueing"]["p99_us"].as_f64().unwrap();
    assert!(p99_us < 2000.0, "{ecn}");
}
