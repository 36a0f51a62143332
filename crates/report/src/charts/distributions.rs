//! What the summary holds already, in the form in which it is drawn: distributions, and Jain's index over time.

use super::{Ecdf, JainSeries, Series, US_PER_MS};
use crate::summary::{AlgorithmSummary, Fairness, RecordingSummary};

/// Distribution of a time, per algorithm that has one.
pub fn ecdfs(summary: &RecordingSummary, quantiles_us: fn(&AlgorithmSummary) -> (&[u64], u64)) -> Vec<Ecdf> {
    let ecdf = |algorithm: &AlgorithmSummary| {
        let (quantiles_us, samples) = quantiles_us(algorithm);
        let points = points(quantiles_us);
        (!points.is_empty()).then(|| Ecdf {
            name: algorithm.algorithm.clone(),
            color: algorithm.color.clone(),
            samples,
            points,
        })
    };
    summary.algorithms.iter().filter_map(ecdf).collect()
}

/// Evenly spaced quantiles, the smallest value first: of equal ones only the highest share is a point.
fn points(quantiles_us: &[u64]) -> Vec<(f64, f64)> {
    let last = quantiles_us.len().saturating_sub(1).max(1) as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (i, &us) in quantiles_us.iter().enumerate() {
        let point = (us as f64 / US_PER_MS, i as f64 / last);
        match points.last_mut() {
            Some(before) if before.0 == point.0 => *before = point,
            _ => points.push(point),
        }
    }
    points
}

/// The index of each interval; `None` when there is none.
pub fn jain(fairness: &Fairness) -> Option<JainSeries> {
    let mut series = Series::default();
    let mut expected_s: Option<f64> = None;
    for point in &fairness.series {
        // An interval in which fewer than two flows were active is not there: no line over it.
        if expected_s.is_some_and(|expected_s| point.start_s > expected_s + fairness.interval_s / 2.0) {
            series.t.push(expected_s.unwrap_or(point.start_s));
            series.v.push(None);
        }
        series.t.push(point.start_s + fairness.interval_s / 2.0);
        series.v.push(point.jain);
        expected_s = Some(point.start_s + fairness.interval_s);
    }
    (!series.t.is_empty()).then_some(JainSeries { interval_s: fairness.interval_s, series })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::JainPoint;

    #[test]
    fn equal_quantiles_are_one_step() {
        assert_eq!(points(&[1000, 2000, 2000, 2000, 5000]), [(1.0, 0.0), (2.0, 0.75), (5.0, 1.0)]);
        assert_eq!(points(&[]), []);
    }

    #[test]
    fn an_interval_that_is_missing_is_a_gap() {
        let point = |start_s: f64| JainPoint { start_s, flows: 2, jain: Some(0.9) };
        let series = vec![point(0.0), point(1.0), point(4.0)];
        let fairness =
            Fairness { interval_s: 1.0, series, jain: None, jain_interval_mean: None, intervals: 3, convergence: None };
        let drawn = jain(&fairness).unwrap().series;
        assert_eq!(drawn.t, [0.5, 1.5, 2.0, 4.5]);
        assert_eq!(drawn.v, [Some(0.9), Some(0.9), None, Some(0.9)]);
    }
}
