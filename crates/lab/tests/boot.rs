//! Guests that are really booted, with the example `guest` as their program.

mod needs;

use ccactl_lab::{End, Error, GuestCommand, Lab, Results, Task};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// One machine at a time: the clock of one does not care, the host of two does.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn lab() -> Option<Lab> {
    needs::kernel("6.1").map(|kernel| Lab { memory_mib: 512, ..needs::lab(kernel, needs::built("examples/guest")) })
}

fn command(words: &[&str]) -> GuestCommand {
    GuestCommand { arguments: words.iter().map(ToString::to_string).collect(), limit_s: 60 }
}

fn run(lab: &Lab, commands: Vec<GuestCommand>) -> Result<Results, Error> {
    lab.run(&Task { commands, ..Task::default() }, &std::env::temp_dir(), &AtomicBool::new(false))
}

/// Meanwhile every core of the host has something else to do.
fn on_a_busy_host<R>(work: impl FnOnce() -> R) -> R {
    /// Ends the loops when `work` panics, too.
    struct Ended<'a>(&'a AtomicBool);
    impl Drop for Ended<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let ended = AtomicBool::new(false);
    let spin = || {
        while !ended.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(spin);
        }
        let _end = Ended(&ended);
        work()
    })
}

/// Side by side and beside loops, so that each disturbs what the other's threads do in the host's time. The naps are for the time of an
/// idle guest, which jumps to its next timer: that is where a busy host may show.
#[test]
fn guests_of_the_instruction_clock_repeat_themselves_to_the_nanosecond() {
    const GUESTS: usize = 3;
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(lab) = lab() else { return };
    let one = || run(&lab, vec![command(&["see"]), command(&["naps"]), command(&["see"])]).unwrap();
    let guests: Vec<Results> = on_a_busy_host(|| {
        std::thread::scope(|scope| {
            let guests: Vec<_> = (0..GUESTS).map(|_| scope.spawn(one)).collect();
            guests.into_iter().map(|guest| guest.join().unwrap()).collect()
        })
    });
    let told: Vec<String> =
        guests.iter().map(|results| (0..3).map(|command| results.stdout(command).unwrap()).collect()).collect();
    assert_eq!(guests[0].stdout(1).unwrap().lines().count(), 2, "the naps end: {}", guests[0].stdout(1).unwrap());
    let (first, second) = (guests[0].stdout(0).unwrap(), guests[0].stdout(2).unwrap());
    assert!(first.contains("westwood") && first.contains("bbr"), "the kernel's modules are loaded: {first}");
    assert!(first.ends_with("true\n"), "/dev/net/tun is there: {first}");
    assert_ne!(first, second, "time goes on and random numbers differ within one guest");
    for (results, told_by) in guests.iter().zip(&told) {
        assert!(results.repeatable, "QEMU asks the lab for the time of day");
        assert_eq!(results.outcome.commands[0].end, End::Exited(7), "the code of a command is kept");
        assert_eq!(results.outcome.release, lab.kernel.release);
        // The time in ns, hash seeds, random numbers and addresses among them.
        assert_eq!((told_by, &results.outcome), (&told[0], &guests[0].outcome));
    }
}

#[test]
fn a_guest_that_panics_shows_its_console() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Some(lab) = lab() else { return };
    let error = run(&lab, vec![command(&["panic"])]).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
    assert!(error.to_string().contains("Kernel panic - not syncing"), "{error}");
}
