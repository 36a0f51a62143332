//! From an error to the exit code of docs: the library that made the error knows its code.

use ccactl_abi::exit;

/// Exit code for an error chain: the first library error in it decides.
pub fn code_of(error: &anyhow::Error) -> u8 {
    // One line per library error type: `if let Some(e) = cause.downcast_ref::<loader::Error>() { return e.exit_code(); }`
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<ccactl_collector::Error>() {
            return error.exit_code();
        }
        if let Some(error) = cause.downcast_ref::<ccactl_loader::Error>() {
            return error.exit_code();
        }
        if let Some(error) = cause.downcast_ref::<ccactl_testbed::Error>() {
            return error.exit_code();
        }
    }
    exit::FAILURE
}
