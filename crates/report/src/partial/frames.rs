//! Tables with different columns, one below the other.

use polars::prelude::*;

/// Every column of any. Integers of two widths become those of the wider one.
pub fn schema_of<'a>(frames: impl Iterator<Item = &'a DataFrame>) -> PolarsResult<Schema> {
    let mut schema = Schema::default();
    for frame in frames {
        for (name, dtype) in frame.schema().iter() {
            let wider = match schema.get(name) {
                Some(known) if known != dtype => wider(name, known, dtype)?,
                _ => dtype.clone(),
            };
            schema.insert(name.clone(), wider);
        }
    }
    Ok(schema)
}

/// The same rows with these columns; nothing where the table lacks one.
pub fn with_columns_of(frame: &DataFrame, schema: &Schema) -> PolarsResult<DataFrame> {
    let column = |(name, dtype): (&PlSmallStr, &DataType)| match frame.column(name) {
        Ok(column) if column.dtype() == dtype => Ok(column.clone()),
        Ok(column) => column.cast(dtype),
        Err(_) => Ok(Column::full_null(name.clone(), frame.height(), dtype)),
    };
    DataFrame::new(frame.height(), schema.iter().map(column).collect::<PolarsResult<_>>()?)
}

/// All rows, with every column of any.
pub fn union(frames: Vec<DataFrame>) -> PolarsResult<DataFrame> {
    let schema = schema_of(frames.iter())?;
    let mut rows: Option<DataFrame> = None;
    for frame in frames {
        let aligned = with_columns_of(&frame, &schema)?;
        match &mut rows {
            Some(rows) => {
                rows.vstack_mut(&aligned)?;
            }
            None => rows = Some(aligned),
        }
    }
    Ok(rows.unwrap_or_default())
}

fn wider(name: &str, one: &DataType, other: &DataType) -> PolarsResult<DataType> {
    match (one, other) {
        (DataType::Null, other) => Ok(other.clone()),
        (one, DataType::Null) => Ok(one.clone()),
        (one, other) if one.is_unsigned_integer() && other.is_unsigned_integer() => Ok(DataType::UInt64),
        (one, other) if one.is_integer() && other.is_integer() => Ok(DataType::Int64),
        _ => Err(PolarsError::SchemaMismatch(format!("{name} is {one} in one table and {other} in another").into())),
    }
}

/// The same rows, each column in one array.
pub fn in_one_piece(mut frame: DataFrame) -> DataFrame {
    frame.rechunk_mut();
    frame
}
