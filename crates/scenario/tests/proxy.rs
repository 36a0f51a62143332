//! `[[proxy]]`: where it stands, and what cannot be.

use ccactl_scenario::{Override, Scenario, ScenarioError};

const GOOD: &str = r#"duration = "10s"
[link]
rate = "50Mbit/s"
base_rtt = "200ms"
buffer = { bdp = 1 }
[[hop]]
name = "wifi"
rate = "50Mbit/s"
delay = "5ms"
buffer = "100p"
[[flow]]
name = "split"
algorithm = "cubic"
path = ["wifi", "link"]
[[flow]]
name = "direct"
algorithm = "cubic"
[[proxy]]
after = "wifi"
client_algorithm = "bbrv3"
server_algorithm = "native:cubic"
"#;

fn set(change: &str) -> Result<Scenario, ScenarioError> {
    let change: Override = change.parse().unwrap();
    Scenario::parse_with("mine.toml", GOOD, &[change])
}

#[test]
fn it_splits_the_paths_with_its_link_and_is_written_back() {
    let scenario = Scenario::parse("mine.toml", GOOD).unwrap();
    let proxy = &scenario.proxies[0];
    assert_eq!((proxy.name.as_str(), proxy.upload_target), ("proxy", None));
    let sections = |flow: usize| proxy.split(&scenario.flows[flow].path);
    assert_eq!(sections(0), Some((&["wifi".to_owned()][..], &["link".to_owned()][..])));
    assert_eq!(sections(1), None);
    assert_eq!(Scenario::parse("mine.toml", &scenario.to_toml()).unwrap(), scenario);
    let target = set("proxy[0].upload_target=50ms").unwrap().proxies[0].upload_target;
    assert_eq!(target.map(|target| target.ns), Some(50_000_000));
}

#[test]
fn the_base_rtt_is_that_of_the_leg_of_the_sender() {
    let rtt_ms = |change: &str| {
        let both_ways = GOOD.replace("\nbuffer", "\nduplex = true\nbuffer");
        let scenario = Scenario::parse_with("mine.toml", &both_ways, &[change.parse().unwrap()]).unwrap();
        let of = |flow: usize| scenario.base_rtt(&scenario.flows[flow]).ns / 1_000_000;
        (of(0), of(1))
    };
    assert_eq!(rtt_ms("flow[split].extra_rtt=2ms"), (12, 200), "an upload ends at the proxy");
    assert_eq!(rtt_ms("flow[split].direction=download"), (200, 200), "a download begins behind it");
}

#[test]
fn what_cannot_be_is_told_with_its_field() {
    for (change, field, words) in [
        ("proxy[0].after=link", "proxy[0].after", "another one behind it in the path of each flow"),
        ("proxy[0].after=dsl", "proxy[0].after", "expected a link in the path of a flow, found \"dsl\""),
        ("proxy[0].client_algorithm=cubc", "proxy[0].client_algorithm", "nearest: cubic"),
        ("proxy[0].server_algorithm=./x.bpf.c", "proxy[0].server_algorithm", "found the file"),
        ("proxy[0].upload_target=100us", "proxy[0].upload_target", "expected 1ms to 10s"),
        ("proxy[0].name=direct", "proxy[0].name", "a name that no other host has"),
        ("warm_up=5s", "proxy", "expected no warm_up beside it"),
    ] {
        let error = set(change).unwrap_err().to_string();
        assert!(error.contains(&format!("{field}:")) && error.contains(words), "{change}: {error}");
    }
    let twice = GOOD.to_owned() + GOOD.split_at(GOOD.find("[[proxy]]").unwrap()).1;
    let error = Scenario::parse("mine.toml", &twice).unwrap_err().to_string();
    assert!(error.contains("expected one proxy at the most, found 2"), "{error}");
}
