//! Group-by over rows that arrive in batches: a small partial frame per batch, folded into one.

use polars::prelude::*;

/// How values of one group become one value. Each is associative, so partial results fold like rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agg {
    /// Sum, null counts as nothing.
    Sum,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

impl Agg {
    /// Over rows, and over partial results alike.
    fn of(self, values: Expr) -> Expr {
        match self {
            Agg::Sum => values.sum(),
            Agg::Min => values.min(),
            Agg::Max => values.max(),
        }
    }
}

/// One running group-by.
pub struct Fold {
    keys: Vec<Expr>,
    columns: Vec<(&'static str, Agg, Expr)>,
    filter: Option<Expr>,
    partials: Vec<DataFrame>,
    partial_rows: usize,
    compact_at_rows: usize,
}

/// Partials are merged when they hold this many rows (or twice the groups), which bounds memory.
const COMPACT_ROWS: usize = 500_000;

impl Fold {
    /// A group-by on `keys` (named expressions) that computes `columns` (name, aggregate, expression on the rows).
    pub fn new(keys: Vec<Expr>, columns: Vec<(&'static str, Agg, Expr)>) -> Fold {
        Fold { keys, columns, filter: None, partials: Vec::new(), partial_rows: 0, compact_at_rows: COMPACT_ROWS }
    }

    /// Looks only at rows for which `predicate` holds.
    pub fn filtered(mut self, predicate: Expr) -> Fold {
        self.filter = Some(predicate);
        self
    }

    /// Takes a batch in.
    pub fn push(&mut self, batch: &DataFrame) -> PolarsResult<()> {
        let mut rows = batch.clone().lazy();
        if let Some(predicate) = &self.filter {
            rows = rows.filter(predicate.clone());
        }
        let partial = rows.group_by_stable(self.keys.clone()).agg(self.of_rows()).collect()?;
        self.partial_rows += partial.height();
        self.partials.push(partial);
        if self.partial_rows > self.compact_at_rows {
            self.compact()?;
        }
        Ok(())
    }

    /// The result, with one row per group in the order of first appearance. `None` without any batch.
    pub fn finish(mut self) -> PolarsResult<Option<DataFrame>> {
        self.compact()?;
        Ok(self.partials.pop())
    }

    fn of_rows(&self) -> Vec<Expr> {
        self.columns.iter().map(|(name, agg, expr)| agg.of(expr.clone()).alias(*name)).collect()
    }

    fn of_partials(&self) -> Vec<Expr> {
        self.columns.iter().map(|(name, agg, _)| agg.of(col(*name)).alias(*name)).collect()
    }

    fn compact(&mut self) -> PolarsResult<()> {
        if self.partials.len() > 1 {
            let keys: Vec<Expr> = {
                let schema = self.partials[0].schema();
                schema.iter_names().take(self.keys.len()).map(|name| col(name.clone())).collect()
            };
            let partials: Vec<LazyFrame> = self.partials.drain(..).map(IntoLazy::lazy).collect();
            let frame =
                concat(partials, UnionArgs::default())?.group_by_stable(keys).agg(self.of_partials()).collect()?;
            self.partials.push(frame);
        }
        self.partial_rows = self.partials.first().map_or(0, DataFrame::height);
        self.compact_at_rows = COMPACT_ROWS.max(2 * self.partial_rows);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold() -> Fold {
        Fold::new(
            vec![col("key")],
            vec![
                ("total", Agg::Sum, col("value")),
                ("least", Agg::Min, col("value")),
                ("most", Agg::Max, col("value") * lit(10)),
            ],
        )
    }

    #[test]
    fn batches_fold_to_the_same_as_one_frame() {
        let all = df!("key" => [1, 2, 1, 2, 1], "value" => [5i64, 7, 3, 1, 4]).unwrap();
        let mut whole = fold();
        whole.push(&all).unwrap();
        let mut parts = fold();
        for start in 0..5 {
            parts.push(&all.slice(start, 1)).unwrap();
        }
        let expected =
            df!("key" => [1, 2], "total" => [12i64, 8], "least" => [3i64, 1], "most" => [50i64, 70]).unwrap();
        assert!(whole.finish().unwrap().unwrap().equals(&expected));
        assert!(parts.finish().unwrap().unwrap().equals(&expected));
    }

    #[test]
    fn a_filter_drops_rows_before_they_are_grouped() {
        let rows = df!("key" => [1, 2], "value" => [5i64, 7], "name" => ["a", "b"]).unwrap();
        let mut filtered = fold().filtered(col("value").gt(lit(6)));
        filtered.push(&rows).unwrap();
        assert_eq!(filtered.finish().unwrap().unwrap().height(), 1);
    }
}
