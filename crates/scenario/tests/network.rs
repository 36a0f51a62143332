//! Links, hops, paths, hosts and transfers: what they mean to the link model, and what cannot be.

use ccactl_link::{Capacity, Distribution, GilbertElliott, Jitter, Loss, RatePlan, Wireless};
use ccactl_scenario::units::Span;
use ccactl_scenario::{Direction, Override, Repeat, Scenario, ScenarioError};

const GOOD: &str = r#"duration = "10s"
[link]
rate = "50Mbit/s"
base_rtt = "40ms"
buffer = { bdp = 4 }
duplex = true
[[hop]]
name = "wifi"
rate = "54Mbit/s"
delay = "1ms"
buffer = "100p"
duplex = true
[[flow]]
name = "one"
algorithm = "reno"
path = ["wifi", "link"]
direction = "download"
bytes = 320000
repeat = "until-stop"
gap = "1s"
[[flow]]
name = "two"
algorithm = "cubic"
[host.all]
rcvbuf_max = 500000
sysctl = { "ipv4/tcp_ecn" = 1 }
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("dir/mine.toml", text)
}

fn set(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse_with("mine.toml", GOOD, &changes)
}

const MS: u64 = 1_000_000;

#[test]
fn a_path_is_a_sum_of_delays_and_a_hop_counts_bdp_with_the_rtt_of_the_link() {
    let scenario = set(&["flow[one].extra_rtt=10ms", "hop[wifi].buffer=2bdp"]).unwrap();
    assert_eq!(scenario.base_rtt(&scenario.flows[0]), Span { ns: 52 * MS });
    assert_eq!(scenario.base_rtt(&scenario.flows[1]), Span { ns: 40 * MS });
    assert_eq!(scenario.flows[1].path, ["link"]);
    // 2 × 54 Mbit/s × 40 ms.
    assert_eq!(scenario.hops[0].link.buffer_bytes(), 540_000);
    let names: Vec<&str> = scenario.links().map(|(name, _)| name).collect();
    assert_eq!(names, ["link", "wifi"]);
    let other = set(&["link.bdp_rtt=42ms"]).unwrap();
    assert_eq!((other.link.bdp_bytes(), other.hops[0].link.bdp_bytes()), (262_500.0, 283_500.0));
}

#[test]
fn transfers_have_a_direction_and_a_number() {
    let scenario = parse(GOOD).unwrap();
    let [one, two] = scenario.flows.as_slice() else { panic!("{} flows", scenario.flows.len()) };
    assert_eq!((one.direction, one.repeat, one.gap), (Direction::Download, Repeat::UntilStop, Span::from_secs(1)));
    assert_eq!((two.direction, two.repeat, two.gap), (Direction::Upload, Repeat::Times(1), Span::default()));
    assert_eq!(set(&["flow[one].repeat=3"]).unwrap().flows[0].repeat, Repeat::Times(3));
}

#[test]
fn settings_of_one_host_go_before_those_of_all() {
    let scenario = set(&[
        "host.server.rcvbuf_max=4096",
        "host.all.gso_max_segs=8",
        "host.two.gso_max_segs=1",
        "host.one.sysctl={ \"ipv4/tcp_ecn\" = 0x2 }",
    ])
    .unwrap();
    assert_eq!(scenario.host("server").rcvbuf_max, Some(4096));
    assert_eq!(
        (scenario.host("one").rcvbuf_max, scenario.host("one").sysctl["ipv4/tcp_ecn"].as_str()),
        (Some(500_000), "2")
    );
    assert_eq!((scenario.host("one").gso_max_segs, scenario.host("two").gso_max_segs), (Some(8), Some(1)));
    assert_eq!((scenario.host("two").sndbuf_max, scenario.host("two").sysctl["ipv4/tcp_ecn"].as_str()), (None, "1"));
}

#[test]
fn an_integer_keeps_its_value_whatever_its_radix() {
    let text = GOOD.replace("algorithm = \"cubic\"", "algorithm = \"f-bbrv2\"\nset = { alpha = 0x2 }");
    assert_eq!(parse(&text).unwrap().flows[1].set["alpha"], "2");
    assert_eq!(parse(&GOOD.replace("320000", "0b1_0000")).unwrap().flows[0].bytes, Some(16));
    let error = parse(&GOOD.replace("buffer = \"100p\"", "buffer = 0x64")).unwrap_err().to_string();
    assert!(error.ends_with("found 100"), "{error}");
}

#[test]
fn a_link_that_changes_reaches_the_link_model() {
    let scenario = set(&[
        "link.rate_steps=[{ at = \"1s\", rate = \"0bit/s\" }, { at = \"2s\", rate = \"10Mbit/s\" }]",
        "link.base_rtt_steps=[{ at = \"3s\", base_rtt = \"60ms\" }]",
        "link.jitter={ distribution = \"normal\", mean = \"2ms\", std_dev = \"1ms\", max = \"5ms\", reorder = true }",
        "link.loss={ gilbert_elliott = { good_to_bad = 0.001, bad_to_good = 0.25 } }",
        "link.wireless={ error = 0.1, retry_delay = \"100us\" }",
        "link.ecn_threshold=20p",
        "hop[wifi].delay_steps=[{ at = \"4s\", delay = \"3ms\" }]",
        "hop[wifi].jitter=2ms",
        "hop[wifi].loss=0.01",
    ])
    .unwrap();
    let config = scenario.link.config(3);
    assert_eq!(config.rate, RatePlan::Steps(vec![(0, 50_000_000), (1000 * MS, 0), (2000 * MS, 10_000_000)]));
    assert_eq!(config.wire.delay, [(0, 20 * MS), (3000 * MS, 30 * MS)]);
    let normal = Distribution::Normal { mean: 2 * MS, std_dev: MS, max: 5 * MS };
    assert_eq!(config.wire.jitter, Some(Jitter { distribution: normal, reorder: true }));
    let bursts = GilbertElliott { p: 0.001, r: 0.25, loss_good: 0.0, loss_bad: 1.0 };
    assert_eq!(config.wire.loss, Loss::GilbertElliott(bursts));
    assert_eq!(config.wire.wireless, Some(Wireless { error: 0.1, retries: 7, retry_delay: 100_000 }));
    assert_eq!(
        (config.mark_above, config.capacity, config.seed),
        (Some(Capacity::Packets(20)), Capacity::Bytes(1_000_000), 4)
    );
    let hop = scenario.hops[0].link.config(1);
    assert_eq!(hop.wire.delay, [(0, MS), (4000 * MS, 3 * MS)]);
    assert_eq!(hop.wire.jitter, Some(Jitter { distribution: Distribution::Uniform { max: 2 * MS }, reorder: false }));
    assert_eq!((hop.wire.loss, hop.seed == config.seed), (Loss::Bernoulli(0.01), false));
    let again = Scenario::parse("resolved.toml", &scenario.to_toml()).unwrap();
    assert_eq!(again, scenario, "the resolved form is the same scenario");
}

/// A line of [`GOOD`], what to put in its place, the line and field of the complaint, and all of its text.
const BAD: &[(&str, &str, usize, &str, &str)] = &[
    // Paths and hops.
    (
        "path = [\"wifi\", \"link\"]",
        "path = [\"wifl\", \"link\"]",
        16,
        "flow[0].path",
        "expected links of this scenario (link, wifi), found \"wifl\"",
    ),
    ("path = [\"wifi\", \"link\"]", "path = []", 16, "flow[0].path", "expected at least one link, found none"),
    (
        "path = [\"wifi\", \"link\"]",
        "path = [\"link\", \"wifi\", \"link\"]",
        16,
        "flow[0].path",
        "expected each link once, found \"link\" twice",
    ),
    (
        "path = [\"wifi\", \"link\"]",
        "path = \"link\"",
        16,
        "flow[0].path",
        "expected an array of strings, found \"link\"",
    ),
    (
        "path = [\"wifi\", \"link\"]",
        "path = [\"link\"]",
        8,
        "hop[0].name",
        "expected a flow or UDP source with \"wifi\" in its path, found none",
    ),
    ("name = \"wifi\"", "name = \"link\"", 8, "hop[0].name", "expected another name than that of [link]"),
    ("name = \"wifi\"", "", 7, "hop[0].name", "missing field"),
    (
        "delay = \"1ms\"",
        "base_rtt = \"2ms\"",
        10,
        "hop[0].base_rtt",
        "unknown field, expected one of name, rate, delay, buffer, queue, ecn_threshold, loss, rate_steps, rate_trace, delay_steps, jitter, ack_batch, ack_filter, hide_marks, wireless, snoop, duplex, down_buffer, overhead_bytes, bdp_rtt, seed",
    ),
    ("delay = \"1ms\"", "delay = \"6s\"", 10, "hop[0].delay", "expected at most 5s, found 6s"),
    ("delay = \"1ms\"", "", 7, "hop[0].delay", "missing field"),
    // Transfers.
    (
        "direction = \"download\"",
        "direction = \"down\"",
        17,
        "flow[0].direction",
        "expected \"upload\" or \"download\", found \"down\"",
    ),
    (
        "gap = \"1s\"",
        "command = [\"true\"]",
        17,
        "flow[0].direction",
        "expected \"upload\" beside a command: the command runs on the flow's host",
    ),
    (
        "bytes = 320000",
        "",
        19,
        "flow[0].repeat",
        "expected bytes beside it: an endless transfer is never followed by another",
    ),
    (
        "repeat = \"until-stop\"",
        "",
        20,
        "flow[0].gap",
        "expected repeat beside it: after one transfer there is no gap, found 1s",
    ),
    (
        "repeat = \"until-stop\"",
        "repeat = 0",
        19,
        "flow[0].repeat",
        "expected a number of transfers from 1, or \"until-stop\", found 0",
    ),
    (
        "repeat = \"until-stop\"",
        "repeat = \"forever\"",
        19,
        "flow[0].repeat",
        "expected a number of transfers from 1, or \"until-stop\", found \"forever\"",
    ),
    ("bytes = 320000", "class = 256\nbytes = 1", 18, "flow[0].class", "expected a whole number below 256, found 256"),
    // What changes over time.
    (
        "buffer = \"100p\"",
        "buffer = \"100p\"\nrate_steps = [{ at = \"0s\", rate = \"1Mbit/s\" }]",
        12,
        "hop[0].rate_steps[0].at",
        "expected a time after the beginning of the run (0s), found 0s",
    ),
    (
        "buffer = \"100p\"",
        "buffer = \"100p\"\nrate_steps = [{ at = \"1s\", rate = \"0bit/s\" }]",
        12,
        "hop[0].rate_steps[0].rate",
        "expected at least 1kbit/s, or an outage of 0bit/s before another step, found 0bit/s",
    ),
    (
        "buffer = \"100p\"",
        "buffer = \"100p\"\ndelay_steps = [{ at = \"2s\", delay = \"1ms\" }, { at = \"1s\", delay = \"2ms\" }]",
        12,
        "hop[0].delay_steps[1].at",
        "expected a time after the step before (2s), found 1s",
    ),
    (
        "buffer = \"100p\"",
        "buffer = \"100p\"\ndelay_steps = [{ at = \"2s\", delay = \"6s\" }]",
        12,
        "hop[0].delay_steps[0].delay",
        "expected at most 5s, found 6s",
    ),
    // Jitter, loss, Wi-Fi.
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\njitter = \"0s\"",
        6,
        "link.jitter",
        "expected a largest value above 0s and at most 10s, found 0s",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\njitter = 3",
        6,
        "link.jitter",
        "expected a time span with its unit, such as \"40ms\", found 3",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\njitter = { max = \"1ms\", mean = \"1ms\" }",
        6,
        "link.jitter.mean",
        "expected no such field of a uniform distribution",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\njitter = { max = \"1ms\", distribution = \"normal\", mean = \"0s\" }",
        6,
        "link.jitter.std_dev",
        "missing field",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\njitter = { max = \"1ms\", distribution = \"normal\", mean = \"2ms\", std_dev = \"1ms\" }",
        6,
        "link.jitter.mean",
        "expected at most max (1ms), found 2ms",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\njitter = { max = \"1ms\", distribution = \"pareto\" }",
        6,
        "link.jitter.distribution",
        "expected \"uniform\" or \"normal\", found \"pareto\"",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nloss = { gilbert_elliott = { good_to_bad = 0.1, bad_to_good = 0 } }",
        6,
        "link.loss.gilbert_elliott.bad_to_good",
        "expected more than 0, or the bad state never ends",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nloss = { gilbert_elliott = { good_to_bad = 1.5, bad_to_good = 0.1 } }",
        6,
        "link.loss.gilbert_elliott.good_to_bad",
        "expected 0 to 1, found 1.5",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nloss = { gilbert = 0.1 }",
        6,
        "link.loss.gilbert",
        "unknown field, expected one of gilbert_elliott",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nwireless = { error = 1 }",
        6,
        "link.wireless.error",
        "expected a probability below 1, or nothing ever arrives, found 1",
    ),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nwireless = { error = 0.1, retries = 256 }",
        6,
        "link.wireless.retries",
        "expected 0 to 255, found 256",
    ),
    // Hosts.
    (
        "[host.all]",
        "[host.three]",
        24,
        "host.three",
        "expected a host of this scenario (server, all, one, two), found \"three\"",
    ),
    (
        "name = \"two\"",
        "name = \"all\"",
        24,
        "host.all",
        "expected one meaning of \"all\", found a flow or UDP source of that name: give it another",
    ),
    ("rcvbuf_max = 500000", "rcvbuf_max = 1000", 25, "host.all.rcvbuf_max", "expected 4096 to 2147483647, found 1000"),
    (
        "rcvbuf_max = 500000",
        "rmem_max = 500000",
        25,
        "host.all.rmem_max",
        "unknown field, expected one of rcvbuf_max, sndbuf_max, gso_max_segs, sysctl",
    ),
    (
        "\"ipv4/tcp_ecn\"",
        "\"net.ipv4.tcp_ecn\"",
        26,
        "host.all.sysctl",
        "expected a path below /proc/sys/net such as \"ipv4/tcp_ecn\", found \"net.ipv4.tcp_ecn\"",
    ),
    (
        "\"ipv4/tcp_ecn\"",
        "\"ipv4/../../kernel/panic\"",
        26,
        "host.all.sysctl",
        "expected a path below /proc/sys/net such as \"ipv4/tcp_ecn\", found \"ipv4/../../kernel/panic\"",
    ),
    (
        "\"ipv4/tcp_ecn\"",
        "\"ipv4/tcp_congestion_control\"",
        26,
        "host.all.sysctl",
        "expected no \"ipv4/tcp_congestion_control\": the algorithm is a field of the flow",
    ),
    (
        "\"ipv4/tcp_ecn\"",
        "\"ipv4/tcp_rmem\"",
        26,
        "host.all.sysctl",
        "expected either rcvbuf_max or the sysctl \"ipv4/tcp_rmem\", found both",
    ),
];

#[test]
fn what_cannot_be_a_network_is_told_with_line_field_and_reason() {
    for (good_line, bad_line, line, field, message) in BAD {
        assert!(GOOD.contains(good_line), "{good_line:?} is in the good scenario");
        let error = parse(&GOOD.replacen(good_line, bad_line, 1)).expect_err(bad_line).to_string();
        assert_eq!(error, format!("dir/mine.toml:{line}: {field}: {message}"), "{bad_line}");
    }
}

#[test]
fn a_download_passes_links_that_have_its_direction() {
    for one_way in ["link.duplex=false", "hop[wifi].duplex=false"] {
        let error = set(&[one_way]).unwrap_err().to_string();
        let name = if one_way.starts_with("link") { "link" } else { "wifi" };
        assert!(
            error.contains("flow[0].direction: expected duplex = true for every link of a download's path"),
            "{error}"
        );
        assert!(error.ends_with(&format!("found {name:?} without")), "{error}");
    }
}

#[test]
fn the_other_direction_may_have_another_buffer() {
    let link = set(&["link.down_buffer=2bdp"]).unwrap().link;
    assert_eq!((link.buffer_bytes(), link.down_buffer_bytes()), (1_000_000, 500_000));
    assert_eq!(set(&[]).unwrap().link.down_buffer_bytes(), 1_000_000);
    let refused = |changes: &[&str]| set(changes).unwrap_err().to_string();
    assert!(refused(&["link.down_buffer=100B"]).contains("link.down_buffer: expected room for at least one packet"));
    let one_way = refused(&["flow[0].direction=upload", "link.duplex=false", "link.down_buffer=2bdp"]);
    assert!(one_way.contains("link.down_buffer: expected duplex = true beside it"), "{one_way}");
}

#[test]
fn the_bottleneck_is_on_a_path() {
    let text = GOOD.replace("path = [\"wifi\", \"link\"]", "path = [\"wifi\"]");
    let text = text.replace("algorithm = \"cubic\"", "algorithm = \"cubic\"\npath = [\"wifi\"]");
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("link: expected a flow or UDP source with \"link\" in its path"), "{error}");
    let background = format!("{text}[[udp]]\nname = \"noise\"\nrate = \"1Mbit/s\"\n");
    assert!(parse(&background).is_ok());
}
