//! Scales of the axes and their ticks.

/// From a value to a share of the axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    from: f64,
    to: f64,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Logarithmic,
}

/// A tick: its value and its label, empty between the labels of a logarithmic axis.
pub type Tick = (f64, String);

/// Decades that are few enough for a label at 1, 2 and 5 of each.
const FINE_DECADES: f64 = 2.1;

impl Axis {
    /// Linear from `from` to at least `to`; never empty.
    pub fn linear(from: f64, to: f64) -> Axis {
        let to = if to > from { to } else { from + 1.0 };
        Axis { from, to, kind: Kind::Linear }
    }

    /// Linear from zero to the tick at or above `most`.
    pub fn from_zero(most: f64, ticks: usize) -> Axis {
        let axis = Axis::linear(0.0, most);
        let step = axis.step(ticks);
        Axis { to: (axis.to / step - 1e-9).ceil() * step, ..axis }
    }

    /// Logarithmic; both ends above zero.
    pub fn logarithmic(from: f64, to: f64) -> Axis {
        let to = if to > from * 1.001 { to } else { from * 2.0 };
        Axis { from, to, kind: Kind::Logarithmic }
    }

    /// 0 at the start of the axis, 1 at its end; values beyond an end are put on it.
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.from) / (self.to - self.from),
            Kind::Logarithmic => (value.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln(),
        };
        share.clamp(0.0, 1.0)
    }

    /// Ticks at round values, about `wanted` of them on a linear axis.
    pub fn ticks(&self, wanted: usize) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => self.linear_ticks(wanted),
            Kind::Logarithmic => self.logarithmic_ticks(),
        }
    }

    /// 1, 2 or 5 times a power of ten.
    fn step(&self, wanted: usize) -> f64 {
        let rough = (self.to - self.from) / wanted.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999).unwrap_or(10.0);
        factor * power
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<Tick> {
        let step = self.step(wanted);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.from / step - 1e-6).ceil() as i64;
        let last = (self.to / step + 1e-6).floor() as i64;
        let tick = |k: i64| (k as f64 * step, format!("{:.decimals$}", k as f64 * step));
        (first..=last).map(tick).collect()
    }

    fn logarithmic_ticks(&self) -> Vec<Tick> {
        let fine = (self.to / self.from).log10() <= FINE_DECADES;
        let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        let inside = |value: f64| value >= self.from * 0.999 && value <= self.to * 1.001;
        let mut ticks = Vec::new();
        for power in powers {
            for digit in 1..10 {
                let value = f64::from(digit) * 10f64.powi(power);
                let labelled = digit == 1 || (fine && matches!(digit, 2 | 5));
                let decimals = (-power).max(0) as usize;
                if inside(value) {
                    ticks.push((value, if labelled { format!("{value:.decimals$}") } else { String::new() }));
                }
            }
        }
        ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, wanted: usize) -> Vec<String> {
        axis.ticks(wanted).into_iter().map(|(_, label)| label).filter(|label| !label.is_empty()).collect()
    }

    #[test]
    fn ticks_are_round_and_lie_on_the_axis() {
        assert_eq!(labels(Axis::linear(0.0, 60.0), 6), ["0", "10", "20", "30", "40", "50", "60"]);
        assert_eq!(labels(Axis::linear(0.5, 1.0), 5), ["0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]);
        assert_eq!(labels(Axis::linear(3.0, 3.0), 2), ["3.0", "3.5", "4.0"]);
        assert_eq!(labels(Axis::logarithmic(0.5, 20.0), 5), ["0.5", "1", "2", "5", "10", "20"]);
        assert_eq!(labels(Axis::logarithmic(1.0, 10_000.0), 5), ["1", "10", "100", "1000", "10000"]);
    }

    #[test]
    fn an_axis_from_zero_ends_at_a_tick() {
        let axis = Axis::from_zero(47.3, 5);
        assert_eq!((axis.from, axis.to), (0.0, 50.0));
        assert_eq!(Axis::from_zero(50.0, 5).to, 50.0);
        assert!(Axis::from_zero(0.0, 5).to > 0.0);
    }

    #[test]
    fn shares_stay_on_the_axis() {
        let axis = Axis::logarithmic(1.0, 100.0);
        assert_eq!([axis.share(0.0), axis.share(10.0), axis.share(1e9)], [0.0, 0.5, 1.0]);
    }
}
