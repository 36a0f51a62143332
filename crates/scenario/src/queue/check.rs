//! What the parameters of a discipline must be together. Ranges of single ones are those of the table of fields.

use crate::check::{Check, ensure};
use crate::units::Buffer;
use ccactl_link::Capacity;
use ccactl_link::queue::{Discipline, Drr, Wfq};

const WHOLE_PERMILLE: u32 = 1000;

/// `path` is that of the field `queue`.
pub(crate) fn check_queue(path: &str, discipline: &Discipline) -> Check {
    let at = |field: &str| format!("{path}.{field}");
    let span = |field: &str, ns: u64| ensure(ns > 0, at(field), || "expected more than 0s, found 0s".to_owned());
    match discipline {
        Discipline::DropTail
        | Discipline::DropHead
        | Discipline::Sfq(_)
        | Discipline::AckFirst
        | Discipline::Policer(_)
        | Discipline::Cba(_) => Ok(()),
        Discipline::Red(red) => {
            let ascend = match (red.min_threshold, red.max_threshold) {
                (Capacity::Packets(min), Capacity::Packets(max)) | (Capacity::Bytes(min), Capacity::Bytes(max)) => {
                    min < max
                }
                _ => {
                    return ensure(false, at("max_threshold"), || {
                        "expected both thresholds in packets or neither (one BDP counts in bytes)".to_owned()
                    });
                }
            };
            ensure(ascend, at("max_threshold"), || {
                let (min, max) = (Buffer::from(red.min_threshold), Buffer::from(red.max_threshold));
                format!("expected more than min_threshold ({min}), found {max}")
            })
        }
        Discipline::ExponentialRed(red) => {
            let (min, max) = (red.min_threshold_bytes, red.max_threshold_bytes);
            ensure(min < max, at("max_threshold_bytes"), || {
                format!("expected more than min_threshold_bytes ({min}), found {max}")
            })?;
            // A queue that nothing serves only grows.
            ensure(red.virtual_capacity > 0.0, at("virtual_capacity"), || "expected more than 0, found 0".to_owned())?;
            ensure(red.min_probability > 0.0, at("min_probability"), || "expected more than 0, found 0".to_owned())?;
            ensure(red.min_probability <= red.max_probability, at("max_probability"), || {
                format!("expected at least min_probability ({}), found {}", red.min_probability, red.max_probability)
            })
        }
        Discipline::Rem(rem) => {
            for (field, value, above) in [("gamma", rem.gamma, 0.0), ("alpha", rem.alpha, 0.0), ("phi", rem.phi, 1.0)] {
                ensure(value > above, at(field), || format!("expected more than {above}, found {value}"))?;
            }
            span("interval", rem.interval)
        }
        Discipline::CoDel(codel) => span("target", codel.target).and_then(|()| span("interval", codel.interval)),
        Discipline::FqCoDel(fq) => span("target", fq.codel.target).and_then(|()| span("interval", fq.codel.interval)),
        Discipline::DualPi2(dual) => span("update_interval", dual.update_interval),
        Discipline::Pie(pie) => span("update_interval", pie.update_interval),
        Discipline::Drr(Drr { weights, .. }) | Discipline::Wfq(Wfq { weights, .. }) => {
            ensure(!weights.contains(&0), at("weights"), || format!("expected weights from 1, found {weights:?}"))
        }
        Discipline::Cbq(cbq) => {
            let weight = cbq.weight;
            ensure(weight > 0.0 && weight < 1.0, at("weight"), || {
                format!("expected more than 0 and less than 1, found {weight}")
            })?;
            cbq.fault().map_or(Ok(()), |(field, fault)| ensure(false, at(field), || fault))
        }
        Discipline::Classes(classes) => {
            let sum: u32 = classes.classes.iter().map(|class| class.share_permille).sum();
            ensure((1..=WHOLE_PERMILLE).contains(&sum), at("classes"), || {
                format!("expected at least one class, and shares of 1000 thousandths at most together, found {sum}")
            })
        }
    }
}
