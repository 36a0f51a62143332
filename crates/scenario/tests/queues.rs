//! Queue disciplines: what they mean to the link model, and what cannot be.

use ccactl_link::Capacity;
use ccactl_link::queue::{
    Cba, Cbq, CbqClass, CbqGroup, Class, Classes, CoDel, Discipline, Drr, FqCoDel, Red, Rem, Sfq, Wfq,
};
use ccactl_scenario::{Scenario, ScenarioError};

const MS: u64 = 1_000_000;

/// A link with these further fields, the first of which is on line 6.
fn with(fields: &str) -> Result<Scenario, ScenarioError> {
    let link = "duration = \"10s\"\n[link]\nrate = \"50Mbit/s\"\nbase_rtt = \"40ms\"\nbuffer = { bdp = 4 }";
    let flow = "[[flow]]\nname = \"one\"\nalgorithm = \"reno\"";
    Scenario::parse("dir/mine.toml", &format!("{link}\n{fields}\n{flow}\n"))
}

/// Of the link with this value of `queue`; a name may be without its quotes.
fn queue(value: &str) -> Discipline {
    let value = if value.starts_with('{') { value.to_owned() } else { format!("{value:?}") };
    let scenario = with(&format!("queue = {value}")).unwrap_or_else(|error| panic!("{error}"));
    let again = Scenario::parse("resolved.toml", &scenario.to_toml()).unwrap();
    assert_eq!(again.link.queue, scenario.link.queue, "{value} survives being written out");
    scenario.link.config(1).queue
}

#[test]
fn a_discipline_by_name_has_the_values_of_its_source() {
    let defaults = [
        ("drop-tail", Discipline::DropTail),
        ("drop-head", Discipline::DropHead),
        ("red", Discipline::Red(Red::default())),
        ("exponential-red", Discipline::ExponentialRed(Default::default())),
        ("rem", Discipline::Rem(Rem::default())),
        ("codel", Discipline::CoDel(CoDel::default())),
        ("pie", Discipline::Pie(Default::default())),
        ("policer", Discipline::Policer(Default::default())),
        ("dual-pi2", Discipline::DualPi2(Default::default())),
        ("fq-codel", Discipline::FqCoDel(FqCoDel::default())),
        ("sfq", Discipline::Sfq(Sfq::default())),
        ("drr", Discipline::Drr(Drr::default())),
        ("wfq", Discipline::Wfq(Wfq::default())),
        ("classes", Discipline::Classes(Classes::default())),
        ("cbq", Discipline::Cbq(Cbq::default())),
        ("ack-first", Discipline::AckFirst),
        ("cba", Discipline::Cba(Cba::default())),
    ];
    for (name, discipline) in defaults {
        assert_eq!(queue(name), discipline, "{name}");
        assert_eq!(queue(&format!("{{ discipline = \"{name}\" }}")), discipline, "{name} as a table");
    }
    assert_eq!(with("").unwrap().link.queue, Discipline::DropTail);
}

#[test]
fn the_reference_prints_the_defaults_that_hold() {
    let reference = ccactl_scenario::reference();
    let printed = |discipline: &str| -> Vec<(String, String)> {
        let start = format!("| `{discipline}` | `");
        let rows = reference.lines().filter(|line| line.starts_with(&start));
        let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        rows.map(cells).map(|cells| (cells[2].trim_matches('`').to_owned(), cells[4].clone())).collect()
    };
    let mut compared = 0;
    for name in ["red", "exponential-red", "rem", "codel", "pie", "fq-codel", "sfq", "drr", "wfq", "cbq", "cba"] {
        for (parameter, default) in printed(name) {
            // Words such as "a full packet" stand for what depends on the link.
            let words = default.contains(' ') || default == "none";
            if words {
                continue;
            }
            let value = if default.parse::<f64>().is_ok() || default.parse::<bool>().is_ok() {
                default
            } else {
                format!("\"{default}\"")
            };
            let written = format!("{{ discipline = \"{name}\", {parameter} = {value} }}");
            assert_eq!(queue(&written), queue(name), "{written}");
            compared += 1;
        }
    }
    assert_eq!(compared, 42, "parameters with a default in figures");
    for (table, field) in
        [("`classes` of `classes`", "| `borrow` |"), ("`classes` of `cbq`", "| `priority` | 0 to 7 | 0 |")]
    {
        let (_, after) = reference.split_once(&format!("#### {table}\n")).expect(table);
        assert!(after.split("####").next().unwrap().contains(field), "{table} has {field}");
    }
}

#[test]
fn parameters_of_a_discipline_reach_the_link_model() {
    let codel = CoDel { target: 10 * MS, interval: 50 * MS, mtu_bytes: 1014, ecn: true };
    assert_eq!(
        queue("{ discipline = \"codel\", target = \"10ms\", interval = \"50ms\", mtu_bytes = 1014, ecn = true }"),
        Discipline::CoDel(codel)
    );
    let Discipline::Red(red) =
        queue("{ discipline = \"red\", min_threshold = \"0.5bdp\", max_threshold = { bytes = 300000 } }")
    else {
        panic!("not RED")
    };
    assert_eq!((red.min_threshold, red.max_threshold), (Capacity::Bytes(125_000), Capacity::Bytes(300_000)));
    let Discipline::Drr(drr) = queue("{ discipline = \"drr\", weights = [1, 3] }") else { panic!("not DRR") };
    assert_eq!(drr.weights, [1, 3]);
    let cba = queue("{ discipline = \"cba\", ack_share_permille = 250 }");
    assert_eq!(cba, Discipline::Cba(Cba { ack_share_permille: 250 }));
    let wfq = queue("{ discipline = \"wfq\", queues = 8, weights = [1, 3] }");
    assert_eq!(wfq, Discipline::Wfq(Wfq { queues: 8, weights: vec![1, 3] }));
    let shares =
        "{ discipline = \"classes\", classes = [{ share_permille = 700, borrow = false }, { share_permille = 300 }] }";
    let Discipline::Classes(classes) = queue(shares) else { panic!("not classes") };
    assert_eq!(
        classes.classes,
        [Class { share_permille: 700, borrow: false }, Class { share_permille: 300, borrow: true }]
    );
    assert_eq!(
        queue("{ discipline = \"sfq\", perturbation = \"0s\" }"),
        Discipline::Sfq(Sfq { perturbation: None, ..Sfq::default() })
    );
}

#[test]
fn a_tree_of_cbq_reaches_the_link_model() {
    let groups = "groups = [{ share_permille = 700 }, { group = 0, share_permille = 300, borrow = false }]";
    let classes =
        "classes = [{ group = 1, share_permille = 300, priority = 2 }, { share_permille = 300, borrow = false }]";
    let written = format!("{{ discipline = \"cbq\", {groups}, {classes}, weight = 0.125, burst_packets = 4 }}");
    let expected = Cbq {
        groups: vec![
            CbqGroup { group: None, share_permille: 700, borrow: true },
            CbqGroup { group: Some(0), share_permille: 300, borrow: false },
        ],
        classes: vec![
            CbqClass { group: Some(1), share_permille: 300, borrow: true, priority: 2 },
            CbqClass { group: None, share_permille: 300, borrow: false, priority: 0 },
        ],
        weight: 0.125,
        burst_packets: 4,
        ..Cbq::default()
    };
    assert_eq!(queue(&written), Discipline::Cbq(expected));
}

#[test]
fn a_full_packet_is_that_of_the_link() {
    let scenario = with("mtu = 1000\noverhead_bytes = 0\nqueue = \"fq-codel\"").unwrap();
    let Discipline::FqCoDel(fq) = &scenario.link.queue else { panic!("not FQ-CoDel") };
    assert_eq!((fq.codel.mtu_bytes, fq.quantum_bytes), (1000, 1000));
}

/// A value of `queue`, the field of the complaint, and all of its text.
const BAD: &[(&str, &str, &str)] = &[
    (
        "\"fifo\"",
        "link.queue",
        "expected a queue discipline (drop-tail, drop-head, red, exponential-red, rem, codel, pie, policer, dual-pi2, fq-codel, sfq, drr, wfq, classes, cbq, ack-first, cba), found \"fifo\"",
    ),
    ("{ target = \"5ms\" }", "link.queue.discipline", "missing field"),
    (
        "{ discipline = \"codel\", targt = \"5ms\" }",
        "link.queue.targt",
        "unknown field, expected one of discipline, target, interval, mtu_bytes, ecn",
    ),
    ("{ discipline = \"codel\", target = \"0s\" }", "link.queue.target", "expected more than 0s, found 0s"),
    (
        "{ discipline = \"red\", min_threshold = \"15p\" }",
        "link.queue.max_threshold",
        "expected more than min_threshold (15p), found 15p",
    ),
    (
        "{ discipline = \"red\", min_threshold = \"1bdp\" }",
        "link.queue.max_threshold",
        "expected both thresholds in packets or neither (one BDP counts in bytes)",
    ),
    (
        "{ discipline = \"exponential-red\", virtual_capacity = 0 }",
        "link.queue.virtual_capacity",
        "expected more than 0, found 0",
    ),
    ("{ discipline = \"rem\", phi = 1 }", "link.queue.phi", "expected more than 1, found 1"),
    ("{ discipline = \"drr\", weights = [1, 0] }", "link.queue.weights", "expected weights from 1, found [1, 0]"),
    (
        "{ discipline = \"classes\", classes = [{ share_permille = 600 }, { share_permille = 600 }] }",
        "link.queue.classes",
        "expected at least one class, and shares of 1000 thousandths at most together, found 1200",
    ),
    ("{ discipline = \"wfq\", weights = [0] }", "link.queue.weights", "expected weights from 1, found [0]"),
    (
        "{ discipline = \"cba\", ack_share_permille = 1000 }",
        "link.queue.ack_share_permille",
        "expected 1 to 999, found 1000",
    ),
    (
        "{ discipline = \"cbq\", classes = [{ share_permille = 600 }, { share_permille = 600 }] }",
        "link.queue.classes",
        "expected shares of 1000 thousandths at most together, found 1200",
    ),
    (
        "{ discipline = \"cbq\", groups = [{ share_permille = 600 }], classes = [{ group = 1, share_permille = 600 }] }",
        "link.queue.classes",
        "expected a group below 1, the number of groups, found 1",
    ),
    (
        "{ discipline = \"cbq\", groups = [{ group = 0, share_permille = 600 }] }",
        "link.queue.groups",
        "expected a group to come after the one that it is in, found group 0",
    ),
    (
        "{ discipline = \"cbq\", classes = [{ share_permille = 600, priority = 8 }] }",
        "link.queue.classes[0].priority",
        "expected 0 to 7, found 8",
    ),
    ("{ discipline = \"cbq\", weight = 1 }", "link.queue.weight", "expected more than 0 and less than 1, found 1"),
];

#[test]
fn what_cannot_be_a_discipline_is_told_with_line_field_and_reason() {
    for (value, field, message) in BAD {
        let error = with(&format!("queue = {value}")).expect_err(value).to_string();
        assert_eq!(error, format!("dir/mine.toml:6: {field}: {message}"), "{value}");
    }
}
