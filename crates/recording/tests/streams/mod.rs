//! Streams made by hand, with the columns of a recording.

use bytemuck::Zeroable;
use ccactl_abi::layout::{Sample, name_bytes};
use ccactl_recording::write::rows::{Context, batch, schema};
use ccactl_recording::write::{Clock, KnownAlgorithm};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Batches of rows with these flow ids, which are their times too, and with the number of the row as `bytes_acked`; and the length of the header and up to each batch.
/// Without an end mark, as a kill leaves it.
pub fn stream(metadata: &[(&str, &str)], batches: &[&[u64]]) -> (Vec<u8>, Vec<u64>) {
    let mut context = Context::new(Clock { monotonic_ns: 0, unix_ns: 0 }, Arc::new(KnownAlgorithm::from_registry));
    let pairs = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let schema = schema(&pairs.collect::<BTreeMap<_, _>>());
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &schema).unwrap();
    let mut lengths = vec![writer.get_ref().len() as u64];
    let mut numbers = 0..;
    for flow_ids in batches {
        let algorithm = name_bytes("cubic").unwrap();
        let row = |(&flow_id, bytes_acked): (&u64, u64)| Sample {
            flow_id,
            time_ns: flow_id,
            bytes_acked,
            algorithm,
            family: 4,
            ..Sample::zeroed()
        };
        let samples: Vec<Sample> = flow_ids.iter().zip(&mut numbers).map(row).collect();
        context.learn(&samples);
        writer.write(&batch(&schema, &samples, &context)).unwrap();
        lengths.push(writer.get_ref().len() as u64);
    }
    (writer.get_ref().clone(), lengths)
}

/// The same as a file of schema version 2.
pub fn write_stream(path: &Path, batches: &[&[u64]]) -> Vec<u64> {
    let (bytes, lengths) = stream(&[("ccactl.schema_version", "2")], batches);
    fs::write(path, bytes).unwrap();
    lengths
}
