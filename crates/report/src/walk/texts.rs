//! A column of texts that are few and repeat, each as what it means.

use polars::prelude::*;
use polars_arrow::array::Array;

/// More views than this are texts that do not share their bytes: looking through them would take longer than reading.
const MAX_SEEN: usize = 32;

/// What each text of a column means; `none` where there is no text. Empty when there is no such column.
pub fn meanings<T: Copy>(
    frame: &DataFrame,
    of: ccactl_recording::Column,
    none: T,
    mut meaning: impl FnMut(&str) -> T,
) -> PolarsResult<Vec<T>> {
    let Ok(column) = frame.column(of.name()) else { return Ok(Vec::new()) };
    let Some(array) = column.as_materialized_series().str()?.downcast_iter().next() else { return Ok(Vec::new()) };
    // A view is the text itself up to 12 bytes, else where it lies: equal texts may have several.
    let mut seen: Vec<(u128, T)> = Vec::new();
    let mut last: Option<(u128, T)> = None;
    let known = array.validity().filter(|known| known.unset_bits() > 0);
    let mut of_row = |(i, view): (usize, u128)| {
        if known.is_some_and(|known| !known.get_bit(i)) {
            return none;
        }
        // Neighbours are mostly the same.
        if let Some((_, value)) = last.filter(|(of, _)| *of == view) {
            return value;
        }
        let found = seen.iter().find(|(of, _)| *of == view).copied();
        let (_, value) = found.unwrap_or_else(|| {
            let new = (view, meaning(array.value(i)));
            if seen.len() < MAX_SEEN {
                seen.push(new);
            }
            new
        });
        last = Some((view, value));
        value
    };
    Ok(array.views().iter().map(|view| view.as_u128()).enumerate().map(&mut of_row).collect())
}
