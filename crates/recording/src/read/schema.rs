//! The columns that a report reads.

use std::path::Path;

use polars::prelude::*;

use super::Error;
use crate::columns::{Column, Type};

/// Every column that a fold can ask for.
pub static READ: [Column; 41] = [
    Column::TUs,
    Column::Event,
    Column::Netns,
    Column::FlowId,
    Column::CgroupId,
    Column::Src,
    Column::Dst,
    Column::Sport,
    Column::Dport,
    Column::Algorithm,
    Column::Previous,
    Column::TraceMode,
    Column::TraceBwBps,
    Column::TraceMinRttUs,
    Column::TraceInflightLoPkts,
    Column::TraceInflightHiPkts,
    Column::TraceV0,
    Column::TraceV1,
    Column::CwndPkts,
    Column::SsthreshPkts,
    Column::PacingRateBps,
    Column::SndWndBytes,
    Column::RcvWndBytes,
    Column::RcvLimitBytes,
    Column::RcvRttUs,
    Column::RcvMinRttUs,
    Column::RttUs,
    Column::BytesAcked,
    Column::BytesSent,
    Column::BytesRetrans,
    Column::BytesReceived,
    Column::RetransPkts,
    Column::LostPkts,
    Column::DeliveredPkts,
    Column::DeliveredCePkts,
    Column::RtoCount,
    Column::DurationUs,
    Column::CompletionUs,
    Column::RttMeanUs,
    Column::RttMinUs,
    Column::DroppedRows,
];

/// The type of a column in a file of the recorder; other integers are cast to it.
pub fn dtype(column: Column) -> DataType {
    match column.facts().kind {
        Type::Time => DataType::Datetime(TimeUnit::Nanoseconds, Some(TimeZone::UTC)),
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::I64 => DataType::Int64,
        Type::F32 => DataType::Float32,
        Type::Text => DataType::String,
        Type::Flag => DataType::Boolean,
    }
}

fn fits(column: Column, found: &DataType) -> bool {
    match column.facts().kind {
        Type::U16 | Type::U32 | Type::U64 | Type::I64 => found.is_integer(),
        Type::Time | Type::F32 | Type::Text | Type::Flag => *found == dtype(column),
    }
}

fn expected(column: Column) -> &'static str {
    match column.facts().kind {
        Type::U16 | Type::U32 | Type::U64 | Type::I64 => "an integer",
        Type::Text => "text",
        Type::Time => "a time",
        Type::F32 => "a number",
        Type::Flag => "true or false",
    }
}

/// Fails on the first column of this version that is missing or of another kind.
pub fn check(path: &Path, version: u32, found: &Schema) -> Result<(), Error> {
    for column in READ {
        let problem = match found.get(column.name()) {
            None if column.facts().since > version => continue,
            None => "no such column".to_owned(),
            Some(dtype) if fits(column, dtype) => continue,
            Some(dtype) => dtype.to_string(),
        };
        return Err(Error::Column {
            path: path.to_owned(),
            column: column.name().to_owned(),
            expected: expected(column),
            found: problem,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_asked_for_from_the_version_that_brought_it() {
        let mut found: Schema = READ.iter().map(|&column| Field::new(column.name().into(), dtype(column))).collect();
        found.shift_remove("rto_count").unwrap();
        let path = Path::new("x.parquet");
        assert!(check(path, 1, &found).is_ok());
        let missing = check(path, 2, &found).unwrap_err().to_string();
        assert!(missing.contains("column rto_count: expected an integer, found no such column"), "{missing}");
        // A type that is wrong is wrong in any version.
        found.insert("dropped_rows".into(), DataType::String);
        assert!(check(path, 1, &found).is_err());
    }
}
