//! From an error to the exit code of docs: the library that made the error knows its code.

use ccactl_abi::exit;

/// Exit code for an error chain: the first library error in it decides.
pub fn code_of(error: &anyhow::Error) -> u8 {
    let code = |cause: &(dyn std::error::Error + 'static)| {
        let loader = || cause.downcast_ref::<ccactl_loader::Error>().map(ccactl_loader::Error::exit_code);
        let collector = || cause.downcast_ref::<ccactl_collector::Error>().map(ccactl_collector::Error::exit_code);
        let report = || cause.downcast_ref::<ccactl_report::Error>().map(ccactl_report::Error::exit_code);
        let rollout =
            || cause.downcast_ref::<ccactl_observe::rollout::Error>().map(ccactl_observe::rollout::Error::exit_code);
        let testbed = || cause.downcast_ref::<ccactl_testbed::Error>().map(ccactl_testbed::Error::exit_code);
        let suites = || cause.downcast_ref::<ccactl_suites::Error>().map(ccactl_suites::Error::exit_code);
        let lab = || cause.downcast_ref::<ccactl_lab::Error>().map(ccactl_lab::Error::exit_code);
        let exporter = || {
            let bounds = cause
                .downcast_ref::<ccactl_observe::metrics::BoundsError>()
                .map(ccactl_observe::metrics::BoundsError::exit_code);
            bounds.or_else(|| {
                cause.downcast_ref::<ccactl_observe::metrics::Error>().map(ccactl_observe::metrics::Error::exit_code)
            })
        };
        let live = || {
            cause
                .downcast_ref::<ccactl_observe::live::screen::Error>()
                .map(ccactl_observe::live::screen::Error::exit_code)
        };
        let fleet = || {
            let file =
                cause.downcast_ref::<ccactl_loader::fleet::FileError>().map(ccactl_loader::fleet::FileError::exit_code);
            file.or_else(|| {
                cause.downcast_ref::<ccactl_loader::fleet::Error>().map(ccactl_loader::fleet::Error::exit_code)
            })
        };
        let measuring = || collector().or_else(report).or_else(live).or_else(exporter);
        loader().or_else(measuring).or_else(rollout).or_else(testbed).or_else(suites).or_else(fleet).or_else(lab)
    };
    error.chain().find_map(code).unwrap_or(exit::FAILURE)
}
