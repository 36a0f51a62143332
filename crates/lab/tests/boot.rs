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

/// Now and then a guest is some nanoseconds off from its first tenths of a second on (docs/virtual-lab.md, "What is left"), but two that
/// agree in every nanosecond, random number and address are none of chance.
#[test]
fn guests_of_the_instruction_clock_repeat_themselves_to_the_nanosecond() {
    const GUESTS: usize = 5;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(lab) = lab() else { return };
    let mut seen: Vec<(String, ccactl_lab::Outcome)> = Vec::new();
    for _ in 0..GUESTS {
        let results = run(&lab, vec![command(&["see"]), command(&["see"])]).unwrap();
        assert_eq!(results.outcome.commands[0].end, End::Exited(7), "the code of a command is kept");
        assert_eq!(results.outcome.release, lab.kernel.release);
        let (first, second) = (results.stdout(0).unwrap(), results.stdout(1).unwrap());
        assert!(first.contains("westwood") && first.contains("bbr"), "the kernel's modules are loaded: {first}");
        assert!(first.ends_with("true\n"), "/dev/net/tun is there: {first}");
        assert_ne!(first, second, "time goes on and random numbers differ within one guest");
        // The time in ns, hash seeds, random numbers and addresses among them.
        let told = (first + &second, results.outcome.clone());
        if seen.contains(&told) {
            return;
        }
        seen.push(told);
    }
    panic!("none of {GUESTS} guests is like another: {seen:#?}");
}

#[test]
fn a_guest_that_panics_shows_its_console() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(lab) = lab() else { return };
    let error = run(&lab, vec![command(&["panic"])]).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
    assert!(error.to_string().contains("Kernel panic - not syncing"), "{error}");
}
