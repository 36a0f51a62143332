//! Guests that are really booted, with the example `guest` as their program. They need QEMU and a kernel of the cache; where CI
//! is set a kernel is downloaded.

use ccactl_lab::kernel::{Cache, Kernel};
use ccactl_lab::{Clock, End, Error, GuestCommand, Lab, Qemu, Results, Task};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// One machine at a time: the clock of one does not care, the host of two does.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The kernel that the tests boot where the cache has none.
const KERNEL: &str = "6.12";

fn lab(clock: Clock) -> Option<Lab> {
    let is_ci = std::env::var("CI").as_deref() == Ok("true");
    let kernel = || -> ccactl_lab::Result<Option<Kernel>> {
        Qemu::of_user().version()?;
        let cache = Cache::of_user()?;
        if !is_ci && cache.releases().is_empty() {
            return Ok(None);
        }
        let newest = cache.releases().pop().unwrap_or_else(|| KERNEL.to_owned());
        cache.kernel(&newest.parse()?, &mut |line| eprintln!("{line}")).map(Some)
    };
    let kernel = match kernel() {
        Ok(kernel) => kernel,
        Err(error) if is_ci => panic!("{error}"),
        Err(error) => {
            eprintln!("not run: {error}");
            None
        }
    };
    let Some(kernel) = kernel else {
        eprintln!("not run: needs QEMU and a kernel in the cache");
        return None;
    };
    let test = std::env::current_exe().unwrap();
    let program: PathBuf = test.parent().unwrap().with_file_name("examples/guest");
    Some(Lab {
        qemu: Qemu::of_user(),
        kernel,
        clock,
        memory_mib: 512,
        program,
        init_argument: "__guest".to_owned(),
        // Far beyond what a boot takes on a busy host.
        limit: Duration::from_secs(300),
    })
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
    let Some(lab) = lab(Clock::Virtual) else { return };
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
    let Some(lab) = lab(Clock::Virtual) else { return };
    let error = run(&lab, vec![command(&["panic"])]).unwrap_err();
    assert!(matches!(error, Error::Panicked { .. }), "{error}");
    assert!(error.to_string().contains("Kernel panic - not syncing"), "{error}");
}
