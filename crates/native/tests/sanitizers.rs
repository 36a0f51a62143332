//! The sanitizers are at work: errors made on purpose, each in a process of its own, end that process.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use ccactl_native::{NAMES, Socket};

/// Names the error to the child process, which is this test binary again.
const FAULT: &str = "CCACTL_NATIVE_FAULT";
const SIGILL: i32 = 4;

/// Numbers of `enum cc_host_fault`: undefined behaviour, for which there is a trap in every build …
const UNDEFINED: [u32; 2] = [0, 1];
/// … and memory errors with what AddressSanitizer calls them: past the end of the socket, of the storage, of the private
/// state, before the private state, past the end of the rate sample.
const MEMORY: [(u32, &str); 5] = [
    (2, "heap-buffer-overflow"),
    (3, "heap-buffer-overflow"),
    (4, "use-after-poison"),
    (5, "use-after-poison"),
    (6, "heap-buffer-overflow"),
];

/// Not a test of its own: what the child runs.
#[test]
fn child() {
    let Ok(fault) = std::env::var(FAULT) else { return };
    let mut socket = Socket::checked(NAMES[0]).expect("there is an algorithm");
    // SAFETY: a process that was started for this.
    unsafe { socket.commit_fault(fault.parse().expect("a number")) };
    println!("survived");
}

fn run(fault: u32) -> Output {
    let this = std::env::current_exe().expect("a test knows its file");
    Command::new(this)
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(FAULT, fault.to_string())
        .output()
        .expect("the test binary starts")
}

fn survived(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("survived")
}

#[test]
fn a_process_without_an_error_survives() {
    let output = run(u32::MAX);
    assert!(output.status.success() && survived(&output), "{output:?}");
}

#[test]
fn undefined_behaviour_traps() {
    for fault in UNDEFINED {
        let output = run(fault);
        assert_eq!(output.status.signal(), Some(SIGILL), "fault {fault}: {output:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "asan"), ignore = "needs AddressSanitizer: --features asan")]
fn a_memory_error_is_reported_and_ends_the_process() {
    for (fault, name) in MEMORY {
        let output = run(fault);
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && !survived(&output), "fault {fault}: {output:?}");
        assert!(report.contains(&format!("AddressSanitizer: {name}")), "fault {fault}: {report}");
        assert!(report.contains("in cc_host_fault"), "the report names the function: {report}");
    }
}
