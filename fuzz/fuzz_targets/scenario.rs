//! A scenario, as `ccactl bench` and the suites read it. What is accepted can be written out and read again, and the link model
//! takes every link of every cell.

#![no_main]

use ccactl_link::Link;
use ccactl_scenario::{Scenario, ScenarioFile};
use libfuzzer_sys::fuzz_target;

const ORIGIN: &str = "fuzz.toml";

fuzz_target!(|text: &str| {
    let file = match ScenarioFile::parse(ORIGIN, text, &[]) {
        Ok(file) => file,
        Err(error) => return assert!(!error.to_string().contains('\n'), "more than one line: {error}"),
    };
    for cell in file.cells() {
        let again = Scenario::parse(ORIGIN, &cell.scenario.to_toml()).expect("the resolved form is a scenario");
        assert_eq!(again, cell.scenario);
        for (_, link) in cell.scenario.links() {
            let _taken = Link::<()>::new(link.config(1));
        }
    }
});
