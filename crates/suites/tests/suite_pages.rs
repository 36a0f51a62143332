//! Figures that were not measured in, exact pages out. `CCACTL_BLESS=1 cargo test --release --workspace --test suite_pages`
//! writes the files of `golden/` anew, and the difference is to be read.

mod common;

use ccactl_report::Estimate;
use ccactl_suites::compare::{Compared, Mark, Printed, sheet};
use ccactl_suites::folder::Experiment;
use ccactl_suites::page::{Report, terminal};
use ccactl_suites::results::{Metric, Missed, Rejected, Results};
use ccactl_suites::runner::Failure;
use ccactl_suites::suite::{PLAIN, Suite, by_name};
use ccactl_suites::{Cell, Error};
use common::{grid, world, worlds};
use std::path::Path;

fn golden(name: &str, found: &str) {
    // A release changes no page.
    let found = found.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("CCACTL_BLESS").is_some() {
        std::fs::write(&file, &found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}; bless it", file.display()));
    assert!(found == expected, "{name} differs; expected:\n{expected}\nfound:\n{found}");
}

fn report(suite: &Suite, matrix: &[Cell], results: &Results, failures: &[Failure], changed: &[String]) -> Report {
    let name = if suite.name.is_empty() { "mine" } else { suite.name };
    let mut experiment = Experiment::new(name, "One <b>sentence</b> | of it", by_name(name), matrix);
    experiment.changed = changed.to_vec();
    Report::new(&experiment, results, failures)
}

fn all_texts(name: &str, report: &Report) {
    golden(&format!("{name}.txt"), &terminal(report, None));
    golden(&format!("{name}.md"), &report.markdown());
    golden(&format!("{name}.json"), &ccactl_report::render::json(report));
}

const TWO: &[(&str, &[&str])] = &[("buffer", &["5bdp", "0.8bdp"]), ("algorithm", &["reno", "bbr"])];

#[test]
fn a_list_has_measured_printed_and_difference_and_says_what_is_missing() {
    let suite = by_name("interaction-single").unwrap();
    let matrix = grid(TWO);
    let mut results = world::results(&matrix, suite.windows, worlds::of(suite.name));
    // Two repeats that differ, one that does not count, one cell without a valid run and one that was not run.
    let mut again = results.cells[0].runs[0].clone();
    world::set(&mut again.whole, 0, Metric::Throughput, 80.9);
    results.cells[0].runs.push(again);
    let problems = vec!["lateness p99 3.1 ms, limit 1 ms".to_owned()];
    results.cells[0].rejected.push(Rejected { directory: "run-2".to_owned(), problems: problems.clone() });
    results.cells[1].missed.push(Missed { name: "jain_min".to_owned(), limit: 0.9, measured: Some(0.5) });
    results.cells[2].runs.clear();
    results.cells[2].rejected.push(Rejected { directory: "run-1".to_owned(), problems });
    results.cells.pop();
    let failures = [Failure { cell: "buffer=0.8bdp,algorithm=bbr".to_owned(), error: Error::Panicked }];
    let report = report(suite, &matrix, &results, &failures, &["10 s instead of 100 s".to_owned()]);
    assert!(report.misses_a_threshold());
    assert_eq!(report.without_a_valid_run().count(), 1);
    all_texts("single", &report);
}

#[test]
fn a_matrix_has_both_flows_of_a_pair_and_marks_faulty_prints() {
    let suite = by_name("interaction-pairs").unwrap();
    let matrix = common::with_flows(grid(&[("buffer", &["5bdp"]), ("pair", &["reno+reno", "reno+vegas"])]), 2);
    let results = world::results(&matrix, suite.windows, worlds::of(suite.name));
    all_texts("pairs", &report(suite, &matrix, &results, &[], &[]));
}

#[test]
fn a_scenario_of_a_user_has_a_row_per_flow() {
    let matrix = common::with_flows(grid(&[("axis", &["a", "b|c"])]), 2);
    let results = world::results(&matrix, &[], |place, _| 1.0 + place.flow as f64);
    all_texts("plain", &report(&PLAIN, &matrix, &results, &[], &[]));
}

#[test]
fn names_stay_text_on_the_page() {
    let matrix = common::with_flows(grid(&[("axis", &["<b>&"])]), 2);
    let results = world::results(&matrix, &[], |_, _| 1.0);
    let page = report(&PLAIN, &matrix, &results, &[], &["<i>".to_owned()]).html();
    assert!(page.contains("axis=&lt;b&gt;&amp;") && page.contains("&lt;i&gt;"), "{page}");
    assert!(!page.contains("<b>&") && !page.contains("<i>"), "{page}");
    assert!(!page.contains("<script") && !page.contains("http"), "one file that needs nothing");
}

fn compared(metric: Metric, measured: f64, printed: f64, fault: Option<&'static str>) -> Compared {
    let measured = Some(Estimate { n: 1, mean: measured, sd: None, ci95: None });
    Compared { metric, measured, printed: Some(Printed { value: printed, text: "as printed", fault, evidence: None }) }
}

#[test]
fn a_difference_is_marked_beyond_ten_percent_and_of_throughput_beyond_five() {
    let mark = |metric, measured, printed| compared(metric, measured, printed, None).mark();
    assert_eq!(mark(Metric::Rtt, 10.9, 10.0), Some(Mark::Near));
    assert_eq!(mark(Metric::Rtt, 11.1, 10.0), Some(Mark::Off));
    assert_eq!(mark(Metric::Rtt, 8.9, 10.0), Some(Mark::Off));
    assert_eq!(mark(Metric::Throughput, 95.1, 100.0), Some(Mark::Near));
    assert_eq!(mark(Metric::Throughput, 94.9, 100.0), Some(Mark::Off));
    assert_eq!(mark(Metric::Gap, 94.9, 100.0), Some(Mark::Near), "a difference of throughputs is not one");
    assert_eq!(mark(Metric::Retransmissions, 0.0, 0.0), Some(Mark::Near));
    assert_eq!(mark(Metric::Retransmissions, 0.4, 0.0), Some(Mark::Near), "prints as 0");
    assert_eq!(mark(Metric::Retransmissions, 1.0, 0.0), Some(Mark::Off));
    assert_eq!(compared(Metric::Rtt, 99.0, 10.0, Some("why")).mark(), Some(Mark::FaultyPrint));
    let nothing = Compared { metric: Metric::Rtt, measured: None, printed: None };
    assert_eq!((nothing.mark(), nothing.difference()), (None, None));
}

#[test]
fn a_difference_is_measured_minus_printed() {
    let of = |measured, printed| compared(Metric::Rtt, measured, printed, None).difference_text().unwrap();
    assert_eq!([of(11.0, 10.0), of(9.0, 10.0), of(2.0, 0.0)], ["+1.00 (+10.0 %)", "-1.00 (-10.0 %)", "+2.00"]);
}

#[test]
fn printed_figures_keep_their_digits_and_their_faults() {
    let keys = [("buffer_bdp", "5"), ("algorithm_1", "Reno"), ("algorithm_2", "Reno")];
    let rtt = sheet("p0_pairs").number(&keys, "mean_rtt_1_ms").unwrap();
    assert_eq!(rtt.value, 22.5);
    assert_eq!(sheet("p0_pairs").number(&keys, "throughput_2_mbps").unwrap().text, "49.0");
    assert!(rtt.fault.is_some_and(|fault| fault.contains("BBR")));
    assert_eq!(sheet("p0_pairs").number(&keys, "jain_index").unwrap().fault, None);
    let gap =
        |buffer| sheet("p1_vs_cubic").number(&[("buffer_bdp", buffer), ("algorithm", "BBRv2")], "throughput_gap_mbps");
    assert_eq!((gap("0.7"), gap("1").unwrap().value, gap("9")), (None, 6.2, None));
}
