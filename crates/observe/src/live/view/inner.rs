//! The inner state that an algorithm publishes, by the names of the registry.

use ccactl_abi::Algorithm;
use ccactl_abi::layout::{FLAG_TRACE, Sample, UNBOUNDED_U32, UNBOUNDED_U64};
use serde::Serialize;

/// One value of an algorithm's inner state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InnerValue {
    /// Name with its unit: as in a recording without `trace_`, or that of the registry.
    pub name: &'static str,
    /// `None`: no bound.
    pub value: Option<f64>,
    /// What the registry says about it; empty for those that every algorithm may have.
    #[serde(skip)]
    pub doc: &'static str,
}

/// What the algorithm of this row has published; empty when it publishes nothing. A field that stays 0 is one that the
/// algorithm does not have.
pub(super) fn inner(row: &Sample, algorithm: Option<&'static Algorithm>) -> Vec<InnerValue> {
    if row.flags & FLAG_TRACE == 0 {
        return Vec::new();
    }
    let trace = &row.trace;
    let bound_u64 = |name, value: u64| (name, value != 0, (value != UNBOUNDED_U64).then_some(value as f64));
    let bound_u32 = |name, value: u32| (name, value != 0, (value != UNBOUNDED_U32).then_some(f64::from(value)));
    let gain = |name, milli: u32| (name, milli != 0, Some(f64::from(milli) / 1000.0));
    let common = [
        bound_u64("bw_bps", trace.bw_bps),
        bound_u64("bw_lo_bps", trace.bw_lo_bps),
        bound_u64("bw_hi_bps", trace.bw_hi_bps),
        bound_u32("min_rtt_us", trace.min_rtt_us),
        bound_u32("inflight_lo_pkts", trace.inflight_lo_pkts),
        bound_u32("inflight_hi_pkts", trace.inflight_hi_pkts),
        gain("pacing_gain", trace.pacing_gain_milli),
        gain("cwnd_gain", trace.cwnd_gain_milli),
    ];
    let common = common.into_iter().filter(|(_, is_there, _)| *is_there).map(|(name, _, value)| InnerValue {
        name,
        value,
        doc: "",
    });
    // Of an algorithm that nobody knows both free values are shown.
    let free = [("v0", trace.v0, algorithm.map(|a| a.v0)), ("v1", trace.v1, algorithm.map(|a| a.v1))];
    let free = free.into_iter().filter_map(|(column, value, named)| {
        let (name, doc) = match named {
            Some(Some(named)) => (named.name, named.doc),
            Some(None) => return None,
            None => (column, ""),
        };
        Some(InnerValue { name, value: Some(value as f64), doc })
    });
    common.chain(free).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    fn traced() -> Sample {
        let mut row = Sample { flags: FLAG_TRACE, ..Sample::zeroed() };
        row.trace.bw_bps = 96_000_000;
        row.trace.bw_lo_bps = UNBOUNDED_U64;
        row.trace.inflight_hi_pkts = 400;
        row.trace.pacing_gain_milli = 1250;
        row.trace.v0 = -1;
        row
    }

    #[test]
    fn values_have_the_names_of_the_registry_and_what_is_not_there_is_not_shown() {
        let found = inner(&traced(), Algorithm::by_name("f-bbrv2"));
        let values: Vec<_> = found.iter().map(|value| (value.name, value.value)).collect();
        let expected = [
            ("bw_bps", Some(96e6)),
            ("bw_lo_bps", None),
            ("inflight_hi_pkts", Some(400.0)),
            ("pacing_gain", Some(1.25)),
            ("rtprop_first_us", Some(-1.0)),
            ("bounds_bits", Some(0.0)),
        ];
        assert_eq!(values, expected);
        assert!(found.iter().any(|value| value.doc.contains("detector")));
    }

    #[test]
    fn free_values_of_an_algorithm_that_nobody_knows_are_shown_by_column() {
        let names: Vec<_> = inner(&traced(), None).iter().map(|value| value.name).collect();
        assert!(names.ends_with(&["v0", "v1"]), "{names:?}");
        assert!(inner(&Sample::zeroed(), None).is_empty(), "it publishes nothing");
    }
}
