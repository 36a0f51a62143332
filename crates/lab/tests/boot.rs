//! Guests that are really booted, with the example `guest` as their program.

mod needs;

use ccactl_lab::{End, Error, GuestCommand, Lab, Results, Task};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// One machine at a time: the clock of one does not care, the host of two does.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn lab() -> Option<Lab> {
    needs::kernel("6.1").map(|kernel| Lab { memory_mib: 512, ..needs::lab(kernel, needs::built("examples/guest")) })
}

fn command(words: &[&str]) -> GuestCommand {
    GuestCommand { arguments: words.iter().map(ToString::to_string).collect(), limit_s: 60 }
}

fn run(lab: &Lab, commands: Vec<GuestCommand>) -> Result<Results, Error> {
    lab.run(&Task { files: Vec::new(), commands }, &std::env::temp_dir(), &AtomicBool::new(false))
}

#[test]
fn two_guests_of_the_instruction_clock_do_the_same_at_the_same_nanosecond() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(lab) = lab() else { return };
    let first = run(&lab, vec![command(&["see"]), command(&["see"])]).unwrap();
    let second = run(&lab, vec![command(&["see"]), command(&["see"])]).unwrap();
    assert_eq!(first.outcome.commands[0].end, End::Exited(7), "the code of a command is kept");
    assert_eq!(first.outcome.release, lab.kernel.release);
    let seen = first.stdout(0).unwrap();
    assert!(seen.contains("westwood") && seen.contains("bbr"), "the kernel's modules are loaded: {seen}");
    assert!(seen.ends_with("true\n"), "/dev/net/tun is there: {seen}");
    // The time in ns, hash seeds, random numbers and addresses among them.
    assert_eq!(seen, second.stdout(0).unwrap());
    assert_eq!(first.outcome, second.outcome);
    assert_ne!(seen, first.stdout(1).unwrap(), "time goes on and random numbers differ within one guest");
}

#[test]
fn a_guest_that_panics_shows_its_console() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(lab) = lab() else { return };
    let error = run(&lab, vec![command(&["panic"])]).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
    assert!(error.to_string().contains("Kernel panic - not syncing"), "{error}");
}
