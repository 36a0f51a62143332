//! The machine that a guest sees, as a command line of QEMU.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What the guest's clocks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Instructions, one per nanosecond; where the CPU would idle, time jumps to the next timer. One CPU. The same guest does the
    /// same at the same moments of its time, however busy the host is.
    Virtual,
    /// The host's time, two CPUs: faster, and nothing in it can be compared with another run.
    Host,
}

/// Beginning of the guest's calendar, whenever it runs.
const CALENDAR: &str = "2025-01-01T00:00:00";
/// Of QEMU's own generator, from which the guest's boot loader and firmware get random numbers.
const SEED: &str = "1";
/// An x86-64 CPU with what Rust's default target needs, and without an instruction that gives random numbers.
const CPU: &str = "Nehalem";

/// What every guest is booted with. `panic=-1` reboots at once, which ends QEMU.
const COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 mitigations=off";
/// What differs from boot to boot is left out: places of kernel and programs in memory, and random numbers of others than the
/// kernel itself. The kernel's generator lives on the timing of interrupts, which the instruction clock repeats. The time stamp
/// counter is the instruction counter; the kernel would doubt it where a jump over idle time looks like a fault.
const REPEATABLE: &str = "nokaslr norandmaps random.trust_cpu=off random.trust_bootloader=off tsc=reliable";
/// Kernel threads that look through the memory every few seconds, ten milliseconds long, and hit whatever is measured then.
const QUIET: &str = "transparent_hugepage=never damon_stat.enabled=N";

/// QEMU moves the time of an idle CPU to the next timer in a thread of its own. That thread may see that the CPU has halted before the
/// CPU's thread has accounted for its latest instructions (`icount_start_warp_timer`, softmmu/icount.c). The timer is then late by as
/// many nanoseconds, more often the busier the host is. Where QEMU records the run, a lock keeps the two threads apart
/// (`replay_mutex_lock`). The recording itself is of no use.
const RECORDING: &str = "rr=record,rrfile=/dev/null";

/// The disk for the results, which nothing touches before they are there. The firmware would: it asks a disk that it can use for its first
/// sector. QEMU answers from a thread of its own, and until then the guest's time goes on by as many instructions as the firmware
/// waits with. It cannot use a disk of virtio's first kind with a queue of more than 256 entries; Linux can. Without `ioeventfd` the CPU's own
/// thread serves the queue.
const DISK: &str = "virtio-blk-pci,drive=results,ioeventfd=off,disable-modern=on,queue-size=1024";

/// Files and size of a machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine<'a> {
    pub(crate) clock: Clock,
    pub(crate) memory_mib: u32,
    pub(crate) kernel: &'a Path,
    pub(crate) initramfs: &'a Path,
    /// Raw file of the disk for the results.
    pub(crate) disk: &'a Path,
    /// What the guest's console says; a file, so that no reader can slow the guest down.
    pub(crate) console: &'a Path,
    /// First argument of the program that is init.
    pub(crate) init_argument: &'a str,
}

impl Machine<'_> {
    /// Arguments of `qemu-system-x86_64`.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| all.extend(words.iter().map(OsString::from));
        // TCG always: a /dev/kvm that is there need not work, and counts no instructions.
        match self.clock {
            Clock::Virtual => {
                add(&["-accel", "tcg,thread=single", "-smp", "1"]);
                add(&["-icount", &format!("shift=0,sleep=off,{RECORDING}")]);
            }
            Clock::Host => add(&["-accel", "tcg,thread=multi", "-smp", "2"]),
        }
        add(&["-rtc", &format!("clock={},base={CALENDAR}", self.rtc_clock()), "-seed", SEED]);
        add(&["-cpu", CPU, "-M", "pc", "-m", &self.memory_mib.to_string()]);
        add(&["-nodefaults", "-no-user-config", "-display", "none", "-monitor", "none", "-no-reboot"]);
        let console = listed("file,id=console,path=", self.console);
        all.extend(["-chardev".into(), console, "-serial".into(), "chardev:console".into()]);
        all.extend(["-kernel".into(), self.kernel.into(), "-initrd".into(), self.initramfs.into()]);
        // A full host must be an error in the guest; QEMU's default is to stop it for ever.
        let drive = "if=none,id=results,format=raw,werror=report,rerror=report,file=";
        all.extend(["-drive".into(), listed(drive, self.disk)]);
        let command_line =
            format!("{COMMAND_LINE} {REPEATABLE} {QUIET} rdinit=/{} -- {}", crate::job::PROGRAM, self.init_argument);
        all.extend(["-device", DISK, "-append", &command_line].map(OsString::from));
        all
    }

    fn rtc_clock(&self) -> &'static str {
        match self.clock {
            Clock::Virtual => "vm",
            Clock::Host => "host",
        }
    }
}

/// A list of options that ends with a path; a comma within an option is written twice.
fn listed(options: &str, path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes().split(|byte| *byte == b',').collect::<Vec<_>>().join(&b",,"[..]);
    let mut list = OsString::from(options);
    list.push(OsStr::from_bytes(&bytes));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(clock: Clock) -> String {
        let path = Path::new;
        let machine = Machine {
            clock,
            memory_mib: 1024,
            kernel: path("/k,k"),
            initramfs: path("/i"),
            disk: path("/a,b/disk"),
            console: path("/c"),
            init_argument: "__guest",
        };
        machine.arguments().iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_instruction_clock_has_one_cpu_and_no_time_of_the_host() {
        let line = line(Clock::Virtual);
        for part in [
            "tcg,thread=single",
            "-smp 1",
            "-icount shift=0,sleep=off,rr=record",
            "clock=vm,base=2025-01-01",
            "-seed 1",
            "ioeventfd=off,disable-modern=on,queue-size=1024",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(!line.contains("thread=multi") && !line.contains("clock=host"), "{line}");
    }

    #[test]
    fn the_hosts_clock_has_two_cpus() {
        let line = line(Clock::Host);
        assert!(line.contains("tcg,thread=multi") && line.contains("-smp 2") && !line.contains("icount"), "{line}");
    }

    #[test]
    fn init_is_the_program_with_its_argument_and_a_comma_of_a_list_is_escaped() {
        let line = line(Clock::Virtual);
        assert!(line.ends_with("rdinit=/ccactl -- __guest"), "{line}");
        assert!(line.contains("file=/a,,b/disk") && line.contains("-kernel /k,k "), "{line}");
    }
}
