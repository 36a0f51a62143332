//! Exact percentiles of counted values, for every group at once.

use polars::prelude::*;

/// Number of the group: a flow or an algorithm.
pub const GROUP: &str = "group";
/// A value: a whole number.
pub const VALUE: &str = "value";
/// How often it occurred.
pub const TIMES: &str = "times";

/// Number of values.
pub const SAMPLES: &str = "samples";
/// Their arithmetic mean.
pub const MEAN: &str = "mean";

/// The column of a percentile of [`of`].
pub fn percentile(percent: f64) -> String {
    format!("p{percent}")
}

/// One line per group that has values: [`SAMPLES`], [`MEAN`] and a column per percentile. Percentiles are nearest-rank: the
/// smallest value that so many percent of all values do not exceed, so 0 is the smallest.
pub fn of(counted: LazyFrame, percents: &[f64]) -> LazyFrame {
    let distinct = counted
        .group_by([col(GROUP), col(VALUE)])
        .agg([col(TIMES).sum()])
        .sort([GROUP, VALUE], SortMultipleOptions::default());
    of_distinct(distinct, percents)
}

/// The same of values that ascend within each group, none of them twice.
pub fn of_distinct(distinct: LazyFrame, percents: &[f64]) -> LazyFrame {
    let real = |of: Expr| of.cast(DataType::Float64);
    // How many of the values there are up to each one.
    let seen = || real(col(TIMES).cum_sum(false));
    let reaches = |percent: f64| {
        let rank = lit(percent / 100.0) * real(col(TIMES).sum());
        col(VALUE).filter(seen().gt_eq(rank)).first().alias(percentile(percent))
    };
    // Not as whole numbers: their sum is exact up to 2⁵³ in either, and beyond it these do not begin anew.
    let sum = (real(col(VALUE)) * real(col(TIMES))).sum();
    let mut figures = vec![(sum / real(col(TIMES)).sum()).alias(MEAN)];
    figures.push(col(TIMES).sum().alias(SAMPLES));
    figures.extend(percents.iter().map(|&percent| reaches(percent)));
    distinct.group_by_stable([col(GROUP)]).agg(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_values(values: &[(u32, u64, u64)], percents: &[f64]) -> DataFrame {
        let counted = df!(
            GROUP => values.iter().map(|v| v.0).collect::<Vec<u32>>(),
            VALUE => values.iter().map(|v| v.1).collect::<Vec<u64>>(),
            TIMES => values.iter().map(|v| v.2).collect::<Vec<u64>>(),
        );
        of(counted.unwrap().lazy(), percents).collect().unwrap()
    }

    fn cells(table: &DataFrame, percents: &[f64]) -> Vec<u64> {
        percents.iter().map(|&p| table.column(&percentile(p)).unwrap().u64().unwrap().get(0).unwrap()).collect()
    }

    #[test]
    fn percentiles_are_nearest_rank() {
        let percents = [0.0, 50.0, 95.0, 99.0, 100.0];
        let hundred: Vec<_> = (1..=100).map(|value| (0, value, 1)).collect();
        let table = of_values(&hundred, &percents);
        assert_eq!(cells(&table, &percents), [1, 50, 95, 99, 100]);
        assert_eq!(table.column(MEAN).unwrap().f64().unwrap().get(0), Some(50.5));
        // Of 5 values the median is the third, and 90 % reach to the fifth.
        let percents = [5.0, 30.0, 40.0, 50.0, 90.0, 100.0];
        let five = [15, 20, 35, 40, 50].map(|value| (0, value, 1));
        assert_eq!(cells(&of_values(&five, &percents), &percents), [15, 20, 20, 35, 50, 50]);
    }

    #[test]
    fn repeats_count_and_groups_stay_apart() {
        let percents = [75.0, 76.0];
        let table = of_values(&[(0, 20, 1), (0, 10, 1), (1, 7, 1), (0, 10, 2)], &percents);
        assert_eq!(cells(&table, &percents), [10, 20]);
        assert_eq!(table.column(SAMPLES).unwrap().u64().unwrap().to_vec(), [Some(4), Some(1)]);
        assert_eq!(of_values(&[], &percents).height(), 0);
    }
}
