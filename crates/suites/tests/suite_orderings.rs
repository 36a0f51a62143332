//! Every ordering of every suite, on worlds that were not measured: it holds where it should, and each comparison in it
//! can fail.

mod common;

use ccactl_report::figure::paper::Width;
use ccactl_report::figure::plot::{Style, plot};
use ccactl_report::figure::{bars::bars, grid};
use ccactl_scenario::{SHIPPED, Scenario, ScenarioFile, Shipped, Variant};
use ccactl_suites::Cell;
use ccactl_suites::results::{Metric, Results};
use ccactl_suites::suite::{Kind, SUITES, Suite};
use ccactl_suites::verdict::Outcome;
use common::{world, worlds};

fn file(suite: &Suite) -> ScenarioFile {
    let shipped = Shipped::by_name(suite.name).unwrap_or_else(|| panic!("{}: no such scenario", suite.name));
    ScenarioFile::parse(&format!("{}.toml", shipped.name), shipped.text, &[]).unwrap()
}

fn cells(suite: &Suite) -> Vec<Cell> {
    file(suite).cells().to_vec()
}

fn ideal(suite: &Suite) -> Results {
    world::results(&cells(suite), suite.windows, worlds::of(suite.name))
}

#[test]
fn every_ordering_holds_in_its_world() {
    for suite in SUITES {
        let results = ideal(suite);
        assert!(!suite.orderings.is_empty(), "{}: a reproduction should show something", suite.name);
        for ordering in suite.orderings {
            let verdict = ordering.judge(&results);
            assert_eq!(verdict.outcome, Outcome::Holds, "{}: {}\n{:#?}", suite.name, verdict.text, verdict.evidence);
        }
    }
}

#[test]
fn every_comparison_of_every_ordering_can_fail() {
    for suite in SUITES {
        let results = ideal(suite);
        for ordering in suite.orderings {
            let claims = (ordering.claims)(&results);
            let mut failed = vec![false; claims.list().len()];
            for_each_change(&results, &mut |changed| {
                for (failed, claim) in failed.iter_mut().zip((ordering.claims)(changed).list()) {
                    *failed |= claim.outcome == Outcome::Fails;
                }
            });
            let never: Vec<_> = failed.iter().zip(claims.list()).filter(|(failed, _)| !**failed).collect();
            assert!(never.is_empty(), "{}: {}: no figure makes these fail: {never:#?}", suite.name, ordering.text);
        }
    }
}

/// Each figure of the world by itself, far down and far up.
fn for_each_change(results: &Results, judge: &mut dyn FnMut(&Results)) {
    let mut changed = results.clone();
    for cell in 0..results.cells.len() {
        let before = &results.cells[cell].runs[0];
        let parts: Vec<Option<&str>> =
            std::iter::once(None).chain(before.windows.keys().map(|name| Some(*name))).collect();
        for part in parts {
            for flow in 0..before.whole.flows.len() {
                // What a part has once is changed with its first flow.
                for metric in world::STORED.into_iter().filter(|metric| flow == 0 || metric.is_of_a_flow()) {
                    for value in [0.0, 0.01, 1e5, 1e9] {
                        let run = &mut changed.cells[cell].runs[0];
                        let part = match part {
                            None => &mut run.whole,
                            Some(name) => run.windows.get_mut(name).unwrap(),
                        };
                        world::set(part, flow, metric, value);
                        judge(&changed);
                        changed.cells[cell].runs[0].clone_from(before);
                    }
                }
            }
        }
    }
}

#[test]
fn an_ordering_without_its_cells_is_not_judged() {
    for suite in SUITES {
        for ordering in suite.orderings {
            let verdict = ordering.judge(&Results::default());
            assert_eq!(verdict.outcome, Outcome::NotMeasured, "{}: {}", suite.name, verdict.text);
            assert!(
                verdict
                    .evidence
                    .iter()
                    .all(|claim| claim.outcome == Outcome::NotMeasured && claim.text.contains("not measured")),
                "{:?}",
                verdict.evidence
            );
        }
    }
}

#[test]
fn what_speaks_against_an_ordering_decides_even_when_other_cells_are_missing() {
    let suite = SUITES.iter().find(|suite| suite.name == "aca-rtt").unwrap();
    let mut results = ideal(suite);
    results.cells.retain(|cell| cell.label("ratio") != Some("3"));
    let mildest = &suite.orderings[0];
    assert_eq!(mildest.judge(&results).outcome, Outcome::NotMeasured);
    let aca = results.cells.iter_mut().find(|cell| cell.has(&[("ratio", "6"), ("algorithm", "aca")])).unwrap();
    world::set(&mut aca.runs[0].whole, 0, Metric::Throughput, 1e4);
    let verdict = mildest.judge(&results);
    assert_eq!(verdict.outcome, Outcome::Fails);
    assert!(verdict.evidence[0].text.contains("6 aca 1000.00"), "the failure comes first: {:?}", verdict.evidence);
}

/// The world of a suite with further runs of one cell, each with another throughput of its first flow.
fn with_runs(suite: &Suite, labels: &[(&str, &str)], throughputs: &[f64]) -> Results {
    let mut results = ideal(suite);
    let cell = results.cells.iter_mut().find(|cell| cell.has(labels)).unwrap();
    let one = cell.runs[0].clone();
    cell.runs = vec![one; throughputs.len()];
    for (run, throughput) in cell.runs.iter_mut().zip(throughputs) {
        world::set(&mut run.whole, 0, Metric::Throughput, *throughput);
    }
    results
}

#[test]
fn an_ordering_within_the_interval_of_its_figures_is_undecided() {
    let suite = SUITES.iter().find(|suite| suite.name == "interaction-pairs").unwrap();
    let ordering = suite.orderings.iter().find(|ordering| ordering.text.starts_with("BBR starves Reno")).unwrap();
    let cell = [("buffer", "0.8bdp"), ("pair", "reno+bbr")];
    let judged = |throughputs: &[f64]| ordering.judge(&with_runs(suite, &cell, throughputs));
    // 20 Mbit/s is the limit.
    assert_eq!(judged(&[6.0, 7.0, 8.0]).outcome, Outcome::Holds);
    assert_eq!(judged(&[30.0, 31.0, 32.0]).outcome, Outcome::Fails);
    let verdict = judged(&[10.0, 18.0, 26.0]);
    assert_eq!(verdict.outcome, Outcome::Undecided);
    assert!(verdict.told().0[0].contains("18.00 ± 19.87 Mbit/s ≤ 20.00"), "{:?}", verdict.told());
    assert_eq!(judged(&[19.0]).outcome, Outcome::Holds, "one run has no interval");
}

#[test]
fn flows_of_one_cell_are_compared_run_by_run() {
    let suite = SUITES.iter().find(|suite| suite.name == "interaction-pairs").unwrap();
    let ordering = suite.orderings.iter().find(|ordering| ordering.text.starts_with("Veno loses to CUBIC")).unwrap();
    let labels = [("buffer", "5bdp"), ("pair", "cubic+veno")];
    // Both go up and down together, by much more than they are apart.
    let mut results = with_runs(suite, &labels, &[40.0, 60.0, 80.0]);
    let cell = results.cells.iter_mut().find(|cell| cell.has(&labels)).unwrap();
    for (run, throughput) in cell.runs.iter_mut().zip([38.0, 59.0, 78.0]) {
        world::set(&mut run.whole, 1, Metric::Throughput, throughput);
    }
    assert_eq!(ordering.judge(&results).outcome, Outcome::Holds);
}

#[test]
fn with_five_runs_what_a_single_one_might_have_given_is_near() {
    use ccactl_suites::compare::Mark;
    let suite = SUITES.iter().find(|suite| suite.name == "interaction-single").unwrap();
    let mark = |throughputs: &[f64]| {
        let results = with_runs(suite, &[("buffer", "5bdp"), ("algorithm", "reno")], throughputs);
        (suite.tables)(&results)[0].rows[0].entries[0].0[0].mark()
    };
    // Printed: 92.9.
    assert_eq!(mark(&[80.0]), Some(Mark::Off));
    assert_eq!(mark(&[70.0, 75.0, 80.0, 85.0]), Some(Mark::Off), "four are not enough");
    assert_eq!(mark(&[70.0, 75.0, 80.0, 85.0, 90.0]), Some(Mark::Near));
    assert_eq!(mark(&[79.0, 80.0, 80.0, 80.0, 81.0]), Some(Mark::Off));
}

#[test]
fn every_figure_in_print_finds_its_cell() {
    use ccactl_suites::compare::{SHEETS, sheet};
    let printed_of = |name: &str| {
        let suite = SUITES.iter().find(|suite| suite.name == name).unwrap();
        let tables = (suite.tables)(&ideal(suite));
        let entries = tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.entries);
        entries.flat_map(|entry| &entry.0).filter(|compared| compared.printed.is_some()).count()
    };
    // All numbers of a sheet: rows times columns that are not keys.
    let numbers = |name: &str, keys: usize| sheet(name).numbers(keys);
    assert_eq!(printed_of("interaction-single"), numbers("p0_single_flow", 2));
    // A matrix shows each pair of different algorithms twice.
    let (alike, different) = (2 * 6 * 9, 2 * 15 * 9);
    assert_eq!(numbers("p0_pairs", 3), alike + different);
    assert_eq!(printed_of("interaction-pairs"), alike + 2 * different);
    assert_eq!(printed_of("fbbrv2-single"), numbers("p1_single_flow", 2));
    assert_eq!(printed_of("fbbrv2-vs-cubic"), numbers("p1_vs_cubic", 2));
    assert_eq!(printed_of("aca-rtt"), numbers("p2_rtt_ratio", 2));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".csv")?.to_owned()))
        .collect();
    files.sort();
    assert_eq!(files, SHEETS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn tables_and_figures_refer_to_axes_that_the_scenario_has() {
    for suite in SUITES {
        let results = ideal(suite);
        for table in (suite.tables)(&results) {
            assert!(!table.rows.is_empty(), "{}: {}", suite.name, table.title);
            for row in &table.rows {
                assert!(row.names.iter().all(|name| name != "–"), "{}: {}: {:?}", suite.name, table.title, row.names);
                assert_eq!(row.entries.len(), table.columns.len(), "{}: {}", suite.name, table.title);
                for compared in row.entries.iter().flat_map(|entry| &entry.0) {
                    assert!(compared.measured.is_some(), "{}: {}: {:?}", suite.name, table.title, compared.metric);
                }
            }
        }
        let figures = (suite.figures)(&results);
        assert!(!figures.is_empty(), "{}: the paper has a figure", suite.name);
        let mut names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), figures.len(), "{}: two figures of one name", suite.name);
    }
}

/// With `CCACTL_DRAWINGS=DIR` they can be looked at.
#[test]
fn every_line_and_matrix_can_be_drawn_and_names_what_it_shows() {
    let folder = std::env::var_os("CCACTL_DRAWINGS").map(std::path::PathBuf::from);
    for suite in SUITES {
        for drawing in (suite.figures)(&ideal(suite)) {
            let (svg, names) = match &drawing.kind {
                Kind::OverTime { .. } | Kind::Across { .. } => continue,
                Kind::Bars(drawn) => {
                    let measured = drawn.lines.iter().filter(|line| line.style != Style::Printed);
                    let lines = measured.map(|line| line.name.clone());
                    (bars(drawn, Width::Single), drawn.groups.iter().cloned().chain(lines).collect())
                }
                Kind::Lines(lines) => {
                    (plot(lines, Width::Single), lines.lines.iter().map(|line| line.name.clone()).collect())
                }
                Kind::Matrix(matrix) => (grid(matrix, Width::Double), [&matrix.rows[..], &matrix.columns[..]].concat()),
            };
            assert!(!names.is_empty() && names.iter().all(|name| svg.contains(name.as_str())), "{}", drawing.name);
            if let Some(folder) = &folder {
                std::fs::write(folder.join(format!("{}-{}.svg", suite.name, drawing.name)), svg).unwrap();
            }
        }
    }
}

/// What happens within a run, in shares of its duration: a window of another share would be of something else.
fn moments(scenario: &Scenario) -> Vec<f64> {
    let starts = scenario.flows.iter().map(|flow| flow.start).chain(scenario.udp.iter().map(|udp| udp.start));
    let rates = scenario.udp.iter().flat_map(|udp| &udp.steps).chain(&scenario.link.rate_steps).map(|step| step.at);
    let delays = scenario.link.base_rtt_steps.iter().map(|step| step.at);
    let swaps = scenario.swaps.iter().map(|swap| swap.at);
    let moments = starts.chain(rates).chain(delays).chain(swaps);
    moments.map(|at| at.secs_f64() / scenario.duration.secs_f64()).collect()
}

#[test]
fn a_quick_run_has_its_windows_where_the_full_run_has_them() {
    for suite in SUITES.iter().filter(|suite| suite.windows.iter().any(|window| (window.from, window.to) != (0.0, 1.0)))
    {
        let file = file(suite);
        let quick = file
            .variant(Variant::Quick)
            .unwrap()
            .unwrap_or_else(|| panic!("{}: a suite has a quick version", suite.name));
        let (full, quick) = (moments(&file.scenario), moments(&quick.scenario));
        assert_eq!(full.len(), quick.len(), "{}", suite.name);
        let near = full.iter().zip(&quick).all(|(full, quick)| (full - quick).abs() < 1e-9);
        assert!(near, "{}: {full:?} of the full run, {quick:?} of the quick one", suite.name);
    }
}

#[test]
fn every_scenario_with_a_matrix_is_a_suite() {
    for shipped in SHIPPED {
        let file = ScenarioFile::parse(&format!("{}.toml", shipped.name), shipped.text, &[]).unwrap();
        let is_suite = SUITES.iter().any(|suite| suite.name == shipped.name);
        assert!(is_suite || file.axes.is_empty(), "{}", shipped.name);
    }
}
