//! Writes the seeds of the fuzzer that are recordings: `cargo run --release --workspace --example fuzz_seeds`, after a
//! change of the columns. A short and a longer one of each schema version, as a stream and as a Parquet file.

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use bytemuck::Zeroable;
use ccactl_abi::layout::{
    EVENT_ALGORITHM, EVENT_CA_STATE, EVENT_CLOSE, EVENT_OPEN, EVENT_RETRANS, EVENT_SAMPLE, Sample, name_bytes,
};
use ccactl_collector::recover;
use ccactl_recording::write::rows::{Context, batch, schema};
use ccactl_recording::write::{Clock, KnownAlgorithm};
use ccactl_recording::{CHECKSUM_KEY, Column};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// What a recorder says beside the rows.
const METADATA: [(&str, &str); 7] = [
    ("ccactl.version", "0.1.0"),
    ("ccactl.kernel", "6.18.0-test"),
    ("ccactl.every", "ack"),
    ("ccactl.cgroups", r#"{"100":"/a"}"#),
    ("ccactl.drops", "1"),
    ("ccactl.events", r#"["sample","open","close"]"#),
    ("ccactl.drops_by_reason", r#"{"ring_full_samples":1,"ring_full_events":0,"no_storage":0}"#),
];
/// As long as the key of the checksum, whose place it takes.
const NO_CHECKSUM: &str = "ccactl.nosum";

fn main() -> Result<(), Box<dyn Error>> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let folder = tempfile::TempDir::new()?;
    let short = [vec![row(1, 0, EVENT_SAMPLE)]];
    let long = [
        vec![row(1, 0, EVENT_OPEN), row(2, 0, EVENT_OPEN), row(1, 1, EVENT_SAMPLE), row(1, 2, EVENT_RETRANS)],
        vec![row(2, 3, EVENT_CA_STATE), row(2, 4, EVENT_ALGORITHM), row(1, 5, EVENT_CLOSE), row(2, 9, EVENT_CLOSE)],
    ];
    for version in [1, 2] {
        for (name, batches, metadata) in [("", &short[..], &[][..]), ("-events", &long[..], &METADATA[..])] {
            let name = format!("whole-{version}{name}");
            let bytes = stream(version, batches, metadata)?;
            fs::write(seeds.join("recover_stream").join(&name), &bytes)?;
            fs::write(seeds.join("report_stream").join(&name), &bytes)?;
            let (from, to) = (folder.path().join("x.arrows"), folder.path().join("x.parquet"));
            fs::write(&from, &bytes)?;
            recover(&from, &to, true)?;
            fs::write(seeds.join("report_parquet").join(&name), without_checksum(fs::read(&to)?))?;
        }
    }
    Ok(())
}

/// Row of connection `flow_id` after `step` milliseconds.
fn row(flow_id: u64, step: u64, event: u8) -> Sample {
    let time_ns = 1_000_000 * step + flow_id;
    let mut row = Sample {
        flow_id,
        time_ns,
        event,
        algorithm: name_bytes("bpf_cubic").expect("a short name"),
        family: if flow_id == 2 { 6 } else { 4 },
        bytes_acked: step * 14_480,
        bytes_sent: step * 14_480 + 2896,
        bytes_received: step,
        opened_ns: 1,
        progress_ns: time_ns,
        rtt_sum_us: 3000 * (step + 1),
        rtt_samples: step as u32 + 1,
        rtt_min_us: 2500,
        ..Sample::zeroed()
    };
    if event == EVENT_ALGORITHM {
        row.previous_algorithm = name_bytes("cubic").expect("a short name");
    }
    row
}

/// A short one has no end mark, as a kill leaves it.
fn stream(version: u32, batches: &[Vec<Sample>], metadata: &[(&str, &str)]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut pairs: BTreeMap<String, String> =
        metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    pairs.insert("ccactl.schema_version".to_owned(), version.to_string());
    let newest = schema(&pairs);
    let has = |name: &str| Column::named(name).is_some_and(|column| column.facts().since <= version);
    let columns: Vec<usize> = (0..newest.fields().len()).filter(|&index| has(newest.field(index).name())).collect();

    let mut context = Context::new(Clock { monotonic_ns: 0, unix_ns: 0 }, Arc::new(KnownAlgorithm::from_registry));
    let mut writer = StreamWriter::try_new(Vec::new(), &newest.project(&columns)?)?;
    for rows in batches {
        context.learn(rows);
        let rows: RecordBatch = batch(&newest, rows, &context);
        writer.write(&rows.project(&columns)?)?;
    }
    if batches.len() > 1 {
        writer.finish()?;
    }
    Ok(writer.get_ref().clone())
}

/// As a tool leaves a file that copies its rows. With a checksum, every change of the fuzzer would be refused before a byte
/// is decoded.
fn without_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let key = CHECKSUM_KEY.as_bytes();
    for index in 0..bytes.len() - key.len() {
        if bytes[index..].starts_with(key) {
            bytes[index..index + key.len()].copy_from_slice(NO_CHECKSUM.as_bytes());
        }
    }
    bytes
}
