//! The scenarios of the folder `scenarios/`: which there are, and that their sweeps are what the papers ran.

use ccactl_scenario::{Cell, Direction, LossSpec, Repeat, SHIPPED, Scenario, ScenarioFile, Variant};
use std::collections::BTreeSet;

/// Number of cells of the sweep, and of its quick version where there is one.
const CELLS: &[(&str, usize, Option<usize>)] = &[
    ("aca-cwnd", 2, Some(2)),
    ("aca-delivered", 2, Some(2)),
    ("aca-estimator", 1, Some(1)),
    ("aca-fairness", 4, Some(4)),
    ("aca-friendliness", 2, Some(2)),
    ("aca-loss", 8, Some(4)),
    ("aca-rtt", 9, Some(9)),
    ("aca-throughput", 8, Some(4)),
    ("aqm", 60, Some(30)),
    ("bbr-vs-cubic", 1, None),
    ("bbrv2-vs-cubic", 1, None),
    ("bufferbloat", 8, Some(8)),
    ("dctcp", 1, None),
    ("fbbrv2-beside", 16, Some(8)),
    ("fbbrv2-rtprop", 2, Some(2)),
    ("fbbrv2-single", 6, Some(6)),
    ("fbbrv2-staggered", 4, Some(2)),
    ("fbbrv2-timeline", 1, Some(1)),
    ("fbbrv2-vs-cubic", 18, Some(9)),
    ("interaction-late-joiner", 3, Some(3)),
    ("interaction-pairs", 42, Some(14)),
    ("interaction-rtt", 6, Some(6)),
    ("interaction-single", 12, Some(12)),
    ("l4s", 1, None),
    ("p4", 81, Some(4)),
    ("p4-upload", 44, Some(3)),
    ("rivals", 20, Some(10)),
    ("rmem-sweep", 14, Some(6)),
    ("single", 1, None),
    ("single-p1", 1, None),
    ("single-p1-loss", 1, None),
    ("single-small", 1, None),
    ("swap-bbr-cubic", 1, None),
    ("swap-tour", 1, None),
    ("wmem-sweep", 7, Some(3)),
];

fn open(name: &str) -> ScenarioFile {
    ScenarioFile::open(name, &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn cell(name: &str, id: &str) -> Scenario {
    let file = open(name);
    let found = file.cells().iter().find(|cell| cell.id == id);
    found.unwrap_or_else(|| panic!("{name} has no cell {id}")).scenario.clone()
}

#[test]
fn they_are_the_files_of_the_folder_and_have_so_many_cells() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        // The folders are those of evaluations.
        .filter(|path| path.is_file())
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert_eq!(SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect::<BTreeSet<_>>(), files);
    let found: Vec<_> = SHIPPED
        .iter()
        .map(|shipped| {
            let file = open(shipped.name);
            let quick = file.variant(Variant::Quick).unwrap().map(|quick| quick.cells().len());
            (shipped.name, file.cells().len(), quick)
        })
        .collect();
    assert_eq!(found, CELLS);
}

#[test]
fn the_resolved_form_of_every_cell_is_the_same_scenario() {
    let check = |cell: &Cell| {
        let again =
            Scenario::parse("resolved.toml", &cell.scenario.to_toml()).unwrap_or_else(|e| panic!("{}: {e}", cell.id));
        assert_eq!(again, cell.scenario, "{}", cell.id);
    };
    for shipped in SHIPPED {
        let file = open(shipped.name);
        assert_eq!(file.scenario.name, shipped.name, "the name is that of the file");
        file.cells().iter().for_each(check);
        file.variant(Variant::Quick).unwrap().iter().flat_map(ScenarioFile::cells).for_each(check);
    }
}

#[test]
fn a_quick_version_is_shorter_and_says_what_it_changes() {
    for shipped in SHIPPED {
        let file = open(shipped.name);
        let Some(quick) = file.variant(Variant::Quick).unwrap() else { continue };
        let seconds =
            |file: &ScenarioFile| file.cells().iter().map(|cell| cell.scenario.duration.secs_f64()).sum::<f64>();
        assert!(seconds(&quick) < seconds(&file) / 2.0, "{}", shipped.name);
        let changes = file.told_changes(Variant::Quick);
        assert!(changes.iter().any(|change| change.starts_with("duration = ")), "{}: {changes:?}", shipped.name);
    }
}

#[test]
fn buffers_and_rates_are_those_of_the_papers() {
    let buffer = |name: &str, id: &str| cell(name, id).link.buffer_bytes();
    assert_eq!(buffer("interaction-single", "buffer=5bdp,algorithm=veno"), 625_000);
    assert_eq!(buffer("interaction-pairs", "buffer=0.8bdp,pair=new-vegas+bbr"), 100_000);
    assert_eq!(buffer("fbbrv2-vs-cubic", "buffer=0.5bdp,algorithm=bbr"), 125_000);
    assert_eq!(buffer("fbbrv2-vs-cubic", "buffer=7bdp,algorithm=bbrv2"), 1_750_000);
    assert_eq!(buffer("bufferbloat", "buffer=2bdp,algorithm=reno"), 12_000);
    let p0 = cell("interaction-pairs", "buffer=5bdp,pair=vegas+veno");
    assert_eq!([&p0.flows[0].algorithm, &p0.flows[1].algorithm], ["vegas", "veno"]);
}

#[test]
fn the_links_of_p2_carry_five_thousand_packets_per_round_trip_and_queue_three_thousand() {
    for name in ["aca-cwnd", "aca-delivered", "aca-loss", "aca-fairness", "aca-throughput"] {
        let scenario = open(name).scenario;
        assert!(scenario.flows.iter().all(|flow| scenario.base_rtt(flow).ns == 100_000_000), "{name}");
        assert_eq!((scenario.link.bdp_bytes(), scenario.link.frame_bytes()), (5_000_000.0, 1000), "{name}");
        assert_eq!(scenario.link.buffer_bytes(), 3_000_000, "{name}");
        // The scaled version has the same ratio, and as much less of both as it says.
        let quick = open(name).variant(Variant::Quick).unwrap().unwrap().scenario;
        assert_eq!(quick.link.buffer_bytes() as f64 / quick.link.bdp_bytes(), 0.6, "{name}");
    }
    assert_eq!(cell("aca-loss", "loss=1e-7,algorithm=hstcp").link.loss, LossSpec::Random(1e-7));
    let ratio = |id: &str| {
        let scenario = cell("aca-rtt", id);
        scenario.base_rtt(&scenario.flows[1]).ns / scenario.base_rtt(&scenario.flows[0]).ns
    };
    assert_eq!(["1", "3", "6"].map(|n| ratio(&format!("algorithm=aca,ratio={n}"))), [1, 3, 6]);
}

#[test]
fn bufferbloat_has_two_uploads_and_a_download_that_repeats_over_the_stated_rtt() {
    for name in ["bufferbloat", "aqm"] {
        let scenario = open(name).scenario;
        assert!(scenario.flows.iter().all(|flow| Some(scenario.base_rtt(flow)) == scenario.link.bdp_rtt), "{name}");
        assert!(scenario.links().all(|(_, link)| link.duplex));
        let download = &scenario.flows[2];
        assert_eq!(
            (download.direction, download.bytes, download.repeat),
            (Direction::Download, Some(320_000), Repeat::UntilStop)
        );
        assert!(scenario.flows[..2].iter().all(|flow| flow.direction == Direction::Upload && flow.bytes.is_none()));
    }
}

#[test]
fn the_sweeps_of_p4_bound_the_phones_buffers() {
    let wifi = cell("rmem-sweep", "path=wifi,rmem=196608");
    assert_eq!((wifi.host("phone").rcvbuf_max, wifi.host("server").rcvbuf_max), (Some(196_608), None));
    assert!(wifi.link.wireless.is_some() && cell("rmem-sweep", "path=lte,rmem=2560000").link.wireless.is_none());
    assert_eq!(cell("wmem-sweep", "wmem=2560000").host("phone").sndbuf_max, Some(2_560_000));
}
