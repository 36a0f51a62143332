//! A Snoop agent ahead of a link: where it may stand, and the size of its cache.

use ccactl_scenario::{Override, Scenario, ScenarioError};

const TEXT: &str = r#"duration = "10s"
[link]
rate = "50Mbit/s"
base_rtt = "40ms"
buffer = { bdp = 4 }
[[hop]]
name = "wifi"
rate = "10Mbit/s"
delay = "5ms"
buffer = "100p"
duplex = true
loss = 0.01
snoop = "200p"
[[flow]]
name = "phone"
algorithm = "reno"
path = ["wifi", "link"]
"#;

fn set(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse_with("mine.toml", TEXT, &changes)
}

#[test]
fn a_cache_has_the_forms_of_a_buffer() {
    let bytes = |change: &str| set(&[change]).unwrap().hops[0].link.snoop_bytes();
    assert_eq!(bytes("hop[wifi].snoop=200p"), Some(200 * 1514));
    assert_eq!(bytes("hop[wifi].snoop={ bytes = 65536 }"), Some(65_536));
    // 10 Mbit/s and the 40 ms of the link.
    assert_eq!(bytes("hop[wifi].snoop=2bdp"), Some(100_000));
    assert_eq!(set(&[]).unwrap().link.snoop_bytes(), None);
}

#[test]
fn the_resolved_form_is_the_same_scenario() {
    let scenario = set(&["link.snoop=1bdp", "link.wireless={ error = 0 }"]).unwrap();
    let again = Scenario::parse("resolved.toml", &scenario.to_toml()).unwrap();
    assert_eq!(again, scenario);
    assert!(!set(&[]).unwrap().to_toml().contains("snoop = { bdp"));
}

#[test]
fn it_stands_where_a_wire_is_lossy_or_wireless() {
    for wire in
        ["hop[wifi].loss={ gilbert_elliott = { good_to_bad = 0.001, bad_to_good = 0.1 } }", "hop[wifi].loss=0.05"]
    {
        assert!(set(&[wire]).is_ok(), "{wire}");
    }
    assert!(set(&["hop[wifi].loss=0", "hop[wifi].wireless={ error = 0 }"]).is_ok());
    for (changes, field, message) in [
        (
            ["hop[wifi].loss=0", "link.loss=0"],
            "hop[0].snoop",
            "expected loss or wireless beside it: a Snoop agent has nothing to repair on a wire that loses nothing",
        ),
        (
            ["hop[wifi].snoop=0p", "link.loss=0"],
            "hop[0].snoop",
            "expected room for a packet of 1514 bytes at least and 16 MiB at most, found 0 bytes",
        ),
        (
            ["link.loss=0.1", "link.snoop={ bytes = 16777217 }"],
            "link.snoop",
            "expected room for a packet of 1514 bytes at least and 16 MiB at most, found 16777217 bytes",
        ),
    ] {
        let error = set(&changes).expect_err(field).to_string();
        assert!(error.contains(field) && error.ends_with(message), "{error}");
    }
}
