//! Means of few values and how sure they are: Student's interval, Welch's test.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided 95 %.
const UPPER: f64 = 0.975;

/// Mean of a sample with how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (n − 1); `None` for one value.
    pub sd: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean (Student's t); `None` for one value.
    pub ci95: Option<f64>,
}

/// Mean, standard deviation and 95 % interval of a sample; `None` when it is empty.
#[must_use]
pub fn spread(values: &[f64]) -> Option<Spread> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = mean(values);
    if n == 1 {
        return Some(Spread { mean, sd: None, ci95: None });
    }
    let sd = variance(values, mean).sqrt();
    let ci95 = quantile((n - 1) as f64) * sd / (n as f64).sqrt();
    Some(Spread { mean, sd: Some(sd), ci95: Some(ci95) })
}

/// Difference of two means, without the assumption that both samples vary alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Mean of the second sample minus mean of the first.
    pub difference: f64,
    /// Half the width of the difference's 95 % confidence interval.
    pub ci95: f64,
    /// Two-sided p value: how likely a difference at least as large is when the means are equal.
    pub p: f64,
    /// Degrees of freedom after Welch and Satterthwaite.
    pub degrees: f64,
}

/// Welch's t test. `None` when a sample has fewer than two values, or when neither varies at all: then nothing says how
/// much the means vary.
#[must_use]
pub fn welch(a: &[f64], b: &[f64]) -> Option<Welch> {
    if a.len() < 2 || b.len() < 2 {
        return None;
    }
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let (va, vb) = (variance(a, mean_a) / na, variance(b, mean_b) / nb);
    let error = (va + vb).sqrt();
    if error == 0.0 || !error.is_finite() {
        return None;
    }
    let degrees = (va + vb).powi(2) / (va * va / (na - 1.0) + vb * vb / (nb - 1.0));
    let difference = mean_b - mean_a;
    let p = 2.0 * student(degrees).sf((difference / error).abs());
    Some(Welch { difference, ci95: quantile(degrees) * error, p, degrees })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// 97.5 % quantile of Student's t.
fn quantile(degrees: f64) -> f64 {
    student(degrees).inverse_cdf(UPPER)
}

fn student(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("at least one degree of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // mean 12, deviations −2 0 2: variance 4, sd 2; t(2) = 4.3027, 4.3027·2/√3 = 4.9683
        let three = spread(&[10.0, 12.0, 14.0]).unwrap();
        assert_eq!((three.mean, three.sd), (12.0, Some(2.0)));
        assert!((three.ci95.unwrap() - 4.9683).abs() < 1e-4, "{three:?}");
        assert_eq!(spread(&[3.0]), Some(Spread { mean: 3.0, sd: None, ci95: None }));
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn the_quantiles_are_those_of_the_printed_tables() {
        let table = [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042), (60, 2.000), (100, 1.984)];
        for (degrees, printed) in table {
            let found = quantile(f64::from(degrees));
            assert!((found - printed).abs() < 6e-4, "{degrees}: {found}");
        }
    }

    #[test]
    fn welchs_test_is_that_of_his_paper() {
        // Welch's second example as Wikipedia's article on the test prints it: t = −1.57 with 9.9 degrees of freedom
        // (unequal sizes and variances), P = 0.149.
        let a = [17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8];
        let b = [
            21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8, 20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5,
            21.5, 21.8,
        ];
        let found = welch(&a, &b).unwrap();
        assert!((found.degrees - 9.9).abs() < 0.1, "{found:?}");
        assert!((found.p - 0.149).abs() < 0.002, "{found:?}");
    }

    #[test]
    fn welchs_test_of_a_case_by_hand() {
        // Means 2 and 5, both variances 1, n = 3: error √(2/3), t = 3/0.81650 = 3.6742, 4 degrees of freedom.
        let found = welch(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert!((found.degrees - 4.0).abs() < 1e-12, "{found:?}");
        assert_eq!(found.difference, 3.0);
        // 2.7764 · 0.81650
        assert!((found.ci95 - 2.26696).abs() < 1e-4, "{found:?}");
        // R: t.test(1:3, 4:6)$p.value is 0.02131164.
        assert!((found.p - 0.021_311_64).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn nothing_is_said_about_single_runs_or_runs_that_do_not_vary() {
        assert_eq!(welch(&[1.0], &[2.0, 3.0]), None);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]), None);
    }
}
