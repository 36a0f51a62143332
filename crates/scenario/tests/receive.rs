//! What a download's client offers: which algorithms, and for which flows.

use ccactl_scenario::{Override, Scenario, ScenarioError};

const TEXT: &str = r#"duration = "10s"
[link]
rate = "50Mbit/s"
base_rtt = "40ms"
buffer = { bdp = 4 }
duplex = true
[[flow]]
name = "phone"
algorithm = "cubic"
direction = "download"
receive = "drwa"
receive_set = { lambda = 2 }
"#;

fn set(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse_with("mine.toml", TEXT, &changes)
}

#[test]
fn it_is_what_the_loader_takes_and_stays_so_in_the_resolved_form() {
    let scenario = set(&[]).unwrap();
    let wanted = scenario.flows[0].receiver().unwrap().expect("it has one");
    let values: Vec<_> = wanted.tunables.iter().map(|(tunable, raw)| (tunable.name, *raw)).collect();
    assert_eq!((wanted.algorithm.name, values), ("drwa", vec![("lambda", 2000)]));
    assert_eq!(Scenario::parse("resolved.toml", &scenario.to_toml()).unwrap(), scenario);
}

#[test]
fn each_mistake_is_told_with_its_field() {
    let message = |changes: &[&str]| set(changes).unwrap_err().to_string();
    for (changes, expected) in [
        (&["flow[phone].receive=bbr"][..], "bbr decides what a socket sends"),
        (&["flow[phone].receive=drw"], "nearest: drwa"),
        (&["flow[phone].receive_set={ lambda = 0.5 }"], "lambda"),
        (&["flow[phone].direction=upload"], "expected direction = \"download\""),
        (&["flow[phone].algorithm=drwa"], "drwa decides what a socket offers"),
    ] {
        let found = message(changes);
        assert!(found.contains(expected) && found.contains("flow[0]."), "{changes:?}: {found}");
    }
}
