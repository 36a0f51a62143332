//! A column of numbers as a slice of its type.

use std::ops::Range;

use polars::prelude::*;
use polars_arrow::bitmap::Bitmap;

/// Numbers, some of which may not be known.
pub struct Numbers<'a> {
    values: Values<'a>,
    known: Option<&'a Bitmap>,
}

/// As wide as the file has them: to widen them all would touch twice the memory.
enum Values<'a> {
    /// The column was not asked for, or an older recording lacks it.
    Absent,
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
}

fn chunk<T: PolarsNumericType>(column: &ChunkedArray<T>) -> (&[T::Native], Option<&Bitmap>) {
    let Some(chunk) = column.downcast_iter().next() else { return (&[], None) };
    (chunk.values().as_slice(), chunk.validity().filter(|known| known.unset_bits() > 0))
}

impl<'a> Numbers<'a> {
    /// A column of a frame in one piece.
    pub fn of(frame: &'a DataFrame, of: ccactl_recording::Column) -> PolarsResult<Numbers<'a>> {
        let Ok(column) = frame.column(of.name()) else { return Ok(Numbers { values: Values::Absent, known: None }) };
        let series = column.as_materialized_series();
        let (values, known) = match series.dtype() {
            DataType::UInt16 => {
                let (values, known) = chunk(series.u16()?);
                (Values::U16(values), known)
            }
            DataType::UInt32 => {
                let (values, known) = chunk(series.u32()?);
                (Values::U32(values), known)
            }
            DataType::UInt64 => {
                let (values, known) = chunk(series.u64()?);
                (Values::U64(values), known)
            }
            _ => {
                let (values, known) = chunk(series.i64()?);
                (Values::I64(values), known)
            }
        };
        Ok(Numbers { values, known })
    }

    /// The value of a row.
    pub fn get(&self, i: usize) -> Option<u64> {
        if !self.is_known(i) {
            return None;
        }
        match self.values {
            Values::Absent => None,
            Values::U16(values) => values.get(i).copied().map(u64::from),
            Values::U32(values) => values.get(i).copied().map(u64::from),
            Values::U64(values) => values.get(i).copied(),
            Values::I64(values) => values.get(i).copied().and_then(|value| u64::try_from(value).ok()),
        }
    }

    /// The same of what fits.
    pub fn small(&self, i: usize) -> Option<u32> {
        self.get(i).and_then(|value| u32::try_from(value).ok())
    }

    /// The same of what may be negative.
    pub fn signed(&self, i: usize) -> Option<i64> {
        match self.values {
            Values::I64(values) if self.is_known(i) => values.get(i).copied(),
            _ => self.get(i).and_then(|value| i64::try_from(value).ok()),
        }
    }

    /// Calls `each` with the values of these rows, 0 for those that are not known.
    pub fn each(&self, rows: Range<usize>, mut each: impl FnMut(u64)) {
        match (&self.values, self.known) {
            (Values::U64(values), None) => values[rows].iter().for_each(|&value| each(value)),
            (Values::U32(values), None) => values[rows].iter().for_each(|&value| each(value.into())),
            _ => rows.for_each(|i| each(self.get(i).unwrap_or(0))),
        }
    }

    /// Whether none of these rows has a value.
    pub fn are_none(&self, rows: Range<usize>) -> bool {
        match (&self.values, self.known) {
            (Values::Absent, _) => true,
            (_, Some(known)) => known.null_count_range(rows.start, rows.len()) == rows.len(),
            (_, None) => false,
        }
    }

    /// All values when they are known and of 64 bits without a sign.
    pub fn slice(&self) -> Option<&'a [u64]> {
        match self.values {
            Values::U64(values) if self.known.is_none() => Some(values),
            _ => None,
        }
    }

    fn is_known(&self, i: usize) -> bool {
        self.known.is_none_or(|known| known.get_bit(i))
    }
}
