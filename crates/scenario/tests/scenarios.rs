//! Scenario files: defaults, complaints with file, line and field, and changes from the command line.

use ccactl_link::Capacity;
use ccactl_scenario::Scenario;
use ccactl_scenario::units::{Buffer, Rate, Span};
use ccactl_scenario::{LossSpec, Override, SHIPPED, ScenarioError};

const GOOD: &str = r#"duration = "10s"
[link]
rate = "50Mbit/s"
base_rtt = "40ms"
buffer = { bdp = 4 }
[[flow]]
name = "one"
algorithm = "reno"
[[flow]]
name = "two"
algorithm = "native:cubic"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("dir/mine.toml", text)
}

#[test]
fn defaults_are_filled_in() {
    let scenario = parse(GOOD).unwrap();
    assert_eq!(scenario.name, "mine");
    assert_eq!((scenario.repeat, scenario.every.as_str()), (1, "ack"));
    let link = &scenario.link;
    assert_eq!((link.loss, link.overhead_bytes, link.mtu), (LossSpec::Random(0.0), 14, 1500));
    assert_eq!((link.bdp_bytes(), link.buffer_bytes(), link.frame_bytes()), (250_000.0, 1_000_000, 1514));
    let flow = &scenario.flows[0];
    assert_eq!((flow.start, flow.stop, flow.extra_rtt), (Span::default(), Span::from_secs(10), Span::default()));
}

#[test]
fn the_resolved_scenario_is_the_same_scenario() {
    let mut every_field = parse(GOOD).unwrap();
    every_field.flows[0].bytes = Some(10_000_000);
    every_field.link.ack_batch = Some(Span::from_secs(1));
    every_field.link.ack_filter = true;
    every_field.link.hide_marks = true;
    every_field.flows[1].command = Some(vec!["true".to_owned(), "a b".to_owned()]);
    every_field.thresholds.jain_min = Some(0.9);
    every_field.thresholds.rtt_mean_max = Some(Span::from_secs(1));
    assert_eq!(parse(&every_field.to_toml()).unwrap(), every_field);
}

/// A line of [`GOOD`], what to put in its place, the line and field of the complaint, and a word of it.
type Bad = (&'static str, &'static str, usize, &'static str, &'static str);

const BAD: &[Bad] = &[
    // Unknown, missing, of the wrong type.
    ("duration = \"10s\"", "duration = \"10s\"\ndurations = 1", 2, "durations", "unknown field"),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nlatency = \"1ms\"",
        6,
        "link.latency",
        "expected one of rate, base_rtt",
    ),
    ("name = \"two\"", "name = \"two\"\nalgoritm = \"reno\"", 11, "flow[1].algoritm", "unknown field"),
    ("duration = \"10s\"", "", 1, "duration", "missing"),
    ("rate = \"50Mbit/s\"", "", 2, "link.rate", "missing"),
    ("name = \"two\"", "", 9, "flow[1].name", "missing"),
    ("duration = \"10s\"", "duration = 10", 1, "duration", "found 10"),
    ("duration = \"10s\"", "duration = \"10s\"\nflow = 3", 0, "", "duplicate key"),
    // Values that are no quantity.
    ("rate = \"50Mbit/s\"", "rate = \"50Mbps\"", 3, "link.rate", "50Mbps"),
    ("rate = \"50Mbit/s\"", "rate = \"0bit/s\"", 3, "link.rate", "at least 1kbit/s"),
    ("base_rtt = \"40ms\"", "base_rtt = \"40\"", 4, "link.base_rtt", "\"40\""),
    ("base_rtt = \"40ms\"", "base_rtt = \"-1ms\"", 4, "link.base_rtt", "\"-1ms\""),
    ("buffer = { bdp = 4 }", "buffer = 4", 5, "link.buffer", "found 4"),
    ("buffer = { bdp = 4 }", "buffer = { bdp = 4, bytes = 1 }", 5, "link.buffer", "2 keys"),
    ("buffer = { bdp = 4 }", "buffer = { bdps = 4 }", 5, "link.buffer", "bdps"),
    ("buffer = { bdp = 4 }", "buffer = { bdp = nan }", 5, "link.buffer", "finite"),
    ("buffer = { bdp = 4 }", "buffer = { bdp = 0.001 }", 5, "link.buffer", "1514 bytes"),
    ("buffer = { bdp = 4 }", "buffer = { packets = 0 }", 5, "link.buffer", "1514 bytes"),
    ("buffer = { bdp = 4 }", "buffer = { bytes = -5 }", 5, "link.buffer", "from 0"),
    ("buffer = { bdp = 4 }", "buffer = \"4bdp\"\nloss = 1.5", 6, "link.loss", "found 1.5"),
    ("buffer = { bdp = 4 }", "buffer = \"4bdp\"\nmtu = 100", 6, "link.mtu", "found 100"),
    ("buffer = { bdp = 4 }", "buffer = \"4bdp\"\necn_threshold = 20", 6, "link.ecn_threshold", "found 20"),
    (
        "buffer = { bdp = 4 }",
        "buffer = \"4bdp\"\necn_threshold = { bdp = 4 }",
        6,
        "link.ecn_threshold",
        "less than the buffer",
    ),
    ("duration = \"10s\"", "duration = \"0s\"", 1, "duration", "more than 0s"),
    ("duration = \"10s\"", "duration = \"10s\"\nrepeat = 0", 2, "repeat", "found 0"),
    ("duration = \"10s\"", "duration = \"10s\"\nrepeat = -1", 2, "repeat", "found -1"),
    ("duration = \"10s\"", "duration = \"10s\"\nevery = \"acks\"", 2, "every", "\"acks\""),
    ("duration = \"10s\"", "duration = \"10s\"\nname = \"../up\"", 2, "name", "../up"),
    // Flows.
    ("name = \"two\"", "name = \"one\"", 10, "flow[1].name", "\"one\" twice"),
    ("name = \"two\"", "name = \"a/b\"", 10, "flow[1].name", "a/b"),
    ("name = \"two\"", "name = \"\"", 10, "flow[1].name", "\"\""),
    ("algorithm = \"reno\"", "algorithm = \"renoo\"", 8, "flow[0].algorithm", "reno"),
    ("algorithm = \"reno\"", "algorithm = \"bpf_reno\"", 8, "flow[0].algorithm", "reno"),
    ("algorithm = \"native:cubic\"", "algorithm = \"native:\"", 11, "flow[1].algorithm", "no algorithm"),
    ("algorithm = \"native:cubic\"", "algorithm = \"native:cubic\"\nset = { a = 1 }", 12, "flow[1].set.a", "tunables"),
    ("algorithm = \"native:cubic\"", "algorithm = \"native:cubic\"\nas = \"x\"", 12, "flow[1].as", "--as"),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\nset = { nope = 1 }", 9, "flow[0].set.nope", "no tunable"),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\nset = { nope = true }", 9, "flow[0].set", "a number"),
    (
        "algorithm = \"reno\"",
        "algorithm = \"f-bbrv2\"\nset = { alpha = 1000000 }",
        9,
        "flow[0].set.alpha",
        "out of range",
    ),
    (
        "algorithm = \"reno\"",
        "algorithm = \"f-bbrv2\"\nset = { alpha = \"x\" }",
        9,
        "flow[0].set.alpha",
        "not a decimal",
    ),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\nas = \"cubic\"", 9, "flow[0].as", "of the kernel itself"),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\nas = \"sixteen_bytes_xy\"", 9, "flow[0].as", "16 bytes"),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\nstart = \"10s\"", 9, "flow[0].start", "before the end"),
    (
        "algorithm = \"reno\"",
        "algorithm = \"reno\"\nstart = \"5s\"\nstop = \"5s\"",
        10,
        "flow[0].stop",
        "after the start",
    ),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\nbytes = 0", 9, "flow[0].bytes", "at least 1"),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\ncommand = []", 9, "flow[0].command", "a program"),
    ("algorithm = \"reno\"", "algorithm = \"reno\"\ncommand = [1]", 9, "flow[0].command", "a string"),
    (
        "algorithm = \"reno\"",
        "algorithm = \"reno\"\nbytes = 5\ncommand = [\"true\"]",
        9,
        "flow[0].bytes",
        "beside a command",
    ),
    (
        "algorithm = \"reno\"",
        "algorithm = \"reno\"\nbytes = 5\napplication = { rate = \"1Mbit/s\" }",
        10,
        "flow[0].application",
        "no bytes beside it",
    ),
    (
        "algorithm = \"reno\"",
        "algorithm = \"reno\"\ncommand = [\"true\"]\napplication = { rate = \"1Mbit/s\" }",
        10,
        "flow[0].application",
        "a command beside it",
    ),
    (
        "algorithm = \"reno\"",
        "algorithm = \"reno\"\napplication = { rate = \"1kbit/s\", every = \"1ms\" }",
        9,
        "flow[0].application.rate",
        "at least a byte every 1ms",
    ),
    (
        "algorithm = \"reno\"",
        "algorithm = \"reno\"\napplication = { rate = \"1Mbit/s\", every = \"0s\" }",
        9,
        "flow[0].application.every",
        "more than 0s",
    ),
    ("buffer = { bdp = 4 }", "buffer = { bdp = 4 }\nack_batch = \"0s\"", 6, "link.ack_batch", "more than 0s"),
    ("buffer = { bdp = 4 }", "buffer = { bdp = 4 }\nack_filter = true", 6, "link.ack_filter", "ack_batch beside it"),
    (
        "buffer = { bdp = 4 }",
        "buffer = { bdp = 4 }\nduplex = true\nack_batch = \"5ms\"",
        7,
        "link.ack_batch",
        "no duplex beside it",
    ),
];

#[test]
fn an_application_is_written_out_and_read_again() {
    let application =
        "algorithm = \"reno\"\napplication = { rate = \"1Mbit/s\", steps = [{ at = \"2s\", rate = \"0bit/s\" }] }";
    let scenario = parse(&GOOD.replacen("algorithm = \"reno\"", application, 1)).unwrap();
    let of = scenario.flows[0].application.as_ref().unwrap();
    assert_eq!((of.rate.bps, of.every, of.steps.len()), (1_000_000, Span { ns: 20_000_000 }, 1));
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
}

#[test]
fn every_fault_is_one_line_with_file_line_and_field() {
    for (good_line, bad_line, line, field, word) in BAD {
        assert!(GOOD.contains(good_line), "{good_line:?} is a line of the good scenario");
        let error = parse(&GOOD.replacen(good_line, bad_line, 1)).expect_err(bad_line).to_string();
        let place = match *line {
            0 => "dir/mine.toml:".to_owned(),
            line => format!("dir/mine.toml:{line}: {field}: "),
        };
        assert!(error.starts_with(&place), "{bad_line:?}: expected {place:?} at the start of {error:?}");
        assert!(error.contains(word), "{bad_line:?}: expected {word:?} in {error:?}");
        assert!(!error.contains('\n'), "{bad_line:?}: more than one line: {error:?}");
    }
}

#[test]
fn text_that_is_not_toml_is_a_fault_of_its_line() {
    for text in ["duration = ", "duration = \"10s\"\n[link\n", "\u{0}", "duration = 10s"] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.starts_with("dir/mine.toml:") && error.contains("not valid TOML"), "{error:?}");
        assert!(!error.contains('\n'), "{error:?}");
    }
    let error = parse("duration = \"10s\"\n\n[link\n").unwrap_err().to_string();
    assert!(error.starts_with("dir/mine.toml:3:"), "{error:?}");
}

#[test]
fn a_scenario_without_flows_or_with_a_table_in_their_place_is_refused() {
    let head = GOOD.split("[[flow]]").next().unwrap();
    assert!(parse(head).unwrap_err().to_string().contains("flow: missing"));
    let one = format!("{head}[flow]\nname = \"a\"\nalgorithm = \"reno\"\n");
    assert!(parse(&one).unwrap_err().to_string().contains("[[flow]]"));
}

#[test]
fn one_kernel_name_is_one_set_of_tunables() {
    let with = |one: &str, two: &str| {
        GOOD.replace("\"reno\"", &format!("\"f-bbrv2\"\nas = \"mine\"\nset = {{ alpha = {one} }}"))
            .replace("\"native:cubic\"", &format!("\"f-bbrv2\"\nas = \"mine\"\nset = {{ alpha = {two} }}"))
    };
    assert!(parse(&with("1.3", "1.3")).is_ok());
    let error = parse(&with("1.3", "1.4")).unwrap_err().to_string();
    assert!(error.contains("flow[1].as") && error.contains("one and two"), "{error}");
}

#[test]
fn a_preset_of_the_document_is_for_those_that_have_it() {
    let all = |name: &str| {
        parse(&GOOD.replace("\"reno\"", "\"bbrv2\"").replacen("duration", &format!("preset = \"{name}\"\nduration"), 1))
    };
    let scenario = all("p1").unwrap();
    assert_eq!(scenario.flows[0].set["up_sets_hi"], "1");
    assert!(scenario.flows[1].set.is_empty(), "{:?}", scenario.flows[1]);
    let misspelt = all("p9").unwrap_err().to_string();
    assert!(
        misspelt.contains("preset: expected a preset of a built-in algorithm (draft, p0, p1, p2), found \"p9\""),
        "{misspelt}"
    );
}

#[test]
fn a_preset_becomes_tunables_and_what_is_set_comes_on_top() {
    let with = |rest: &str| parse(&GOOD.replace("\"reno\"", &format!("\"f-bbrv2\"\npreset = \"p1\"{rest}")));
    let set = |rest: &str| with(rest).unwrap().flows[0].set.clone();
    assert_eq!(set("").get("up_sets_hi").map(String::as_str), Some("1"));
    let changed = set("\nset = { up_sets_hi = 0, alpha = 1.3 }");
    assert_eq!((changed["up_sets_hi"].as_str(), changed["alpha"].as_str()), ("0", "1.3"));
    let other = parse(&GOOD.replace("\"reno\"", "\"reno\"\npreset = \"p1\"")).unwrap_err().to_string();
    assert!(other.contains("flow[0].preset: reno has no preset 'p1', nor any other"), "{other}");
    let native = parse(&GOOD.replace("\"native:cubic\"", "\"native:cubic\"\npreset = \"p1\"")).unwrap_err().to_string();
    assert!(native.contains("flow[1].preset") && native.contains("takes no preset"), "{native}");
}

fn changed(changes: &[&str]) -> Result<Scenario, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    Scenario::parse_with("mine.toml", GOOD, &changes)
}

#[test]
fn every_field_can_be_changed_from_the_command_line() {
    let scenario = changed(&[
        "duration=3s",
        "repeat=2",
        "link.buffer=0.5bdp",
        "link.loss=0.005",
        "link.rate=20Mbit/s",
        "flow[0].algorithm=native:bbr",
        "flow[two].start=1s",
    ])
    .unwrap();
    assert_eq!((scenario.duration, scenario.repeat), (Span::from_secs(3), 2));
    assert_eq!((scenario.link.rate, scenario.link.buffer), (Rate { bps: 20_000_000 }, Buffer::Bdp(0.5)));
    assert_eq!((scenario.link.loss, scenario.link.buffer_bytes()), (LossSpec::Random(0.005), 50_000));
    assert_eq!(scenario.flows[0].algorithm, "native:bbr");
    assert_eq!((scenario.flows[1].start, scenario.flows[1].stop), (Span::from_secs(1), Span::from_secs(3)));
    let with_table = changed(&["link.buffer={ bytes = 5000 }"]).unwrap();
    assert_eq!(with_table.link.buffer, Buffer::Bytes(5000));
}

#[test]
fn a_change_that_does_not_fit_is_refused_by_field() {
    for (change, words) in [
        ("link.buffers=4bdp", "link.buffers: unknown field"),
        ("flow[three].start=1s", "expected a flow of this scenario (0 to 1, or one of one, two), found \"three\""),
        ("flow[2].start=1s", "found \"2\""),
        ("duration.x=1", "\"duration\" is not a table"),
        ("link.loss=2", "link.loss: expected a probability"),
        ("flow[0].start=20s", "flow[0].start: expected a start before the end"),
    ] {
        let error = changed(&[change]).expect_err(change).to_string();
        assert!(error.contains(words), "{change}: {error}");
        assert!(!error.contains('\n'), "{error:?}");
    }
    for text in ["", "duration", "=5s", "duration="] {
        assert!(text.parse::<Override>().is_err(), "{text:?}");
    }
}

#[test]
fn printed_figures_stay_only_beside_the_experiment_they_were_printed_for() {
    let shipped = SHIPPED.iter().find(|shipped| shipped.name == "fbbrv2-vs-cubic").unwrap();
    let published = |change: &str| {
        let change = change.parse().unwrap();
        Scenario::parse_with("fbbrv2-vs-cubic.toml", shipped.text, &[change]).unwrap().published
    };
    assert_eq!(published("duration=5s").unwrap().jain, Some(0.92));
    assert_eq!(published("link.buffer=1bdp"), None);
    assert_eq!(published("flow[0].algorithm=bbr"), None);
}

#[test]
fn a_name_that_is_neither_a_file_nor_shipped_says_what_is() {
    let error = Scenario::open("no-such-scenario", &[]).unwrap_err().to_string();
    assert!(error.contains("no-such-scenario") && error.contains("`ccactl bench list`"), "{error}");
    assert_eq!(Scenario::open("single", &[]).unwrap().name, "single");
}

#[test]
fn a_marking_threshold_has_the_forms_of_the_buffer() {
    let link = |threshold: &str| {
        let text =
            GOOD.replace("buffer = { bdp = 4 }", &format!("buffer = {{ bdp = 4 }}\necn_threshold = {threshold}"));
        parse(&text).unwrap().link
    };
    assert_eq!(parse(GOOD).unwrap().link.mark_above(), None);
    assert_eq!(link("{ packets = 20 }").mark_above(), Some(Capacity::Packets(20)));
    assert_eq!(link("{ packets = 0 }").mark_above(), Some(Capacity::Packets(0)));
    assert_eq!(link("{ bytes = 30000 }").mark_above(), Some(Capacity::Bytes(30_000)));
    // One BDP is 250000 bytes.
    assert_eq!(link("\"0.5bdp\"").mark_above(), Some(Capacity::Bytes(125_000)));
}

const UDP: &str = r#"[[udp]]
name = "noise"
rate = "1Mbit/s"
steps = [
    { at = "2s", rate = "0bit/s" },
    { at = "4s", rate = "5Mbit/s" },
]
"#;

#[test]
fn a_udp_source_has_steps_and_defaults_and_survives_being_written_out() {
    let scenario = parse(&format!("{GOOD}{UDP}")).unwrap();
    let udp = &scenario.udp[0];
    assert_eq!((udp.start, udp.stop, udp.packet_bytes), (Span::default(), Span::from_secs(10), 1500));
    assert_eq!(udp.rate, Rate { bps: 1_000_000 });
    let steps: Vec<_> = udp.steps.iter().map(|step| (step.at, step.rate.bps)).collect();
    assert_eq!(steps, [(Span::from_secs(2), 0), (Span::from_secs(4), 5_000_000)]);
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
    let change: Override = "udp[noise].steps[1].rate=7Mbit/s".parse().unwrap();
    let changed = Scenario::parse_with("mine.toml", &format!("{GOOD}{UDP}"), &[change]).unwrap();
    assert_eq!(changed.udp[0].steps[1].rate, Rate { bps: 7_000_000 });
    assert!(parse(GOOD).unwrap().udp.is_empty());
}

#[test]
fn an_impossible_udp_source_is_refused_with_line_and_field() {
    let cases = [
        ("name = \"noise\"", "name = \"one\"", 13, "udp[0].name", "\"one\" twice"),
        ("rate = \"1Mbit/s\"", "", 12, "udp[0].rate", "missing"),
        ("rate = \"1Mbit/s\"", "rate = \"1Mbps\"", 14, "udp[0].rate", "1Mbps"),
        ("rate = \"1Mbit/s\"", "rate = \"3Gbit/s\"", 14, "udp[0].rate", "at most 2Gbit/s"),
        ("rate = \"1Mbit/s\"", "rate = \"1Mbit/s\"\nalgorithm = \"reno\"", 15, "udp[0].algorithm", "unknown field"),
        ("rate = \"1Mbit/s\"", "rate = \"1Mbit/s\"\npacket_bytes = 1501", 15, "udp[0].packet_bytes", "64 to 1500"),
        ("rate = \"1Mbit/s\"", "rate = \"1Mbit/s\"\nstart = \"10s\"", 15, "udp[0].start", "before the end"),
        ("rate = \"1Mbit/s\"", "rate = \"1Mbit/s\"\nstart = \"2s\"", 17, "udp[0].steps[0].at", "after the start (2s)"),
        ("at = \"4s\"", "at = \"2s\"", 17, "udp[0].steps[1].at", "after the step before (2s)"),
        ("rate = \"5Mbit/s\"", "rate = 5", 17, "udp[0].steps[1].rate", "found 5"),
        ("rate = \"5Mbit/s\"", "rates = \"5Mbit/s\"", 17, "udp[0].steps[1].rates", "unknown field"),
    ];
    for (from, to, line, field, word) in cases {
        let error = parse(&format!("{GOOD}{}", UDP.replacen(from, to, 1))).unwrap_err().to_string();
        let start = format!("dir/mine.toml:{line}: {field}: ");
        assert!(error.starts_with(&start) && error.contains(word), "{to}: expected {start}…{word}, found {error}");
    }
}

/// The flows of [`GOOD`] with a tour of the first and lines at the end.
fn with_swaps(tour: &str, lines: &str) -> String {
    format!("{}{lines}", GOOD.replacen("algorithm = \"reno\"", &format!("algorithm = \"reno\"\n{tour}"), 1))
}

const SWAP: &str = r#"[[swap]]
at = "5s"
flow = "two"
algorithm = "f-bbrv2"
set = { alpha = 1.3 }
as = "mine"
"#;

fn stops(scenario: &Scenario) -> Vec<(&str, String, &str)> {
    scenario.swaps.iter().map(|swap| (swap.flow.as_str(), swap.at.to_string(), swap.algorithm.as_str())).collect()
}

#[test]
fn swaps_and_tours_become_one_list_in_the_order_of_time() {
    let tour = "tour = { every = \"2s\", through = [\"cubic\", \"native:bbr\", \"cubic\"] }";
    let scenario = parse(&with_swaps(tour, SWAP)).unwrap();
    let expected =
        [("one", "2s", "cubic"), ("one", "4s", "native:bbr"), ("two", "5s", "f-bbrv2"), ("one", "6s", "cubic")];
    assert_eq!(stops(&scenario), expected.map(|(flow, at, name)| (flow, at.to_owned(), name)));
    let single = &scenario.swaps[2];
    assert_eq!((single.alias.as_deref(), single.set["alpha"].as_str()), (Some("mine"), "1.3"));
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario, "a tour is written out");
    assert!(parse(GOOD).unwrap().swaps.is_empty());
}

#[test]
fn a_tour_through_all_goes_through_the_registry_from_its_start_on() {
    let tour = "tour = { from = \"100ms\", every = \"200ms\", through = \"all\" }";
    let scenario = parse(&with_swaps(tour, "").replace("algorithm = \"reno\"", "algorithm = \"bbr\"")).unwrap();
    let names: Vec<&str> = scenario.swaps.iter().map(|swap| swap.algorithm.as_str()).collect();
    assert_eq!(names, ccactl_abi::ALGORITHMS.iter().map(|algorithm| algorithm.name).collect::<Vec<_>>());
    let last_ns = 100_000_000 + 200_000_000 * (names.len() as u64 - 1);
    assert_eq!((scenario.swaps[0].at.ns, scenario.swaps.last().unwrap().at.ns), (100_000_000, last_ns));
}

#[test]
fn swaps_after_the_end_of_a_shortened_run_are_left_out() {
    let tour = "tour = { every = \"3s\", through = [\"cubic\", \"bbr\", \"vegas\"] }";
    let text = with_swaps(tour, "");
    let short: Override = "duration=6s".parse().unwrap();
    assert_eq!(parse(&text).unwrap().swaps.len(), 3);
    let shortened = Scenario::parse_with("mine.toml", &text, &[short]).unwrap();
    assert_eq!(stops(&shortened), [("one", "3s".to_owned(), "cubic")], "the one at 6 s is at the end");
    let faster: Override = "flow[one].tour.every=1s".parse().unwrap();
    let faster = Scenario::parse_with("mine.toml", &text, &[faster]).unwrap();
    assert_eq!(faster.swaps.last().unwrap().at, Span::from_secs(3));
}

#[test]
fn an_impossible_swap_is_refused_with_line_and_field() {
    let cases = [
        ("flow = \"two\"", "flow = \"three\"", 14, "swap[0].flow", "(one, two), found \"three\""),
        ("flow = \"two\"", "", 12, "swap[0].flow", "missing"),
        ("at = \"5s\"", "at = 5", 13, "swap[0].at", "found 5"),
        ("at = \"5s\"", "at = \"0s\"", 13, "swap[0].at", "after the start of the flow"),
        ("at = \"5s\"", "at = \"5s\"\nstart = \"1s\"", 14, "swap[0].start", "unknown field"),
        ("f-bbrv2", "f-bbrv22", 15, "swap[0].algorithm", "f-bbrv2"),
        ("alpha = 1.3", "alpha = 1000", 16, "swap[0].set.alpha", "out of range"),
        ("as = \"mine\"", "as = \"cubic\"", 17, "swap[0].as", "of the kernel itself"),
    ];
    for (from, to, line, field, word) in cases {
        let error = parse(&format!("{GOOD}{}", SWAP.replacen(from, to, 1))).expect_err(to).to_string();
        let start = format!("dir/mine.toml:{line}: {field}: ");
        assert!(error.starts_with(&start) && error.contains(word), "{to}: expected {start}…{word}, found {error}");
    }
}

#[test]
fn swaps_of_one_flow_come_one_after_the_other_and_change_something() {
    let again =
        |lines: &str| parse(&format!("{GOOD}{SWAP}{}", SWAP.replace("at = \"5s\"", lines))).unwrap_err().to_string();
    let error = again("at = \"5s\"");
    assert!(
        error.starts_with("dir/mine.toml:19: swap[1].at: expected a time after") && error.contains("(5s)"),
        "{error}"
    );
    let error = again("at = \"6s\"");
    assert!(error.contains("swap[1].algorithm: expected another algorithm than the flow has at 6s"), "{error}");
    let other = SWAP.replace("at = \"5s\"", "at = \"6s\"").replace("1.3", "1.4");
    let error = parse(&format!("{GOOD}{SWAP}{other}")).unwrap_err().to_string();
    assert!(error.contains("swap[1].as: expected one algorithm with one set of tunables per name"), "{error}");
    let other = other.replace("as = \"mine\"\n", "");
    assert!(parse(&format!("{GOOD}{SWAP}{other}")).is_ok(), "other tunables are another algorithm");
    let late = SWAP.replace("flow = \"two\"", "flow = \"one\"");
    let text = with_swaps("stop = \"4s\"", &late);
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("swap[0].at: expected a time before the stop of the flow (4s), found 5s"), "{error}");
}

#[test]
fn an_impossible_tour_is_refused_with_line_and_field() {
    let cases = [
        ("tour = { every = \"1s\" }", "flow[0].tour.through", "missing"),
        ("tour = { through = \"all\" }", "flow[0].tour.every", "missing"),
        (
            "tour = { every = \"1s\", through = \"most\" }",
            "flow[0].tour.through",
            "\"all\" or an array of algorithms, found \"most\"",
        ),
        ("tour = { every = \"1s\", through = [] }", "flow[0].tour.through", "an empty array"),
        ("tour = { every = \"1s\", through = [\"cubc\"] }", "flow[0].tour.through", "cubic"),
        (
            "tour = { every = \"1s\", through = [\"reno\"] }",
            "flow[0].tour.through",
            "another algorithm than the flow has at 1s already, found reno",
        ),
        ("tour = { every = \"0s\", through = [\"cubic\"] }", "flow[0].tour.every", "after the start"),
        ("tour = { from = \"0s\", every = \"1s\", through = [\"cubic\"] }", "flow[0].tour.from", "after the start"),
        ("tour = { at = \"1s\" }", "flow[0].tour.at", "unknown field"),
    ];
    for (tour, field, word) in cases {
        let error = parse(&with_swaps(tour, "")).expect_err(tour).to_string();
        let start = format!("dir/mine.toml:9: {field}: ");
        assert!(error.starts_with(&start) && error.contains(word), "{tour}: expected {start}…{word}, found {error}");
    }
}

#[test]
fn the_mean_rate_is_that_of_the_run() {
    let link = |lines: &str| {
        let text = format!(
            "duration = \"10s\"\n[link]\nrate = \"10Mbit/s\"\nbase_rtt = \"10ms\"\nbuffer = \"100p\"\n{lines}\n[[flow]]\nname = \"a\"\nalgorithm = \"native:reno\""
        );
        Scenario::parse("test.toml", &text).unwrap().link
    };
    assert_eq!(link("").mean_rate_bps(Span::from_secs(10)), 10e6);
    let stepped = link("rate_steps = [{ at = \"4s\", rate = \"20Mbit/s\" }, { at = \"8s\", rate = \"5Mbit/s\" }]");
    assert_eq!(stepped.mean_rate_bps(Span::from_secs(10)), (4.0 * 10e6 + 4.0 * 20e6 + 2.0 * 5e6) / 10.0);
    assert_eq!(
        stepped.mean_rate_bps(Span::from_secs(6)),
        (4.0 * 10e6 + 2.0 * 20e6) / 6.0,
        "what comes later is not in it"
    );
}

#[test]
fn a_warm_up_is_for_uploads_of_the_built_in_sender() {
    let scenario = changed(&["warm_up=20s"]).unwrap();
    assert_eq!((scenario.warm_up, scenario.with_warm_up()), (Some(Span::from_secs(20)), Span::from_secs(30)));
    assert_eq!(changed(&[]).unwrap().with_warm_up(), Span::from_secs(10));
    let refused = |changes: &[&str]| changed(changes).unwrap_err().to_string();
    let download = refused(&["warm_up=20s", "link.duplex=true", "flow[0].direction=download"]);
    assert!(download.contains("warm_up: expected uploads of the built-in sender only"), "{download}");
    assert!(download.contains("found the flow \"one\""), "{download}");
    assert!(refused(&["warm_up=20s", "flow[1].command=[\"iperf3\"]"]).contains("found the flow \"two\""));
    for length in ["0s", "601s"] {
        let error = refused(&[&format!("warm_up={length}")]);
        assert!(error.contains("warm_up: expected 1s to 600s, found"), "{error}");
    }
}

#[test]
fn a_slip_in_a_name_gets_the_nearest_shipped_scenarios() {
    let error = ccactl_scenario::ScenarioFile::open("singel", &[]).unwrap_err().to_string();
    assert!(
        error.starts_with("singel: expected a scenario file or the name of a shipped one, found: No such file"),
        "{error}"
    );
    assert!(error.contains("; nearest: single") && error.ends_with("`ccactl bench list` shows all of them"), "{error}");
    let error = ccactl_scenario::ScenarioFile::open("./x.toml", &[]).unwrap_err().to_string();
    assert!(!error.contains("nearest"), "{error}");
}
