//! A finished recording, read back.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use ccactl_collector::StreamFile;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

pub struct Recording {
    batches: Vec<RecordBatch>,
    pub metadata: HashMap<String, String>,
}

impl Recording {
    pub fn parquet(path: &Path) -> Recording {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let metadata = pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect();
        Recording { batches: reader.build().unwrap().map(Result::unwrap).collect(), metadata }
    }

    pub fn stream(path: &Path) -> Recording {
        let stream = StreamFile::open(path).unwrap();
        let metadata = stream.schema().metadata().into();
        Recording { batches: stream.map(Result::unwrap).collect(), metadata }
    }

    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn numbers<T: ArrowPrimitiveType>(&self, column: &str) -> Vec<Option<T::Native>> {
        self.batches.iter().flat_map(|batch| batch[column].as_primitive::<T>().iter().collect::<Vec<_>>()).collect()
    }

    /// A column without nulls.
    pub fn u64(&self, column: &str) -> Vec<u64> {
        self.numbers::<UInt64Type>(column).into_iter().map(Option::unwrap).collect()
    }

    pub fn u32(&self, column: &str) -> Vec<Option<u32>> {
        self.numbers::<UInt32Type>(column)
    }

    pub fn u16(&self, column: &str) -> Vec<u16> {
        self.numbers::<UInt16Type>(column).into_iter().map(Option::unwrap).collect()
    }

    pub fn text(&self, column: &str) -> Vec<Option<String>> {
        let owned = |batch: &RecordBatch| -> Vec<Option<String>> {
            batch[column].as_string_view().iter().map(|value| value.map(str::to_owned)).collect()
        };
        self.batches.iter().flat_map(owned).collect()
    }

    /// Numbers of the rows with this event.
    pub fn rows_of(&self, event: &str) -> Vec<usize> {
        let events = self.text("event");
        (0..events.len()).filter(|&row| events[row].as_deref() == Some(event)).collect()
    }

    pub fn u64_at(&self, column: &str, row: usize) -> u64 {
        self.optional_u64_at(column, row).expect(column)
    }

    pub fn optional_u64_at(&self, column: &str, row: usize) -> Option<u64> {
        self.value::<UInt64Type>(column, row)
    }

    pub fn u32_at(&self, column: &str, row: usize) -> Option<u32> {
        self.value::<UInt32Type>(column, row)
    }

    fn value<T: ArrowPrimitiveType>(&self, column: &str, mut row: usize) -> Option<T::Native> {
        for batch in &self.batches {
            if row < batch.num_rows() {
                let values = batch[column].as_primitive::<T>();
                return values.is_valid(row).then(|| values.value(row));
            }
            row -= batch.num_rows();
        }
        panic!("no row {row}");
    }

    /// The closing of the socket that had connected to this port.
    pub fn sender_close(&self, port: u16) -> usize {
        let dport = self.u16("dport");
        self.rows_of("close").into_iter().find(|&row| dport[row] == port).expect("it was closed")
    }
}
