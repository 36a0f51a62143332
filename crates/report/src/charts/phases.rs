//! Which phase lasted longest in each bucket.

use super::US_PER_S;
use super::series::Buckets;
use crate::measure::phases::Phases;
use crate::summary::FlowSummary;
use crate::walk::{Name, Names, Run};

/// Takes rows in. A phase counts where it begins.
pub fn add(buckets: &mut Buckets<Phases>, run: &Run<'_>) {
    run.modes(|mode, from_us, us| {
        if let Some(mode) = mode {
            buckets.at(from_us).add(mode, us, false);
        }
    });
}

/// The phase that lasted longest, the first of several that lasted equally long.
fn longest(phases: &Phases) -> Option<Name> {
    let longer = |best: (Name, u64), (mode, time_us)| if time_us > best.1 { (mode, time_us) } else { best };
    phases.iter().map(|(mode, stay)| (mode, stay.time_us)).reduce(longer).map(|(mode, _)| mode)
}

/// Equal neighbours become one span; a phase lasts until another is seen. `modes` grows by those that it does not have.
pub fn spans(
    buckets: Buckets<Phases>,
    flow: &FlowSummary,
    width_us: u64,
    names: &Names,
    modes: &mut Vec<String>,
) -> Vec<(f64, f64, usize)> {
    let mut spans: Vec<(f64, f64, usize)> = Vec::new();
    for (bucket, phases) in buckets.finish() {
        let Some(mode) = longest(&phases).map(|mode| names.text(mode)) else { continue };
        let index = modes.iter().position(|known| known == mode).unwrap_or_else(|| {
            modes.push(mode.to_owned());
            modes.len() - 1
        });
        let start_s = ((bucket * width_us) as f64 / US_PER_S).max(flow.start_s);
        match spans.last_mut() {
            Some(last) if last.2 == index => {}
            Some(last) => {
                last.1 = start_s;
                spans.push((start_s, start_s, index));
            }
            None => spans.push((start_s, start_s, index)),
        }
    }
    if let Some(last) = spans.last_mut() {
        last.1 = flow.end_s.max(last.0);
    }
    spans
}
