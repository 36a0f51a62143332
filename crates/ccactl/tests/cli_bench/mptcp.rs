//! Flows with several paths, with the kernel's MPTCP.

use crate::figures::{last_run, run};
use crate::host::Host;
use crate::scenario::Bench;
use serde_json::Value;
use std::fs;

const LINKS: &str = "[link]
rate = \"20Mbit/s\"
base_rtt = \"20ms\"
buffer = { bdp = 2 }
duplex = true
[[hop]]
name = \"lte\"
rate = \"20Mbit/s\"
delay = \"25ms\"
buffer = { bdp = 2 }
duplex = true
[[path]]
name = \"wifi\"
[[path]]
name = \"far\"
links = [\"lte\"]
";

fn bench(duration: &str, flow: &str) -> Bench {
    let bench = Bench::new(duration, "");
    let flow = format!("[[flow]]\nname = \"both\"\npaths = [\"wifi\", \"far\"]\n{flow}\n");
    fs::write(bench.file(), format!("duration = \"{duration}\"\n{LINKS}{flow}")).unwrap();
    bench
}

fn count(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("{name} of {of}"))
}

/// The path's own figures, and the flow's sums.
fn assert_both_paths(flow: &Value) {
    let paths = flow["paths"].as_array().unwrap();
    let names: Vec<_> = paths.iter().map(|path| path["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["wifi", "far"]);
    let rtt_min_us: Vec<_> = paths.iter().map(|path| count(&path["metrics"], "rtt_min_us")).collect();
    assert!((20_000..50_000).contains(&rtt_min_us[0]) && rtt_min_us[1] >= 50_000, "{rtt_min_us:?}");
    for (of, name) in [("metrics", "acked_bytes"), ("link", "delivered_packets")] {
        let each: Vec<u64> = paths.iter().map(|path| count(&path[of], name)).collect();
        assert!(each.iter().all(|one| *one > 0), "{name}: {each:?}");
        assert_eq!(count(&flow[of], name), each.iter().sum::<u64>(), "{name}");
    }
}

#[test]
fn an_upload_uses_both_paths_at_once() {
    let Some(host) = Host::with_root() else { return };
    let flow = format!("algorithm = \"lia\"\nas = \"{}\"", host.name());
    let (result, _, left) = run(&host, &bench("6s", &flow));
    assert_eq!(left, Vec::<String>::new());
    let flow = &last_run(&result)["flows"][0];
    assert_both_paths(flow);
    let link = &last_run(&result)["link"];
    assert_eq!(link["utilisation"], Value::Null, "what passed the bottleneck is a part of the flow: {link}");
    // One path could carry 15 MB.
    assert!(count(flow, "received_bytes") > 15_000_000, "{flow}");
}

#[test]
fn a_download_of_some_size_comes_over_both_paths_to_the_byte() {
    let Some(host) = Host::with_root() else { return };
    let flow = "algorithm = \"native:reno\"\ndirection = \"download\"\nbytes = 8000000";
    let (result, _, left) = run(&host, &bench("8s", flow));
    assert_eq!(left, Vec::<String>::new());
    let flow = &last_run(&result)["flows"][0];
    assert_eq!(count(flow, "received_bytes"), 8_000_000);
    assert_both_paths(flow);
}
