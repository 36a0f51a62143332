//! Many tests at once.

/// Holm's correction of p values that were found together: the smallest times their number, the next times one less, and
/// so on, none below an earlier one, none above 1.
///
/// Whoever calls those significant that stay below 0.05 errs in at most one of twenty such lists.
#[must_use]
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max((p_values[index] * (p_values.len() - rank) as f64).min(1.0));
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_by_hand() {
        // 0.01·4, 0.02·3 = 0.06, 0.03·2 = 0.06, 0.04·1 = 0.04 → not below 0.06.
        let found = holm(&[0.04, 0.01, 0.03, 0.02]);
        for (found, expected) in found.iter().zip([0.06, 0.04, 0.06, 0.06]) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
        assert_eq!(holm(&[0.6, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
