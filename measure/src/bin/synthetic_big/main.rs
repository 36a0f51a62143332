//! Writes a recording of any length in bounded memory, to see what a report on it costs. It has flows of three algorithms
//! that share a link, one row per ACK, schema version 2, in the layout that the recorder gives its files.
//!
//! `cargo xtask bench report` runs it; by hand
//! `cargo run --release --manifest-path measure/Cargo.toml --bin synthetic_big -- OUT.parquet ROWS [FLOWS]`.
//! With `--connections` each flow ends after five rows, and another one comes in its place.
//! With `--parts N` the recording is N parts of a dataset in the folder OUT. The path of each is printed when it is finished, and the
//! next is begun when a line comes in: so a recording may be longer than the disk.

mod columns;
mod flow;

use std::fs::File;
use std::io::{self, BufRead};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ccactl_recording::layout::ROW_GROUP_ROWS;
use ccactl_recording::names::part_path;
use ccactl_recording::write::parquet::{order, properties};
use ccactl_recording::{Key, Metadata, SCHEMA_VERSION, SealedFile};
use columns::Columns;
use flow::{Flow, Noise};
use parquet::arrow::ArrowWriter;

const FLOWS: usize = 50;
/// All flows together.
const ROWS_PER_S: f64 = 400_000.0;
const USAGE: &str = "usage: synthetic_big OUT ROWS [FLOWS] [--connections] [--parts N]";
/// Of a connection that ends.
const ROWS_OF_CONNECTION: u64 = 5;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let option = args.iter().position(|arg| arg == "--parts");
    let parts = option.map(|at| args.drain(at..).nth(1).and_then(|text| text.parse().ok()).expect(USAGE));
    let are_connections = args.iter().any(|arg| arg == "--connections");
    args.retain(|arg| arg != "--connections");
    let mut args = args.into_iter();
    let path = PathBuf::from(args.next().expect(USAGE));
    let rows: usize = args.next().expect(USAGE).parse().expect("ROWS is a number");
    let count: usize = args.next().map_or(FLOWS, |text| text.parse().expect("FLOWS is a number"));
    let flows = (0..count as u64).map(Flow::new).collect();
    let mut model = Model { flows, noise: Noise::new(), next: are_connections.then_some(count as u64) };
    let Some(parts) = parts else {
        model.write(&path, 0..rows, &metadata(rows));
        let bytes = std::fs::metadata(&path).expect("the file").len();
        let per_row = bytes as f64 / rows as f64;
        println!("{}: {rows} rows of {count} flows, {bytes} bytes, {per_row:.1} per row", path.display());
        return;
    };
    let mut lines = io::stdin().lock().lines();
    for number in 0..parts {
        let of_part = rows * number / parts..rows * (number + 1) / parts;
        let told = Metadata {
            dataset: Some("synthetic".to_owned()),
            part: Some(number as u64),
            parts: (number + 1 == parts).then_some(parts as u64),
            ..metadata(of_part.len())
        };
        let file = part_path(&path, u32::try_from(number).expect("fewer than 2³² parts"));
        model.write(&file, of_part, &told);
        println!("{}", file.display());
        if lines.next().is_none() {
            return;
        }
    }
}

struct Model {
    flows: Vec<Flow>,
    noise: Noise,
    /// The number of the next connection, if they end.
    next: Option<u64>,
}

impl Model {
    fn write(&mut self, path: &Path, rows: Range<usize>, metadata: &Metadata) {
        // For reading too: the checksum is put into the footer at the end.
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path).expect("a file");
        let schema = columns::schema();
        let mut pairs = metadata.to_pairs();
        pairs.insert(Key::Order.name().to_owned(), order(true));
        let properties = properties(&pairs, &schema, true);
        let mut writer = ArrowWriter::try_new(SealedFile::new(file), schema, Some(properties)).expect("a writer");
        for from in rows.clone().step_by(ROW_GROUP_ROWS) {
            let mut columns = Columns::default();
            for row in from..rows.end.min(from + ROW_GROUP_ROWS) {
                let t_us = (row as f64 * 1e6 / ROWS_PER_S) as u64;
                // Flows have their opening one after the other, and then ACKs in no order.
                let count = self.flows.len();
                let index = if row < count { row } else { self.noise.below(count as u64) as usize };
                let flow = &mut self.flows[index];
                match &mut self.next {
                    Some(next) if flow.rows() + 1 == ROWS_OF_CONNECTION => {
                        columns.push(flow.close(t_us, &mut self.noise));
                        *flow = Flow::new(*next);
                        *next += 1;
                    }
                    _ => columns.push(flow.ack(t_us, &mut self.noise)),
                }
            }
            writer.write(&columns.batch()).expect("rows are written");
        }
        writer.into_inner().expect("a footer").seal().expect("a checksum");
    }
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
