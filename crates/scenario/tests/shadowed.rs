//! A test of its own process, as it changes the working folder.

use ccactl_scenario::{ScenarioFile, Shipped};

#[test]
fn a_folder_does_not_hide_the_shipped_scenario_of_its_name_and_a_file_does() {
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    std::fs::create_dir("single").unwrap();
    let is_hidden = |name| Shipped::by_name(name).unwrap().is_hidden();
    assert!(ScenarioFile::open("single", &[]).is_ok() && !is_hidden("single"));
    std::fs::write("single-small", "nonsense").unwrap();
    assert!(ScenarioFile::open("single-small", &[]).is_err() && is_hidden("single-small"));
}
