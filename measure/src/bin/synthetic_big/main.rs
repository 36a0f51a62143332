//! Writes a recording of any length in bounded memory, to see what a report on it costs. It has flows of three algorithms
//! that share a link, one row per ACK, schema version 2, in the layout that the recorder gives its files.
//!
//! `cargo xtask bench report` runs it; by hand
//! `cargo run --release --manifest-path measure/Cargo.toml --bin synthetic_big -- OUT.parquet ROWS [FLOWS]`.

mod columns;
mod flow;

use std::fs::File;

use ccactl_recording::layout::ROW_GROUP_ROWS;
use ccactl_recording::write::parquet::{order, properties};
use ccactl_recording::{Key, Metadata, SCHEMA_VERSION, SealedFile};
use columns::Columns;
use flow::{Flow, Noise};
use parquet::arrow::ArrowWriter;

const FLOWS: usize = 50;
/// All flows together.
const ROWS_PER_S: f64 = 400_000.0;

fn main() {
    let mut args = std::env::args().skip(1);
    let usage = "usage: synthetic_big OUT.parquet ROWS [FLOWS]";
    let path = args.next().expect(usage);
    let rows: usize = args.next().expect(usage).parse().expect("ROWS is a number");
    let count: usize = args.next().map_or(FLOWS, |text| text.parse().expect("FLOWS is a number"));
    let mut flows: Vec<Flow> = (0..count).map(|id| Flow::new(id as u64)).collect();
    // For reading too: the checksum is put into the footer at the end.
    let file = File::options().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
    let schema = columns::schema();
    let mut pairs = metadata(rows).to_pairs();
    pairs.insert(Key::Order.name().to_owned(), order(true));
    let properties = properties(&pairs, &schema, true);
    let mut writer = ArrowWriter::try_new(SealedFile::new(file), schema, Some(properties)).expect("a writer");
    let mut noise = Noise::new();
    let mut written = 0;
    while written < rows {
        let here = ROW_GROUP_ROWS.min(rows - written);
        let mut columns = Columns::default();
        for row in written..written + here {
            let t_us = (row as f64 * 1e6 / ROWS_PER_S) as u64;
            // Flows have their opening one after the other, and then ACKs in no order.
            let index = if row < count { row } else { noise.below(count as u64) as usize };
            columns.push(flows[index].ack(t_us, &mut noise));
        }
        writer.write(&columns.batch()).expect("rows are written");
        written += here;
    }
    writer.into_inner().expect("a footer").seal().expect("a checksum");
    let bytes = std::fs::metadata(&path).expect("the file").len();
    println!("{path}: {rows} rows of {count} flows, {bytes} bytes, {:.1} per row", bytes as f64 / rows as f64);
}

/// What a recorder says beside the rows.
fn metadata(rows: usize) -> Metadata {
    Metadata {
        schema_version: SCHEMA_VERSION,
        writer: Some(env!("CARGO_PKG_VERSION").to_owned()),
        kernel: Some("a model, no kernel".to_owned()),
        started: Some("2026-11-20T18:00:00Z".to_owned()),
        every: Some("ack".to_owned()),
        rows: Some(rows as u64),
        drops: Some(0),
        ..Metadata::default()
    }
}
