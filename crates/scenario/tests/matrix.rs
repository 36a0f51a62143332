//! Sweeps and quick runs: which cells there are, what each sets, and what cannot be one.

use ccactl_scenario::units::{Buffer, Span};
use ccactl_scenario::{Cell, Override, Scenario, ScenarioError, ScenarioFile, Variant, WHOLE};

const BASE: &str = r#"duration = "10s"
[link]
rate = "50Mbit/s"
base_rtt = "40ms"
buffer = { bdp = 4 }
[[flow]]
name = "one"
algorithm = "reno"
[[flow]]
name = "two"
algorithm = "cubic"
[published]
source = "a paper"
jain = 0.5
"#;

const MATRIX: &str = r#"[[matrix]]
name = "buffer"
field = "link.buffer"
values = ["5bdp", "0.8bdp"]
[[matrix]]
name = "pair"
fields = ["flow[0].algorithm", "flow[two].algorithm"]
pairs = ["reno", "cubic", "bbr"]
"#;

fn parse(lines: &str) -> Result<ScenarioFile, ScenarioError> {
    ScenarioFile::parse("mine.toml", &format!("{BASE}{lines}"), &[])
}

fn cell<'f>(file: &'f ScenarioFile, id: &str) -> &'f Cell {
    file.cells().iter().find(|cell| cell.id == id).unwrap_or_else(|| panic!("no cell {id}"))
}

#[test]
fn a_matrix_is_the_cross_product_of_its_axes() {
    let file = parse(MATRIX).unwrap();
    let ids: Vec<&str> = file.cells().iter().map(|cell| cell.id.as_str()).collect();
    let pairs = ["reno+reno", "reno+cubic", "reno+bbr", "cubic+cubic", "cubic+bbr", "bbr+bbr"];
    let expected: Vec<String> =
        ["5bdp", "0.8bdp"].iter().flat_map(|b| pairs.map(|pair| format!("buffer={b},pair={pair}"))).collect();
    assert_eq!(ids, expected, "the last axis changes fastest");
    let one = cell(&file, "buffer=0.8bdp,pair=cubic+bbr");
    assert_eq!((one.labels["buffer"].as_str(), one.labels["pair"].as_str()), ("0.8bdp", "cubic+bbr"));
    assert_eq!(one.scenario.link.buffer, Buffer::Bdp(0.8));
    assert_eq!([&one.scenario.flows[0].algorithm, &one.scenario.flows[1].algorithm], ["cubic", "bbr"]);
    assert_eq!(one.scenario.name, "mine");
    let axes: Vec<(&str, Vec<&str>)> =
        file.axes.iter().map(|axis| (axis.name.as_str(), axis.labels().collect())).collect();
    assert_eq!(axes, [("buffer", vec!["5bdp", "0.8bdp"]), ("pair", pairs.to_vec())]);
}

#[test]
fn printed_figures_belong_to_the_experiment_itself_and_not_to_its_cells() {
    let file = parse(MATRIX).unwrap();
    assert!(file.scenario.published.is_some());
    assert!(file.cells().iter().all(|cell| cell.scenario.published.is_none()));
    let own = "[[matrix]]\nname = \"a\"\ncells = [{ label = \"x\", set = { \"link.loss\" = 0.1, published = { source = \"b\", jain = 0.7 } } }]";
    assert_eq!(parse(own).unwrap().cells()[0].scenario.published.as_ref().unwrap().jain, Some(0.7));
}

#[test]
fn without_a_matrix_the_scenario_is_the_only_cell() {
    let file = parse("").unwrap();
    let [only] = file.cells() else { panic!("{} cells", file.cells().len()) };
    assert_eq!((only.id.as_str(), only.labels.len(), &only.scenario), (WHOLE, 0, &file.scenario));
    assert!(file.variant(Variant::Quick).unwrap().is_none() && file.told_changes(Variant::Quick).is_empty());
}

#[test]
fn an_axis_sets_one_field_several_or_what_each_cell_names() {
    let file = parse(
        r#"[[matrix]]
name = "loss"
field = "link.loss"
values = [0, 1e-7]
[[matrix]]
name = "both"
fields = ["flow[0].algorithm", "flow[1].algorithm"]
values = ["vegas"]
[[matrix]]
name = "host"
cells = [
    { label = "small buffer", set = { "host.server.rcvbuf_max" = 196608, every = "rtt" } },
    { label = "50Mbit/s", set = { duration = "5s" } },
]
"#,
    )
    .unwrap();
    let ids: Vec<&str> = file.cells().iter().map(|cell| cell.id.as_str()).collect();
    let expected = [
        "0,both=vegas,host=small-buffer",
        "0,both=vegas,host=50Mbit-s",
        "1e-7,both=vegas,host=small-buffer",
        "1e-7,both=vegas,host=50Mbit-s",
    ];
    assert_eq!(ids, expected.map(|rest| format!("loss={rest}")));
    let first = &file.cells()[2].scenario;
    assert_eq!(first.link.loss, ccactl_scenario::LossSpec::Random(1e-7));
    assert!(first.flows.iter().all(|flow| flow.algorithm == "vegas"));
    assert_eq!((first.host("server").rcvbuf_max, first.every.as_str()), (Some(196_608), "rtt"));
    assert_eq!(file.cells()[2].labels["host"], "small buffer");
    assert_eq!(file.cells()[3].scenario.duration, Span::from_secs(5));
}

/// Lines after [`BASE`] (which has 14), the line and field of the complaint, and its words.
const BAD: &[(&str, usize, &str, &str)] = &[
    ("[[matrix]]\nfield = \"repeat\"\nvalues = [1]", 15, "matrix[0].name", "missing field"),
    ("[[matrix]]\nname = \"a/b\"\nfield = \"repeat\"\nvalues = [1]", 16, "matrix[0].name", "letters, digits"),
    ("[[matrix]]\nname = \"a\"", 16, "matrix[0].name", "expected one of values, pairs and cells, found none"),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"repeat\"\nvalues = [1]\npairs = [1]",
        16,
        "matrix[0].name",
        "expected one of values, pairs and cells, found values and pairs",
    ),
    ("[[matrix]]\nname = \"a\"\nvalues = [1]", 15, "matrix[0].field", "missing field"),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"repeat\"\nvalues = []",
        18,
        "matrix[0].values",
        "at least one point, found none",
    ),
    ("[[matrix]]\nname = \"a\"\nfield = \"repeat\"\nvalues = 3", 18, "matrix[0].values", "expected an array, found 3"),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"link.buffer\"\nvalues = [{ bdp = 3 }]",
        18,
        "matrix[0].values",
        "tables have a place in cells",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"repeat\"\nvalues = [1, 1]",
        18,
        "matrix[0].values",
        "each point once, found \"1\" twice",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"repeat\"\nfields = [\"every\"]\nvalues = [1]",
        18,
        "matrix[0].fields",
        "either field or fields, found both",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfields = [\"repeat\", \"repeat\"]\nvalues = [1]",
        17,
        "matrix[0].fields",
        "each field once",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"flow[0].algorithm\"\npairs = [\"reno\"]",
        18,
        "matrix[0].pairs",
        "two fields beside pairs, found 1",
    ),
    ("[[matrix]]\nname = \"a\"\nfield = \"repeat\"\ncells = []", 17, "matrix[0].field", "each cell names its own"),
    ("[[matrix]]\nname = \"a\"\ncells = [{ set = {} }]", 17, "matrix[0].cells[0].label", "missing field"),
    // What a cell would be is checked as any other scenario is.
    (
        "[[matrix]]\nname = \"a\"\nfield = \"link.bufer\"\nvalues = [\"1bdp\"]",
        18,
        "matrix[0]",
        "cell a=1bdp: link.bufer: unknown field, expected one of rate",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"flow[2].algorithm\"\nvalues = [\"reno\"]",
        18,
        "matrix[0]",
        "cell a=reno: flow[2].algorithm: expected a flow of this scenario (0 to 1, or one of one, two), found \"2\"",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"link.loss\"\nvalues = [0]\n[[matrix]]\nname = \"b\"\nfield = \"flow[0].start\"\nvalues = [\"1s\", \"20s\"]",
        22,
        "matrix[1]",
        "cell a=0,b=20s: flow[0].start: expected a start before the end of the run (10s), found 20s",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"link.buffer\"\nvalues = [\"1bdp\"]\n[[matrix]]\nname = \"a\"\nfield = \"repeat\"\nvalues = [1]",
        20,
        "matrix[1].name",
        "\"a\" twice",
    ),
    (
        "[[matrix]]\nname = \"a\"\nfield = \"flow[0].algorithm\"\nvalues = [\"reno\"]\n[[matrix]]\nname = \"b\"\nfield = \"flow[one].algorithm\"\nvalues = [\"bbr\"]",
        19,
        "matrix[1]",
        "expected a field that no other axis sets, found flow[one].algorithm in the axis \"a\" too",
    ),
    // Quick runs.
    ("[quick]\nset = { duration = \"0s\" }", 16, "quick.set", "duration: expected more than 0s"),
    ("[quick]\nset = { durations = \"1s\" }", 16, "quick.set", "durations: unknown field"),
    ("[quick]\nkeep = { a = [\"x\"] }", 16, "quick.keep", "expected an axis of the matrix (), found \"a\""),
    ("[quick]\nduration = \"1s\"", 16, "quick.duration", "expected one of set, keep"),
];

#[test]
fn what_cannot_be_a_sweep_is_told_with_line_and_field() {
    for (lines, line, field, words) in BAD {
        let error = parse(lines).expect_err(lines).to_string();
        let start = format!("mine.toml:{line}: {field}: ");
        assert!(
            error.starts_with(&start) && error.contains(words),
            "{lines}:\nexpected {start}…{words}\nfound    {error}"
        );
        assert!(!error.contains('\n'), "{error:?}");
    }
}

#[test]
fn a_sweep_that_nobody_waits_for_is_refused_before_it_is_made() {
    let axis = |name: &str, field: &str, fraction: &str| {
        let values: Vec<String> = (1..=101).map(|n| format!("{fraction}{n}")).collect();
        format!("[[matrix]]\nname = \"{name}\"\nfield = \"{field}\"\nvalues = [{}]\n", values.join(", "))
    };
    let error = parse(&(axis("a", "repeat", "") + &axis("b", "link.loss", "0.1"))).unwrap_err().to_string();
    assert!(error.contains("matrix: expected at most 1000 cells, found 101 × 101"), "{error}");
}

#[test]
fn a_quick_run_is_the_same_sweep_with_what_it_says_changed() {
    let quick = "[quick]\nset = { duration = \"2s\", \"link.rate\" = \"5Mbit/s\" }\nkeep = { pair = [\"bbr+bbr\", \"reno+cubic\"] }";
    let file = parse(&format!("{MATRIX}{quick}")).unwrap();
    let quick = file.variant(Variant::Quick).unwrap().unwrap();
    let ids: Vec<&str> = quick.cells().iter().map(|cell| cell.id.as_str()).collect();
    let expected = ["5bdp,pair=reno+cubic", "5bdp,pair=bbr+bbr", "0.8bdp,pair=reno+cubic", "0.8bdp,pair=bbr+bbr"];
    assert_eq!(ids, expected.map(|rest| format!("buffer={rest}")));
    assert!(quick.cells().iter().all(|cell| cell.scenario.duration == Span::from_secs(2)));
    assert_eq!(file.cells().len(), 12, "the full one stays");
    assert_eq!(
        file.told_changes(Variant::Quick),
        [
            "duration = \"2s\" in place of \"10s\"",
            "link.rate = \"5Mbit/s\" in place of \"50Mbit/s\"",
            "pair: bbr+bbr, reno+cubic of reno+reno, reno+cubic, reno+bbr, cubic+cubic, cubic+bbr, bbr+bbr",
        ]
    );
    let shadowed = "[quick]\nset = { \"flow[one].algorithm\" = \"bbr\" }";
    let error = parse(&format!("{MATRIX}{shadowed}")).unwrap_err().to_string();
    assert!(error.contains("quick.set: expected a field that no axis sets, found flow[one].algorithm"), "{error}");
}

#[test]
fn an_as_printed_run_says_what_it_assumes() {
    let table = "[as-printed]\nassumed = [\"the path has 9 ms: from Vegas' RTT\"]\nset = { duration = \"2s\" }";
    let file = parse(&format!("{MATRIX}{table}")).unwrap();
    let printed = file.variant(Variant::AsPrinted).unwrap().unwrap();
    assert!(printed.cells().iter().all(|cell| cell.scenario.duration == Span::from_secs(2)));
    assert_eq!(
        file.told_changes(Variant::AsPrinted),
        ["duration = \"2s\" in place of \"10s\"", "assumed: the path has 9 ms: from Vegas' RTT"]
    );
    assert!(file.variant(Variant::Quick).unwrap().is_none());
    let silent = parse(&format!("{MATRIX}[as-printed]\nset = {{ duration = \"2s\" }}")).unwrap_err().to_string();
    assert!(silent.contains("as-printed.assumed"), "{silent}");
}

#[test]
fn as_printed_values_take_the_place_of_others_under_the_same_labels() {
    let table = |instead: &str| format!("{MATRIX}[as-printed]\nassumed = []\ninstead = {{ {instead} }}");
    let file = parse(&table("buffer = { \"5bdp\" = \"440p\" }, pair = { cubic = \"bic\" }")).unwrap();
    let printed = file.variant(Variant::AsPrinted).unwrap().unwrap();
    let ids = |file: &ScenarioFile| file.cells().iter().map(|cell| cell.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&printed), ids(&file), "points keep their labels");
    let cell = printed.cells().iter().find(|cell| cell.id == "buffer=5bdp,pair=cubic+cubic").unwrap();
    assert_eq!(cell.scenario.flows.iter().map(|flow| flow.algorithm.as_str()).collect::<Vec<_>>(), ["bic", "bic"]);
    assert_eq!(cell.scenario.link.buffer_bytes(), 440 * 1514);
    assert_eq!(file.told_changes(Variant::AsPrinted), ["buffer: 440p in place of 5bdp", "pair: bic in place of cubic"]);
    let refused = |instead: &str| parse(&table(instead)).unwrap_err().to_string();
    let unknown = refused("pairs = { cubic = \"bic\" }");
    assert!(
        unknown.contains("as-printed.instead: expected an axis of the matrix (buffer, pair), found \"pairs\""),
        "{unknown}"
    );
    let absent = refused("pair = { veno = \"bic\" }");
    assert!(absent.contains("found \"veno\" that it does not have"), "{absent}");
}

fn with(changes: &[&str]) -> Result<ScenarioFile, ScenarioError> {
    let changes: Vec<Override> = changes.iter().map(|text| text.parse().unwrap()).collect();
    let quick = "[quick]\nset = { duration = \"2s\", every = \"rtt\" }";
    ScenarioFile::parse("mine.toml", &format!("{BASE}{MATRIX}{quick}"), &changes)
}

#[test]
fn changes_of_the_command_line_reach_every_cell_and_go_before_those_of_a_quick_run() {
    let file = with(&["duration=5s", "link.loss=0.01"]).unwrap();
    assert!(file.cells().iter().all(|cell| cell.scenario.duration == Span::from_secs(5)));
    let quick = file.variant(Variant::Quick).unwrap().unwrap();
    assert!(
        quick.cells().iter().all(|cell| cell.scenario.duration == Span::from_secs(5) && cell.scenario.every == "rtt")
    );
    let told = file.told_changes(Variant::Quick);
    assert!(told.iter().all(|change| !change.starts_with("duration")), "the command line's has won: {told:?}");
    let error = with(&["link.buffer=1bdp"]).unwrap_err().to_string();
    assert_eq!(
        error,
        "link.buffer: expected a field that no axis sets, found the axis \"buffer\": choose among its points instead"
    );
    let error = with(&["duration=0s"]).unwrap_err().to_string();
    assert!(error.starts_with("mine.toml with the changes of the command line: duration: "), "{error}");
}

#[test]
fn a_bench_of_the_scenario_alone_may_change_what_an_axis_sets() {
    let change: Override = "link.buffer=1bdp".parse().unwrap();
    let scenario = Scenario::parse_with("mine.toml", &format!("{BASE}{MATRIX}"), &[change]).unwrap();
    assert_eq!(scenario.link.buffer, Buffer::Bdp(1.0));
}
