//! How often values occur, in a file: a line with lists for all values of a stretch or a pool. Every line of a file has room
//! for the columns of all tables, so a line per value would make the file mostly of what is not there.

use polars::prelude::*;

use super::columns as p;
use crate::summarize::pools::CLOSING;
use crate::summarize::quantiles::VALUE;
use crate::tables::columns as c;

/// A table of values and how often each occurs.
struct Values {
    table: &'static str,
    keys: &'static [&'static str],
    value: &'static str,
    dtype: DataType,
}

const ALL: [Values; 3] = [
    Values { table: "rtts", keys: &[c::STRETCH], value: c::RTT_US, dtype: DataType::UInt32 },
    Values { table: "pool_rtts", keys: &[c::ALGORITHM], value: c::RTT_US, dtype: DataType::UInt32 },
    Values { table: "pool_closings", keys: &[c::ALGORITHM, CLOSING], value: VALUE, dtype: DataType::UInt64 },
];

fn of(table: &str) -> Option<Values> {
    ALL.into_iter().find(|values| values.table == table)
}

fn columns(keys: &[&str]) -> Vec<Expr> {
    keys.iter().map(|key| col(*key)).collect()
}

/// As it is written; other tables are as they are.
pub fn rolled(name: &str, table: DataFrame) -> PolarsResult<DataFrame> {
    let Some(Values { keys, value, .. }) = of(name) else { return Ok(table) };
    let lists = [col(value).cast(DataType::UInt64).alias(p::VALUES), col(c::TIMES).alias(p::VALUE_TIMES)];
    table.lazy().group_by_stable(columns(keys)).agg(lists).collect()
}

/// The way back.
pub fn unrolled(name: &str, table: DataFrame) -> PolarsResult<DataFrame> {
    let Some(Values { keys, value, dtype, .. }) = of(name) else { return Ok(table) };
    let lists = [p::VALUES, p::VALUE_TIMES];
    let options = ExplodeOptions { empty_as_null: true, keep_nulls: true };
    let lines = table.lazy().select([columns(keys), columns(&lists)].concat()).explode(cols(lists), options);
    let lines = lines.select(
        [columns(keys), vec![col(p::VALUES).cast(dtype).alias(value), col(p::VALUE_TIMES).alias(c::TIMES)]].concat(),
    );
    lines.collect()
}
