//! One guest from its files to its results.

use crate::archive;
use crate::disk::{self, Content};
use crate::error::{Error, Result};
use crate::host_time::HostTime;
use crate::initramfs;
use crate::job::{self, GuestCommand, Job, Outcome};
use crate::kernel::Kernel;
use crate::machine::{Clock, Machine};
use crate::modules::{Module, ModuleTree};
use crate::program::Program;
use crate::qemu::{Ending, Qemu};
use crate::space;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Devices, and every congestion control that the kernel has as a module: guests of one kernel boot alike, whatever runs in them.
const MODULES: &[&str] = &[
    "tun",
    "tcp_bbr",
    "tcp_bic",
    "tcp_cdg",
    "tcp_cubic",
    "tcp_dctcp",
    "tcp_highspeed",
    "tcp_htcp",
    "tcp_hybla",
    "tcp_illinois",
    "tcp_lp",
    "tcp_nv",
    "tcp_scalable",
    "tcp_vegas",
    "tcp_veno",
    "tcp_westwood",
    "tcp_yeah",
];
/// What carries packets inside the kernel, for guests of which that is asked.
const CARRIER_MODULES: &[&str] = &["veth", "sch_netem", "sch_tbf", "sch_codel", "sch_fq_codel", "sch_pie"];
/// And what sets it up.
const CARRIER_TOOLS: &[&str] = &["ip", "tc"];
const DISK_MODULES: &[&str] = &["virtio_pci", "virtio_blk"];
/// The largest results; the file takes only what is written.
const DISK_BYTES: u64 = 4 << 30;
/// Room for the first file system and for ordinary results.
const SPACE_FOR_A_RUN: u64 = 512 << 20;
/// What a kernel says before it gives up (kernel/panic.c).
const PANIC: &str = "Kernel panic";
/// What it says before that, when it found a fault of its own (arch/x86/kernel/dumpstack.c, arch/x86/mm/fault.c).
const FAULTS: &[&str] = &["BUG: ", "Oops: "];
/// Lines of the console that an error shows.
const CONSOLE_LINES: usize = 30;

/// How guests are run.
#[derive(Debug, Clone)]
pub struct Lab {
    /// The emulator of the machine.
    pub qemu: Qemu,
    /// The guest's kernel.
    pub kernel: Kernel,
    /// The guest's time.
    pub clock: Clock,
    /// The guest's memory, which also holds its files, in MiB.
    pub memory_mib: u32,
    /// The program that is init: it must call [`crate::guest::main`] when started with `init_argument`.
    pub program: PathBuf,
    /// See `program`.
    pub init_argument: String,
    /// How long the guest may take in the host's time.
    pub limit: Duration,
}

/// What a guest is to do.
#[derive(Debug, Clone, Default)]
pub struct Task {
    /// Files that it finds: absolute path without the leading slash, and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// What it runs, one after the other.
    pub commands: Vec<GuestCommand>,
    /// Whether its kernel is to carry packets by itself: the guest then also has iproute2 of this host, and cables and queue
    /// disciplines of its kernel.
    pub kernel_carries: bool,
}

/// What came back.
#[derive(Debug)]
pub struct Results {
    /// How the commands ended.
    pub outcome: Outcome,
    /// Whether the same task gives the same again: the guest's clock is [`Clock::Virtual`], and QEMU took its time of day from the lab.
    pub repeatable: bool,
    folder: tempfile::TempDir,
}

impl Results {
    /// What the commands left in the guest's folder `/results`; it goes away with this value.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What command `index` printed on its standard output.
    ///
    /// # Errors
    /// [`Error::Results`].
    pub fn stdout(&self, index: usize) -> Result<String> {
        self.printed(index, "stdout")
    }

    /// What command `index` printed on its standard error.
    ///
    /// # Errors
    /// [`Error::Results`].
    pub fn stderr(&self, index: usize) -> Result<String> {
        self.printed(index, "stderr")
    }

    fn printed(&self, index: usize, stream: &str) -> Result<String> {
        let path = self.folder().join(job::PRINTED).join(job::printed(index, stream));
        fs::read(path)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|cause| Error::Results { cause })
    }
}

impl Lab {
    /// `uname -r` of its kernel.
    #[must_use]
    pub fn release(&self) -> &str {
        &self.kernel.release
    }

    /// Boots a guest, has it do its task, and takes its results, which are unpacked into a temporary folder inside `place`.
    ///
    /// # Errors
    /// Anything that keeps the results from coming back; how the commands ended is in the results.
    pub fn run(&self, task: &Task, place: &Path, interrupt: &AtomicBool) -> Result<Results> {
        let scratch = tempfile::Builder::new().prefix("ccactl-lab-").tempdir();
        let scratch =
            scratch.map_err(Error::image("cannot make a folder for the guest; TMPDIR names another place"))?;
        space::require(scratch.path(), SPACE_FOR_A_RUN, "TMPDIR")?;
        let (initramfs, disk) = (scratch.path().join("initramfs"), scratch.path().join("disk"));
        self.write_initramfs(task, &initramfs)?;
        disk::create(&disk, DISK_BYTES).map_err(Error::image("cannot make the disk for the results"))?;
        let console = scratch.path().join("console");
        let arguments = self.machine(&initramfs, &disk, &console).arguments();
        let host_time = match self.clock {
            Clock::Virtual => Some(
                HostTime::hide(scratch.path()).map_err(Error::image("cannot put down what is preloaded into QEMU"))?,
            ),
            Clock::Host => None,
        };
        let environment = host_time.iter().flat_map(HostTime::environment).collect::<Vec<_>>();
        let ending = self.qemu.run(&arguments, &environment, self.limit, interrupt)?;
        let results = self.results(&disk, ending, &console)?;
        let folder = tempfile::tempdir_in(place).map_err(|cause| Error::Results { cause })?;
        archive::unpack(results, folder.path()).map_err(|cause| Error::Results { cause })?;
        fs::read(folder.path().join(job::OUTCOME))
            .and_then(|text| Ok(serde_json::from_slice(&text)?))
            .map(|outcome| Results {
                outcome,
                repeatable: host_time.is_some_and(|host_time| host_time.is_hidden()),
                folder,
            })
            .map_err(|cause| Error::Results { cause })
    }

    fn machine<'a>(&'a self, initramfs: &'a Path, disk: &'a Path, console: &'a Path) -> Machine<'a> {
        Machine {
            clock: self.clock,
            memory_mib: self.memory_mib,
            kernel: &self.kernel.image,
            initramfs,
            disk,
            console,
            init_argument: &self.init_argument,
        }
    }

    /// Arguments of QEMU with names in the place of the files of a run.
    pub(crate) fn machine_words(&self) -> Vec<String> {
        let name = |name: &'static str| Path::new(name);
        let machine =
            Machine { kernel: name("vmlinuz"), ..self.machine(name("initramfs"), name("disk"), name("console")) };
        machine.arguments().iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    fn write_initramfs(&self, task: &Task, path: &Path) -> Result<()> {
        let program = Program::read(&self.program)?;
        let tree = ModuleTree::open(&self.kernel.modules)?;
        let names = |modules: &[Module]| modules.iter().map(|module| module.name.clone()).collect::<Vec<_>>();
        let (carrier, tools) = if task.kernel_carries { (CARRIER_MODULES, CARRIER_TOOLS) } else { Default::default() };
        let first = tree.in_load_order(&[MODULES, carrier].concat())?;
        let tools = tools.iter().map(|name| Ok((*name, Program::named(name)?))).collect::<Result<Vec<_>>>()?;
        let late = tree.in_load_order(DISK_MODULES)?;
        let job = Job { modules: names(&first), disk_modules: names(&late), commands: task.commands.clone() };
        let modules = [first, late].concat();
        let config = fs::read(&self.kernel.config)
            .map_err(Error::image(format!("configuration {}", self.kernel.config.display())))?;
        let config = (self.kernel.release.as_str(), config);
        let content = initramfs::Content {
            program: &program,
            tools: &tools,
            modules: &modules,
            job: &job,
            config,
            files: &task.files,
        };
        initramfs::write(&content, path)
    }

    fn results(&self, disk: &Path, ending: Ending, console: &Path) -> Result<std::io::Take<File>> {
        let release = self.kernel.release.clone();
        let console = last_lines(
            &fs::read(console).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default(),
        );
        if ending == Ending::Overdue {
            return Err(Error::Hung { release, limit: self.limit, console });
        }
        match disk::open(disk).map_err(|cause| Error::Results { cause })? {
            Content::Archive(archive) => Ok(archive),
            Content::Nothing if console.contains(PANIC) => Err(Error::Panicked { release, console }),
            Content::Nothing => Err(Error::NoResults { release, console }),
        }
    }
}

/// What a console said last; of a panic the fault that led to it, or the line that says why, which both come before long traces.
fn last_lines(console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains(PANIC));
    let fault = lines.iter().position(|line| FAULTS.iter().any(|fault| line.contains(fault)));
    let from = fault.or(panic).unwrap_or_else(|| lines.len().saturating_sub(CONSOLE_LINES));
    let until = lines.len().min(from + CONSOLE_LINES);
    let mut shown = lines[from..until].to_vec();
    shown.extend(panic.filter(|panic| *panic >= until).map(|panic| lines[panic]));
    if shown.is_empty() { "(it said nothing)".to_owned() } else { shown.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_panic_is_shown_though_its_trace_is_long() {
        let trace: String = (0..40).map(|i| format!("trace {i}\r\n")).collect();
        let shown = last_lines(&format!("booting\n\n[1.0] {PANIC} - not syncing: why\n{trace}"));
        assert!(shown.starts_with("[1.0] Kernel panic - not syncing: why\ntrace 0\n"), "{shown}");
        assert_eq!(shown.lines().count(), CONSOLE_LINES);
        let shown =
            last_lines(&format!("booting\n[1.0] BUG: kernel NULL pointer\n{trace}[1.1] {PANIC} - not syncing\n"));
        assert!(shown.starts_with("[1.0] BUG: kernel NULL pointer\ntrace 0\n"), "{shown}");
        assert!(shown.ends_with("[1.1] Kernel panic - not syncing"), "{shown}");
        assert!(last_lines(&trace).ends_with("trace 38\ntrace 39"));
        assert_eq!(last_lines("\n"), "(it said nothing)");
    }
}
