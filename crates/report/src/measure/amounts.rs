//! How much of something happened in each interval of fixed width.
//!
//! A step may reach over the edge of an interval; its amount is then split in proportion to time, as if it had happened
//! at a steady rate between the two rows.

/// Amount per interval; interval `k` is `[k·width, (k+1)·width)` since the start of the recording.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Amounts {
    /// Number of the interval and amount; ascending but where rows changed places in time.
    parts: Vec<(u64, f64)>,
}

impl Amounts {
    /// Adds what happened from one time to another, in intervals of `width_us` > 0.
    pub fn add(&mut self, (from_us, to_us): (u64, u64), width_us: u64, amount: f64) {
        // Mostly nothing is split, and to see that takes no division.
        if let Some((latest, sum)) = self.parts.last_mut() {
            let start_us = *latest * width_us;
            let within = start_us..start_us.saturating_add(width_us);
            if within.contains(&from_us) && within.contains(&to_us) {
                *sum += amount;
                return;
            }
        }
        let (first, last) = (from_us / width_us, to_us / width_us);
        if first >= last {
            self.add_to(last, amount);
            return;
        }
        let span_us = (to_us - from_us) as f64;
        for interval in first..=last {
            let start_us = from_us.max(interval * width_us);
            let end_us = to_us.min((interval + 1) * width_us);
            if end_us > start_us {
                self.add_to(interval, amount * (end_us - start_us) as f64 / span_us);
            }
        }
    }

    fn add_to(&mut self, interval: u64, amount: f64) {
        match self.parts.last_mut() {
            Some((latest, sum)) if *latest == interval => *sum += amount,
            _ => self.parts.push((interval, amount)),
        }
    }

    /// Each interval in which something happened, ascending.
    pub fn into_sorted(mut self) -> Vec<(u64, f64)> {
        self.parts.sort_by_key(|(interval, _)| *interval);
        self.parts.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(spans: &[((u64, u64), f64)]) -> Vec<(u64, f64)> {
        let mut amounts = Amounts::default();
        spans.iter().for_each(|(span, amount)| amounts.add(*span, 100, *amount));
        amounts.into_sorted()
    }

    #[test]
    fn a_span_is_split_in_proportion_to_time() {
        assert_eq!(amounts(&[((50, 250), 8.0)]), [(0, 2.0), (1, 4.0), (2, 2.0)]);
    }

    #[test]
    fn a_span_that_ends_on_an_edge_has_nothing_in_the_next_interval() {
        assert_eq!(amounts(&[((100, 200), 3.0)]), [(1, 3.0)]);
    }

    #[test]
    fn rows_that_changed_places_lose_nothing() {
        assert_eq!(
            amounts(&[((0, 10), 1.0), ((210, 220), 2.0), ((30, 40), 4.0), ((60, 50), 8.0)]),
            [(0, 13.0), (2, 2.0)]
        );
    }
}
