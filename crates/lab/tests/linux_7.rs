//! What only recent kernels have, in one guest: L4S with Accurate ECN and ECT(1) by an algorithm in BPF, as the packets show it, and the
//! bottleneck as a queue discipline in BPF.

mod needs;

use ccactl_lab::{End, GuestCommand, Results, Task};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::LazyLock;
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

/// CoDel towards the server and from it, 1 ms for 2500 bytes.
const IN_BPF: &str = "
name = 'in-bpf'
description = 'Both directions through CoDel inside the kernel'
duration = '5s'
[link]
rate = '20Mbit/s'
base_rtt = '20ms'
buffer = { bytes = 200000 }
down_buffer = { bytes = 30000 }
queue = { discipline = 'codel' }
duplex = true
[[flow]]
name = 'up'
algorithm = 'native:reno'
[[flow]]
name = 'down'
algorithm = 'native:reno'
direction = 'download'
";

/// What the guest did; none where there is nothing to boot it with.
static RESULTS: LazyLock<Option<Results>> = LazyLock::new(|| {
    let lab = needs::ccactl_in("7")?;
    let bench = |name: &str, link: &str| {
        let (file, output) = (format!("/job/{name}.toml"), format!("/results/{name}"));
        command(&["bench", &file, "--link", link, "--output", &output, "--attempts", "1", "--json"])
    };
    let file = |name: &str, text: &str| (format!("job/{name}.toml"), text.as_bytes().to_vec());
    let task = Task {
        files: vec![file("l4s", SCENARIO), file("in-bpf", IN_BPF)],
        commands: vec![
            command(&["load", "prague", "--cgroup", "/l4s", "--create", "--json"]),
            command(&["load", "prague", "--cgroup", "/l4s", "--json"]),
            command(&["unload", "--cgroup", "/l4s", "--json"]),
            bench("l4s", "emulator"),
            bench("in-bpf", "bpf"),
        ],
        kernel_carries: true,
    };
    Some(lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false)).unwrap())
});

/// The only run of a bench that ended well.
fn run_of(results: &Results, command: usize, name: &str) -> Value {
    printed(results, command);
    let result = std::fs::read(results.folder().join(name).join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    result["runs"][0].clone()
}

#[test]
fn prague_negotiates_accurate_ecn_sends_ect1_and_counts_each_mark() {
    let Some(results) = &*RESULTS else { return };
    let loaded = printed(results, 0);
    let interfaces = loaded["ect1_interfaces"].as_array().unwrap();
    assert!(interfaces.contains(&"lo".into()), "{loaded}");
    let again = printed(results, 1);
    assert_eq!((&again["change"], &again["ect1_interfaces"]), (&"unchanged".into(), &loaded["ect1_interfaces"]));
    printed(results, 2);

    let run = run_of(results, 3, "l4s");
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

#[test]
fn a_bottleneck_inside_the_kernel_keeps_rate_delay_and_buffer_both_ways() {
    let Some(results) = &*RESULTS else { return };
    let run = run_of(results, 4, "in-bpf");
    for (way, flow) in [(0, 0), (1, 1)] {
        let (of, flow) = (&run["transmitters"][way], &run["flows"][flow]);
        let count = |of_what: &str| of[of_what].as_u64().unwrap_or_else(|| panic!("{of_what}: {of}"));
        assert!(count("offered_packets") > 2000, "{of}");
        let left = count("delivered_packets") + count("dropped_full_packets") + count("dropped_early_packets");
        assert_eq!(count("offered_packets"), left + count("queued_packets"), "{of}");
        assert!(count("dropped_early_packets") + count("dropped_full_packets") > 0, "{of}");
        assert_eq!(of["planned_rate_bps"].as_f64().unwrap().round(), 20e6, "{of}");
        // The ACKs of the other flow share the way, and a timeout costs a short run much.
        let goodput_bps = flow["metrics"]["goodput_bps"].as_f64().unwrap();
        assert!((2e6..19.2e6).contains(&goodput_bps), "{goodput_bps}");
        let rtt_min_us = flow["metrics"]["rtt_min_us"].as_u64().unwrap();
        assert!((20_000..22_000).contains(&rtt_min_us), "{rtt_min_us}");
        assert!(of["queueing"]["p99_us"].as_f64().unwrap() < 100_000.0, "{of}");
    }
    let most = |way: usize| run["transmitters"][way]["queue_max_bytes"].as_u64().unwrap();
    assert!((20_000..=200_000).contains(&most(0)) && most(1) <= 30_000, "{} and {} bytes", most(0), most(1));
    let lateness = &run["link"]["lateness"];
    assert!(lateness["packets"].as_u64().unwrap() > 5_000, "{lateness}");
    assert!(lateness["p99_us"].as_f64().unwrap() < 100.0, "nothing disturbs a guest: {lateness}");
    assert!(run["link"].get("rate_error").is_none(), "only the emulator measures it");
}
