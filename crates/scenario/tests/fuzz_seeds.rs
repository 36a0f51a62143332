//! The seeds of the fuzzer, and what it found before: `cargo xtask fuzz scenario` goes on from these.

use ccactl_link::Link;
use ccactl_scenario::{SHIPPED, Scenario, ScenarioFile, Variant};
use std::fs;
use std::path::Path;

/// The name of a seed that must be accepted begins so.
const WHOLE: &str = "whole";

/// What is accepted can be written out and read again, and the link model takes it.
fn check(name: &str, file: &ScenarioFile) {
    for cell in file.cells() {
        let again = Scenario::parse(name, &cell.scenario.to_toml()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(again, cell.scenario, "{name}");
        for (_, link) in cell.scenario.links() {
            let _taken = Link::<()>::new(link.config(1));
        }
    }
}

#[test]
fn every_seed_is_a_scenario_or_refused_in_one_line() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/scenario");
    let mut whole = 0;
    for seed in fs::read_dir(&seeds).unwrap() {
        let seed = seed.unwrap();
        let name = seed.file_name().into_string().unwrap();
        // The fuzzer's own finds are bytes; whoever reads a scenario refuses those that are no text.
        let Ok(text) = fs::read_to_string(seed.path()) else { continue };
        match ScenarioFile::parse(&name, &text, &[]) {
            Ok(file) => {
                check(&name, &file);
                whole += usize::from(name.starts_with(WHOLE));
            }
            Err(error) => {
                assert!(!name.starts_with(WHOLE), "{name}: {error}");
                assert!(!error.to_string().contains('\n'), "{name}: {error}");
            }
        }
    }
    assert!(whole >= 10, "found {whole} in {}", seeds.display());
}

#[test]
fn the_link_model_takes_every_link_of_every_shipped_cell() {
    for shipped in SHIPPED {
        let file = ScenarioFile::parse(shipped.name, shipped.text, &[]).unwrap();
        check(shipped.name, &file);
        file.variant(Variant::Quick).unwrap().iter().for_each(|quick| check(shipped.name, quick));
    }
}
