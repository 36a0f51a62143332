//! From samples to rows: exact values, and which of them are none.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int64Type, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use bytemuck::Zeroable;
use ccactl_abi::layout::{
    ECN_ACCURATE, ECN_CLASSIC, EVENT_ALGORITHM, EVENT_CA_STATE, EVENT_CLOSE, EVENT_OPEN, EVENT_RTO, EVENT_SAMPLE,
    FLAG_APP_LIMITED, FLAG_CWND_LIMITED, FLAG_TRACE, INFINITE_SSTHRESH, Sample, Trace, UNBOUNDED_U32, UNBOUNDED_U64,
    name_bytes,
};
use ccactl_abi::{Algorithm, EcnNeed, Elf, Family, Kind, TraceValue};
use ccactl_recording::write::rows::{Context, batch, schema};
use ccactl_recording::write::{Clock, KnownAlgorithm};
use std::collections::BTreeMap;
use std::sync::Arc;

static TOY: Algorithm = Algorithm {
    kind: Kind::Send,
    name: "toy",
    kernel_name: "bpf_toy",
    family: Family::Model,
    summary: "",
    reference: "",
    hooks: &[],
    tunables: &[],
    presets: &[],
    modes: &["startup", "drain"],
    v0: Some(TraceValue { name: "origin_pkts", doc: "" }),
    v1: None,
    color: "#000000",
    ecn: EcnNeed::None,
    elf: Elf(&[]),
};

const CLOCK: Clock = Clock { monotonic_ns: 1_000_000, unix_ns: 1_700_000_000_000_000_000 };

fn sample() -> Sample {
    let mut addresses = [[0; 16]; 2];
    addresses[0][..4].copy_from_slice(&[192, 0, 2, 1]);
    addresses[1][..4].copy_from_slice(&[198, 51, 100, 255]);
    Sample {
        time_ns: 3_500_999,
        flow_id: u64::MAX,
        cgroup_id: 42,
        pacing_rate_bytes_per_s: 1_250_000,
        delivery_interval_us: 10_000,
        delivery_pkts: 10,
        bytes_acked: 1,
        bytes_sent: 2,
        bytes_retrans: 3,
        bytes_received: 11,
        netns: 4_026_531_840,
        cwnd_pkts: 10,
        ssthresh_pkts: 7,
        inflight_pkts: 9,
        srtt_us: 40_000,
        rtt_us: 41_000,
        min_rtt_us: 39_000,
        mss_bytes: 1448,
        retrans_pkts: 4,
        rto_count: 12,
        snd_wnd_bytes: 65_536,
        rcv_wnd_bytes: 70_000,
        rcv_limit_bytes: 80_000,
        rcv_rtt_us: 43_000,
        rcv_min_rtt_us: 38_000,
        dropped_rows: 13,
        lost_pkts: 5,
        delivered_pkts: 6,
        delivered_ce_pkts: 8,
        delivered_ce_bytes: 9000,
        ecn_mode: ECN_ACCURATE,
        sport: 5001,
        dport: 65_535,
        family: 4,
        ca_state: 3,
        flags: FLAG_APP_LIMITED | FLAG_CWND_LIMITED,
        saddr: addresses[0],
        daddr: addresses[1],
        algorithm: name_bytes("bpf_toy").unwrap(),
        ..Sample::zeroed()
    }
}

fn rows(samples: &[Sample]) -> RecordBatch {
    let resolve = Arc::new(|name: &str| (name == TOY.kernel_name).then(|| KnownAlgorithm::with_defaults(&TOY)));
    let mut context = Context::new(CLOCK, resolve);
    context.learn(samples);
    batch(&schema(&BTreeMap::new()), samples, &context)
}

fn text(rows: &RecordBatch, column: &str) -> Vec<Option<String>> {
    rows[column].as_string_view().iter().map(|value| value.map(str::to_owned)).collect()
}

macro_rules! values {
    ($rows:expr, $column:literal, $ty:ty) => {
        $rows[$column].as_primitive::<$ty>().iter().collect::<Vec<_>>()
    };
}

#[test]
fn a_row_has_the_values_of_its_sample() {
    let rows = rows(&[sample()]);
    assert_eq!(values!(rows, "time", TimestampNanosecondType), [Some(1_700_000_000_002_500_999)]);
    assert_eq!(values!(rows, "t_us", UInt64Type), [Some(2500)]);
    for (column, value) in [
        ("event", "sample"),
        ("src", "192.0.2.1"),
        ("dst", "198.51.100.255"),
        ("algorithm", "bpf_toy"),
        ("ca_state", "recovery"),
        ("ecn_mode", "accecn"),
    ] {
        assert_eq!(text(&rows, column), [Some(value.to_owned())], "{column}");
    }
    for (column, value) in [
        ("flow_id", u64::MAX),
        ("cgroup_id", 42),
        ("pacing_rate_bps", 10_000_000),
        ("delivery_rate_bps", 11_584_000),
        ("bytes_acked", 1),
        ("bytes_sent", 2),
        ("bytes_retrans", 3),
        ("bytes_received", 11),
        ("delivered_ce_bytes", 9000),
        ("dropped_rows", 13),
    ] {
        assert_eq!(rows[column].as_primitive::<UInt64Type>().iter().collect::<Vec<_>>(), [Some(value)], "{column}");
    }
    for (column, value) in [
        ("netns", 4_026_531_840),
        ("cwnd_pkts", 10),
        ("ssthresh_pkts", 7),
        ("inflight_pkts", 9),
        ("srtt_us", 40_000),
        ("rtt_us", 41_000),
        ("min_rtt_us", 39_000),
        ("mss_bytes", 1448),
        ("retrans_pkts", 4),
        ("rto_count", 12),
        ("snd_wnd_bytes", 65_536),
        ("rcv_wnd_bytes", 70_000),
        ("rcv_limit_bytes", 80_000),
        ("rcv_rtt_us", 43_000),
        ("rcv_min_rtt_us", 38_000),
        ("lost_pkts", 5),
        ("delivered_pkts", 6),
        ("delivered_ce_pkts", 8),
    ] {
        assert_eq!(rows[column].as_primitive::<UInt32Type>().iter().collect::<Vec<_>>(), [Some(value)], "{column}");
    }
    assert_eq!(values!(rows, "sport", UInt16Type), [Some(5001)]);
    assert_eq!(values!(rows, "dport", UInt16Type), [Some(65_535)]);
    assert!(rows["app_limited"].as_boolean().value(0) && rows["cwnd_limited"].as_boolean().value(0));
}

#[test]
fn what_the_kernel_does_not_know_yet_is_none() {
    let fresh = Sample {
        ssthresh_pkts: INFINITE_SSTHRESH,
        srtt_us: 0,
        rtt_us: 0,
        min_rtt_us: u32::MAX,
        pacing_rate_bytes_per_s: u64::MAX,
        delivery_interval_us: 0,
        flags: 0,
        ecn_mode: ECN_CLASSIC,
        event: EVENT_OPEN,
        ca_state: 0,
        ..sample()
    };
    let just_finite = Sample { ssthresh_pkts: INFINITE_SSTHRESH - 1, ..sample() };
    let rows = rows(&[fresh, just_finite, Sample { event: EVENT_CLOSE, ..sample() }]);
    for column in [
        "ssthresh_pkts",
        "srtt_us",
        "rtt_us",
        "min_rtt_us",
        "pacing_rate_bps",
        "delivery_rate_bps",
        "delivered_ce_bytes",
    ] {
        assert_eq!((rows[column].is_null(0), rows[column].is_null(1)), (true, false), "{column}");
    }
    assert_eq!(values!(rows, "ssthresh_pkts", UInt32Type)[1], Some(INFINITE_SSTHRESH - 1));
    assert_eq!(text(&rows, "event"), ["open", "sample", "close"].map(|event| Some(event.to_owned())));
    assert_eq!(text(&rows, "ca_state")[0].as_deref(), Some("open"));
    assert_eq!(text(&rows, "ecn_mode")[0].as_deref(), Some("classic"));
    assert!(!rows["app_limited"].as_boolean().value(0));
}

#[test]
fn the_totals_of_a_connection_stand_in_its_last_row() {
    let totals = Sample {
        event: EVENT_CLOSE,
        opened_ns: 1_500_999,
        progress_ns: 2_500_000,
        rtt_sum_us: 1_000,
        rtt_samples: 3,
        rtt_min_us: 300,
        ..sample()
    };
    let unknown = Sample { opened_ns: 0, rtt_samples: 0, rtt_sum_us: 0, rtt_min_us: 0, ..totals };
    let without_data = Sample { progress_ns: 0, ..totals };
    let rows = rows(&[totals, unknown, without_data, Sample { event: EVENT_SAMPLE, ..totals }]);
    assert_eq!(values!(rows, "duration_us", UInt64Type), [Some(2000), None, Some(2000), None]);
    assert_eq!(values!(rows, "completion_us", UInt64Type), [Some(999), None, None, None]);
    assert_eq!(values!(rows, "rtt_mean_us", UInt32Type), [Some(333), None, Some(333), None]);
    assert_eq!(values!(rows, "rtt_min_us", UInt32Type), [Some(300), None, Some(300), None]);
}

#[test]
fn a_change_says_what_was_before() {
    let state = Sample { event: EVENT_CA_STATE, previous_ca_state: 1, ..sample() };
    let algorithm =
        Sample { event: EVENT_ALGORITHM, previous_algorithm: name_bytes("a_long_name_15b").unwrap(), ..sample() };
    // What stands in the fields of other rows means nothing.
    let other = Sample { event: EVENT_RTO, previous_algorithm: algorithm.previous_algorithm, ..state };
    let rows = rows(&[state, algorithm, other]);
    let expected = [Some("disorder".to_owned()), Some("a_long_name_15b".to_owned()), None];
    assert_eq!(text(&rows, "previous"), expected);
    assert_eq!(text(&rows, "event"), ["ca_state", "algorithm", "rto"].map(|event| Some(event.to_owned())));
}

#[test]
fn ipv6_is_shown_as_such_unless_ipv4_hides_in_it() {
    let mut v6 = [0; 16];
    (v6[0], v6[1], v6[2], v6[3], v6[15]) = (0x20, 0x01, 0x0d, 0xb8, 1);
    let mut mapped = [0; 16];
    mapped[10..].copy_from_slice(&[0xff, 0xff, 203, 0, 113, 9]);
    let rows = rows(&[Sample { family: 6, saddr: v6, daddr: mapped, ..sample() }]);
    assert_eq!(text(&rows, "src"), [Some("2001:db8::1".to_owned())]);
    assert_eq!(text(&rows, "dst"), [Some("203.0.113.9".to_owned())]);
}

fn traced(trace: Trace) -> Sample {
    Sample { flags: FLAG_TRACE, trace, ..sample() }
}

fn full_trace() -> Trace {
    Trace {
        bw_bps: 1,
        bw_lo_bps: 2,
        bw_hi_bps: 3,
        v0: -4,
        v1: 5,
        mode: 1,
        min_rtt_us: 6,
        inflight_lo_pkts: 7,
        inflight_hi_pkts: 8,
        pacing_gain_milli: 2885,
        cwnd_gain_milli: 2000,
        updates: 1,
        publisher: 0,
    }
}

#[test]
fn a_trace_is_shown_with_the_names_of_the_registry() {
    let rows = rows(&[traced(full_trace())]);
    assert_eq!(text(&rows, "trace_mode"), [Some("drain".to_owned())]);
    assert_eq!(values!(rows, "trace_bw_bps", UInt64Type), [Some(1)]);
    assert_eq!(values!(rows, "trace_bw_lo_bps", UInt64Type), [Some(2)]);
    assert_eq!(values!(rows, "trace_bw_hi_bps", UInt64Type), [Some(3)]);
    assert_eq!(values!(rows, "trace_min_rtt_us", UInt32Type), [Some(6)]);
    assert_eq!(values!(rows, "trace_inflight_lo_pkts", UInt32Type), [Some(7)]);
    assert_eq!(values!(rows, "trace_inflight_hi_pkts", UInt32Type), [Some(8)]);
    assert_eq!(values!(rows, "trace_pacing_gain", Float32Type), [Some(2.885)]);
    assert_eq!(values!(rows, "trace_cwnd_gain", Float32Type), [Some(2.0)]);
    assert_eq!(values!(rows, "trace_v0", Int64Type), [Some(-4)]);
    assert_eq!(values!(rows, "trace_v1", Int64Type), [None], "the registry has no name for it");
}

#[test]
fn what_an_algorithm_does_not_publish_is_none() {
    let unbounded = Trace {
        bw_lo_bps: UNBOUNDED_U64,
        bw_hi_bps: UNBOUNDED_U64,
        inflight_lo_pkts: UNBOUNDED_U32,
        inflight_hi_pkts: UNBOUNDED_U32,
        ..full_trace()
    };
    let only_mode = Trace { updates: 1, ..Trace::zeroed() };
    let rows = rows(&[traced(unbounded), traced(only_mode), Sample { trace: full_trace(), ..sample() }]);
    for column in ["trace_bw_lo_bps", "trace_bw_hi_bps", "trace_inflight_lo_pkts", "trace_inflight_hi_pkts"] {
        assert_eq!(rows[column].null_count(), 3, "{column}");
    }
    for column in ["trace_bw_bps", "trace_min_rtt_us", "trace_pacing_gain", "trace_cwnd_gain"] {
        assert_eq!((rows[column].is_null(0), rows[column].is_null(1), rows[column].is_null(2)), (false, true, true));
    }
    assert_eq!(text(&rows, "trace_mode"), [Some("drain".to_owned()), Some("startup".to_owned()), None]);
    assert_eq!(values!(rows, "trace_v0", Int64Type), [Some(-4), Some(0), None]);
}

#[test]
fn an_algorithm_that_nobody_knows_is_shown_by_numbers() {
    let foreign = Sample { algorithm: name_bytes("bpf_other").unwrap(), ..traced(full_trace()) };
    let out_of_range = traced(Trace { mode: 9, ..full_trace() });
    let rows = rows(&[foreign, out_of_range]);
    assert_eq!(text(&rows, "trace_mode"), [Some("1".to_owned()), Some("9".to_owned())]);
    assert_eq!(values!(rows, "trace_v1", Int64Type), [Some(5), None]);
}
