//! Flows with several paths: what they mean, and what cannot be.

use ccactl_scenario::units::Span;
use ccactl_scenario::{LINK, Override, Scenario, ScenarioError};

const GOOD: &str = r#"duration = "10s"
[link]
rate = "20Mbit/s"
base_rtt = "20ms"
buffer = { bdp = 1 }
[[hop]]
name = "lte"
rate = "20Mbit/s"
delay = "25ms"
buffer = { bdp = 1 }
[[path]]
name = "wifi"
[[path]]
name = "far"
links = ["lte", "link"]
extra_rtt = "4ms"
[[flow]]
name = "both"
algorithm = "lia"
paths = ["far", "wifi"]
extra_rtt = "2ms"
[[flow]]
name = "one"
algorithm = "reno"
"#;

fn set(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse_with("mine.toml", GOOD, &changes)
}

fn refused(text: &str) -> String {
    Scenario::parse("mine.toml", text).unwrap_err().to_string()
}

#[test]
fn a_flow_has_its_paths_in_their_order_and_begins_on_the_first() {
    const MS: u64 = 1_000_000;
    let scenario = set(&[]).unwrap();
    let [both, one] = &scenario.flows[..] else { panic!("two flows") };
    let paths = scenario.paths_of(both);
    let seen: Vec<_> = paths.iter().map(|path| (path.name, path.links.join(" "), path.extra_rtt.ns / MS)).collect();
    assert_eq!(seen, [(Some("far"), "lte link".to_owned(), 6), (Some("wifi"), LINK.to_owned(), 2)]);
    assert_eq!(scenario.base_rtt(both), Span { ns: (20 + 50 + 6) * MS });
    assert!(both.is_mptcp() && both.path.is_empty() && !one.is_mptcp());
    assert_eq!(scenario.paths_of(one).iter().map(|path| path.name).collect::<Vec<_>>(), [None]);
}

#[test]
fn what_is_written_out_is_read_again() {
    let scenario = set(&[]).unwrap();
    let again = Scenario::parse("mine.toml", &scenario.to_toml()).unwrap();
    assert_eq!(again, scenario);
}

#[test]
fn each_mistake_is_named_with_its_field() {
    let with = |from: &str, to: &str| refused(&GOOD.replacen(from, to, 1));
    let cases = [
        (with("[\"far\", \"wifi\"]", "[\"far\", \"dsl\"]"), "flow[0].paths: expected names of [[path]]"),
        (with("[\"far\", \"wifi\"]", "[\"far\", \"wifi\", \"far\"]"), "expected each path once"),
        (with("[\"far\", \"wifi\"]", "[]"), "expected at least one name of a [[path]], found none"),
        (with("[\"far\", \"wifi\"]", "[\"wifi\"]"), "path[1].name: expected a flow with \"far\" in its paths"),
        (with("paths =", "path = [\"link\"]\npaths ="), "expected either path or paths, found both"),
        (with("name = \"far\"", "name = \"wifi\""), "expected a name that no other path has"),
        (with("[\"lte\", \"link\"]", "[\"dsl\"]"), "path[1].links: expected links of this scenario"),
        (with("paths =", "command = [\"iperf3\"]\npaths ="), "expected the built-in sender"),
        (with("paths =", "direction = \"download\"\npaths ="), "expected duplex = true"),
        (with("duration", "warm_up = \"2s\"\nduration"), "over plain TCP, found the flow \"both\""),
    ];
    for (found, expected) in cases {
        assert!(found.contains(expected), "expected {expected:?}, found {found:?}");
    }
}
