//! Thins a series to the columns of a figure without losing a peak.

use crate::charts::Series;

/// Points of a line in the order of time.
pub type Line = Vec<(f64, f64)>;

/// The series cut at its gaps; within a column of the figure only the smallest and the largest value are kept, in the
/// order in which they occurred.
pub fn lines(series: &Series, (from_s, to_s): (f64, f64), columns: u32) -> Vec<Line> {
    let width_s = (to_s - from_s) / f64::from(columns);
    let column = |t: f64| if width_s > 0.0 { ((t - from_s) / width_s) as u64 } else { 0 };
    let mut lines = Vec::new();
    for part in parts(series) {
        let same_column = |a: &(f64, f64), b: &(f64, f64)| column(a.0) == column(b.0);
        lines.push(part.chunk_by(same_column).flat_map(extremes).collect());
    }
    lines
}

/// The stretches between gaps.
fn parts(series: &Series) -> Vec<Line> {
    let mut parts = vec![Line::new()];
    for (&t, value) in series.t.iter().zip(&series.v) {
        match value {
            Some(value) => parts.last_mut().expect("there is always one").push((t, *value)),
            None => parts.push(Line::new()),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn extremes(points: &[(f64, f64)]) -> Line {
    let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
    let (Some(least), Some(most)) = (points.iter().min_by(by_value), points.iter().max_by(by_value)) else {
        return Line::new();
    };
    match (least.1 < most.1, least.0 < most.0) {
        (false, _) => vec![*least],
        (true, true) => vec![*least, *most],
        (true, false) => vec![*most, *least],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(points: &[(f64, Option<f64>)]) -> Series {
        Series { t: points.iter().map(|p| p.0).collect(), v: points.iter().map(|p| p.1).collect() }
    }

    #[test]
    fn a_spike_within_a_column_stays_and_in_its_order() {
        let noisy =
            series(&[(0.0, Some(5.0)), (0.1, Some(90.0)), (0.2, Some(1.0)), (0.3, Some(6.0)), (1.5, Some(7.0))]);
        assert_eq!(lines(&noisy, (0.0, 2.0), 2), [vec![(0.1, 90.0), (0.2, 1.0), (1.5, 7.0)]]);
    }

    #[test]
    fn a_gap_makes_two_lines() {
        let gap = series(&[(0.0, Some(1.0)), (0.5, None), (1.0, Some(2.0))]);
        assert_eq!(lines(&gap, (0.0, 1.0), 10), [vec![(0.0, 1.0)], vec![(1.0, 2.0)]]);
        assert_eq!(lines(&Series::default(), (0.0, 1.0), 10), Vec::<Line>::new());
    }

    #[test]
    fn a_flat_stretch_is_one_point_per_column() {
        let flat = series(&(0..100).map(|i| (f64::from(i) / 100.0, Some(3.0))).collect::<Vec<_>>());
        assert_eq!(lines(&flat, (0.0, 1.0), 4)[0].len(), 4);
    }
}
