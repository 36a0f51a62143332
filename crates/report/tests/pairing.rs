//! What is compared with what: algorithms by name, what is left over, and flows by the names of their scenario.

mod common;

use ccactl_report::{By, Comparison, Error, Options, Summary, compare, open_all, render, summarize};
use common::{Fixture, Row};

const SECOND: u64 = 1_000_000;

/// Flows by name, algorithm and kB acknowledged within a second; names of addresses without one.
fn side(flows: &[(&str, &'static str, u64)]) -> Summary {
    let row = |number: u64, algorithm, t_us, bytes| {
        let flow_id = number + 1;
        Row { algorithm, cgroup_id: flow_id, ..Row::at(flow_id, t_us).bytes(bytes, bytes).rtt(20_000, 10) }
    };
    let begin = flows.iter().zip(0..).map(|((_, algorithm, _), number)| row(number, algorithm, 0, 0));
    let end = flows.iter().zip(0..).map(|((_, algorithm, kb), number)| row(number, algorithm, SECOND, kb * 1000));
    let named = flows.iter().zip(1..).filter(|((name, ..), _)| !name.is_empty());
    let named: Vec<_> = named.map(|((name, ..), id)| serde_json::json!({"cgroup_id": id, "name": name})).collect();
    let fixture = Fixture::new(begin.chain(end).collect()).meta("flows", &serde_json::json!(named).to_string());
    let folder = tempfile::tempdir().unwrap();
    let file = fixture.parquet(&folder.path().join("recording.parquet"));
    summarize(&open_all(&[file]).unwrap(), &Options::default()).unwrap()
}

fn compared(a: &Summary, b: &Summary, by: Option<By>) -> Result<Comparison, Error> {
    compare(("a", a), ("b", b), by)
}

/// Flow, algorithm and both goodputs in Mbit/s.
fn goodputs(found: &Comparison) -> Vec<(Option<&str>, &str, f64, f64)> {
    let goodput = found.figures.iter().filter(|figure| figure.metric == "goodput_bps");
    let mbit = |estimate: Option<ccactl_report::Estimate>| estimate.unwrap().mean / 1e6;
    goodput.map(|of| (of.flow.as_deref(), of.algorithm.as_deref().unwrap(), mbit(of.a), mbit(of.b))).collect()
}

#[test]
fn the_algorithm_that_was_tried_stands_against_the_one_before() {
    let old = side(&[("", "bpf_cubic", 1000), ("", "copa", 2000)]);
    let new = side(&[("", "bpf_cubic", 1500), ("", "bbrv3", 3000)]);
    let found = compared(&old, &new, None).unwrap();
    assert_eq!(goodputs(&found), [(None, "bpf_cubic", 8.0, 12.0), (None, "copa → bbrv3", 16.0, 24.0)]);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn flows_of_one_name_are_compared_where_algorithms_cannot_be() {
    let old = side(&[("left", "bpf_cubic", 1000), ("right", "copa", 2000)]);
    let new = side(&[("left", "vegas", 1500), ("right", "bbrv3", 3000)]);
    let found = compared(&old, &new, None).unwrap();
    let expected = [(Some("left"), "bpf_cubic → vegas", 8.0, 12.0), (Some("right"), "copa → bbrv3", 16.0, 24.0)];
    assert_eq!(goodputs(&found), expected);
    assert_eq!(found.notes, ["flows are compared by name, as the sides have other algorithms"]);
    let text = render::comparison_terminal(&found, 100);
    assert!(text.contains("left: bpf_cubic → vegas") && text.contains("right: copa → bbrv3"), "{text}");
    let found = compared(&old, &new, Some(By::Algorithm)).unwrap();
    assert!(goodputs(&found).is_empty());
    assert_eq!(found.notes[0], "only A has bpf_cubic, copa: not compared");
}

#[test]
fn flows_without_a_counterpart_are_told_and_without_any_it_is_an_error() {
    let one = side(&[("left", "bpf_cubic", 1000), ("right", "bpf_cubic", 2000)]);
    let other = side(&[("left", "bpf_cubic", 1500), ("third", "bpf_cubic", 3000)]);
    let found = compared(&one, &other, Some(By::Flow)).unwrap();
    assert_eq!(goodputs(&found), [(Some("left"), "bpf_cubic", 8.0, 12.0)]);
    assert_eq!(found.notes[0], "1 of 2 flows of A have no counterpart by name: not compared");
    let none = compared(&one, &side(&[("up", "bpf_cubic", 1)]), Some(By::Flow)).unwrap_err();
    assert!(matches!(none, Error::NoCounterpart), "{none}");
}
