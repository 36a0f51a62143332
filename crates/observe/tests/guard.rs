//! Guards as an operator writes them: what they mean, and what is said about those that mean nothing.

use ccactl_observe::expression::ScanError;
use ccactl_observe::rollout::{Comparison, Guard, GuardError, Metric};
use proptest::prelude::*;

fn parse(text: &str) -> Guard {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn message(text: &str) -> String {
    text.parse::<Guard>().expect_err(text).to_string()
}

#[test]
fn a_guard_is_a_metric_a_comparison_and_a_sum() {
    use Comparison::*;
    for (text, metric, comparison, factor, offset) in [
        ("retransmit_rate > 2 * baseline", Metric::RetransmitRate, Greater, 2.0, 0.0),
        ("retransmit_rate>2*baseline+0.5%", Metric::RetransmitRate, Greater, 2.0, 0.005),
        ("  loss_rate  >=  0.001 ", Metric::LossRate, GreaterOrEqual, 0.0, 0.001),
        ("p95_rtt > 1.5 * baseline + 2ms", Metric::P95Rtt, Greater, 1.5, 2_000.0),
        ("p95_rtt > 500us + 2 ms", Metric::P95Rtt, Greater, 0.0, 2_500.0),
        ("p99_rtt > 1.5s", Metric::P99Rtt, Greater, 0.0, 1_500_000.0),
        ("mean_rtt > baseline", Metric::MeanRtt, Greater, 1.0, 0.0),
        ("mean_rtt > baseline * 2 + baseline", Metric::MeanRtt, Greater, 3.0, 0.0),
        ("goodput < 80% * baseline", Metric::Goodput, Less, 0.8, 0.0),
        ("goodput <= 1.5Mbit/s", Metric::Goodput, LessOrEqual, 0.0, 1_500_000.0),
        ("mean_cwnd < 4pkts", Metric::MeanCwnd, Less, 0.0, 4.0),
    ] {
        let guard = parse(text);
        assert_eq!((guard.metric, guard.comparison), (metric, comparison), "{text}");
        assert!((guard.factor - factor).abs() < 1e-9 && (guard.offset - offset).abs() < 1e-9, "{text}: {guard:?}");
    }
}

#[test]
fn an_error_points_at_its_place() {
    for (text, expected) in [
        (
            "",
            "column 1: expected a metric (retransmit_rate, loss_rate, ce_rate, mean_rtt, p50_rtt, p95_rtt, p99_rtt, goodput, p50_goodput, throughput, mean_cwnd), found the end",
        ),
        ("p95_rtt", "column 8: expected one of > >= < <=, found the end"),
        ("p95_rtt == baseline", "column 9: expected one of > >= < <=, found '=='"),
        ("p95_rtt >> baseline", "column 10: expected a number or 'baseline', found '>'"),
        ("p95_rtt > 2 * base", "column 15: expected 'baseline', found 'base'"),
        ("p95_rtt > baselines", "column 11: expected a number or 'baseline', found 'baselines'"),
        ("p95_rtt > 2ms * baseline", "column 11: expected a plain factor before '*', found '2ms'"),
        ("p95_rtt > baseline * 2ms", "column 22: expected a plain factor after '*', found '2ms'"),
        ("p95_rtt > 2 * baseline 3", "column 24: expected '+' or the end, found '3'"),
        ("p95_rtt > 2 * baseline +", "column 25: expected a number or 'baseline', found the end"),
        ("p95_rtt > -2 * baseline", "column 11: expected a number or 'baseline', found '-2'"),
        ("p95_rtt > 1.2.3ms", "column 11: expected a number or 'baseline', found '1.2.3ms'"),
        ("p95_rtt > 5", "column 11: p95_rtt is compared with a time such as 50ms, found '5'"),
        ("p95_rtt > 5%", "column 11: p95_rtt is compared with a time such as 50ms, found '5%'"),
        ("loss_rate > 5ms", "column 13: loss_rate is compared with a share such as 1% or 0.01, found '5ms'"),
        ("goodput < 5", "column 11: goodput is compared with a rate such as 10Mbit/s, found '5'"),
        (
            "p95_rtt > 5 parsec",
            "column 13: unknown unit 'parsec'; the units are %, us, ms, s, bit/s, kbit/s, Mbit/s, Gbit/s, pkts",
        ),
    ] {
        assert_eq!(message(text), expected, "{text}");
    }
}

#[test]
fn an_unknown_metric_is_answered_with_the_nearest_and_all_of_them() {
    let text = message("retransmission_rate > 2 * baseline");
    assert!(text.starts_with("column 1: unknown metric 'retransmission_rate', nearest: retransmit_rate;"), "{text}");
    for metric in Metric::ALL {
        assert!(text.contains(metric.name()), "{text}");
    }
    let far = "xyzzy > 1".parse::<Guard>();
    assert!(matches!(far, Err(GuardError::UnknownMetric { nearest: None, .. })), "{far:?}");
}

#[test]
fn a_threshold_that_needs_a_baseline_is_unknown_without_one() {
    assert_eq!(parse("p95_rtt > 2 * baseline").holds(1.0, None), None);
    assert_eq!(parse("p95_rtt > 50ms").holds(50_001.0, None), Some(true));
}

#[test]
fn only_the_comparisons_with_an_equal_sign_hold_at_the_threshold() {
    for (sign, below, at, above) in
        [(">", false, false, true), (">=", false, true, true), ("<", true, false, false), ("<=", true, true, false)]
    {
        let guard = parse(&format!("p50_rtt {sign} 10us"));
        let holds = [9.0, 10.0, 11.0].map(|value| guard.holds(value, None).unwrap());
        assert_eq!(holds, [below, at, above], "{sign}");
    }
}

fn guards() -> impl Strategy<Value = Guard> {
    let metric = prop::sample::select(Metric::ALL.to_vec());
    let comparison = prop::sample::select(vec![
        Comparison::Greater,
        Comparison::GreaterOrEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
    ]);
    let factor = prop_oneof![Just(0.0), 1e-6..1e6];
    let offset = prop_oneof![Just(0.0), 1e-9..1e12];
    (metric, comparison, factor, offset).prop_map(|(metric, comparison, factor, offset)| Guard {
        metric,
        comparison,
        factor,
        offset,
    })
}

proptest! {
    #[test]
    fn a_guard_is_read_back_from_its_text(guard in guards()) {
        prop_assert_eq!(guard.to_string().parse::<Guard>(), Ok(guard));
    }

    #[test]
    fn white_space_between_the_parts_means_nothing(guard in guards(), space in "[ \t]{0,3}") {
        let spaced: Vec<&str> = guard.to_string().leak().split(' ').collect();
        prop_assert_eq!(spaced.join(&space).parse::<Guard>(), Ok(guard));
    }

    #[test]
    fn any_text_is_a_guard_or_an_error_that_points_into_it(text in "\\PC{0,40}") {
        if let Err(error) = text.parse::<Guard>() {
            let (GuardError::Scan(ScanError::Unexpected { column, .. } | ScanError::UnknownUnit { column, .. })
            | GuardError::UnknownMetric { column, .. }
            | GuardError::WrongUnit { column, .. }) = error;
            prop_assert!((1..=text.chars().count() + 1).contains(&column));
        }
    }

    #[test]
    fn words_of_the_grammar_in_any_order_never_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "p95_rtt", "goodput", ">", "<=", "baseline", "*", "+", "2", "1.5", "%", "ms", "Mbit/s", "µs",
        ]), 0..10),
        separator in prop::sample::select(vec!["", " "]),
    ) {
        let _ = words.join(separator).parse::<Guard>();
    }
}
