//! Rows of a row group by flow. Neighbours are then one connection's: its counters grow by small steps, and its names,
//! addresses and ports stay. So they take less room on disk, and a reader meets thousands of rows of one flow in turn.

use crate::Column;
use crate::layout::FLOW;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, UInt32Type, UInt64Type};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::interleave::interleave_record_batch;
use std::collections::BTreeMap;

/// Rows that are put together at a time, a tenth of the memory of a row group.
const PIECE_ROWS: usize = 32 * 1024;

/// Rows in the order of the stream until there are enough for a row group.
pub(crate) struct RowGroup {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl RowGroup {
    /// None yet, of batches with these columns.
    pub(crate) fn new(schema: SchemaRef) -> RowGroup {
        RowGroup { schema, batches: Vec::new(), rows: 0 }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.rows += batch.num_rows();
        self.batches.push(RecordBatch::try_new(SchemaRef::clone(&self.schema), batch.columns().to_vec())?);
        Ok(())
    }

    /// Takes all rows out, in pieces: by [`FLOW`], and those of a flow in the order in which they came.
    pub(crate) fn drain(
        &mut self,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ArrowError>> + use<>, ArrowError> {
        let batches = std::mem::take(&mut self.batches);
        self.rows = 0;
        let places = by_flow(&batches)?;
        let pieces = (0..places.len()).step_by(PIECE_ROWS);
        Ok(pieces.map(move |start| {
            let batches: Vec<&RecordBatch> = batches.iter().collect();
            interleave_record_batch(&batches, &places[start..places.len().min(start + PIECE_ROWS)])
        }))
    }
}

/// Batch and row within it of every row.
fn by_flow(batches: &[RecordBatch]) -> Result<Vec<(usize, usize)>, ArrowError> {
    let mut flows: BTreeMap<(u32, u64), Vec<(usize, usize)>> = BTreeMap::new();
    for (number, batch) in batches.iter().enumerate() {
        let netns = identity::<UInt32Type>(batch, FLOW[0])?;
        let flow_ids = identity::<UInt64Type>(batch, FLOW[1])?;
        for (row, key) in netns.iter().copied().zip(flow_ids.iter().copied()).enumerate() {
            flows.entry(key).or_default().push((number, row));
        }
    }
    Ok(flows.into_values().flatten().collect())
}

fn identity<T: ArrowPrimitiveType>(batch: &RecordBatch, column: Column) -> Result<&[T::Native], ArrowError> {
    let name = column.name();
    let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<T>());
    let expected = || ArrowError::SchemaError(format!("it has no column {name} of the type that docs/schema.md gives"));
    Ok(column.ok_or_else(expected)?.values())
}
