//! Short forms for the tunables of the registry's rows.

use crate::registry::Tunable;

/// A whole number of `unit`; the range is inclusive.
pub(crate) const fn int(
    name: &'static str,
    unit: &'static str,
    default_raw: i64,
    (min_raw, max_raw): (i64, i64),
    doc: &'static str,
    source: &'static str,
) -> Tunable {
    Tunable { name, unit, scale: 1, default_raw, min_raw, max_raw, doc, source }
}

/// A gain or a fraction, kept in thousandths; the range is inclusive.
pub(crate) const fn gain(
    name: &'static str,
    default_raw: i64,
    (min_raw, max_raw): (i64, i64),
    doc: &'static str,
    source: &'static str,
) -> Tunable {
    Tunable { name, unit: "", scale: 1000, default_raw, min_raw, max_raw, doc, source }
}

/// 0 = off, 1 = on.
pub(crate) const fn switch(name: &'static str, default_raw: i64, doc: &'static str, source: &'static str) -> Tunable {
    Tunable { name, unit: "0/1", scale: 1, default_raw, min_raw: 0, max_raw: 1, doc, source }
}
