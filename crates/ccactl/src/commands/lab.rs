//! `--lab`: a command in a guest of the virtual lab.

use super::carry_out::How;
use super::{bench_view, guest};
use crate::error::Result;
use ccactl_host::units::duration_text;
use ccactl_host::{err, errln, out, terminal};
use ccactl_lab::bench::{self, Bench};
use ccactl_lab::kernel::{Cache, Kernel, Request};
use ccactl_lab::{Clock, Lab, Qemu, Ran};
use ccactl_scenario::Scenario;
use ccactl_scenario::units::Span;
use ccactl_testbed::bench::OutputDir;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The guest's memory: the program, its files and a page cache for the recording, with room to spare.
pub const MEMORY_MIB: u32 = 1024;

/// A command other than a bench, in the guest's time in s, and in this host's.
const CALL_LIMIT_S: u64 = 600;
const CALL_LIMIT: Duration = Duration::from_secs(3600);

/// Where a command runs when not on this host.
#[derive(Debug, Clone)]
pub struct Place(Request);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kernel = match text.split_once(':') {
            None => ccactl_lab::kernel::DEFAULT,
            Some((_, kernel)) => kernel,
        };
        if text.split(':').next() != Some("vm") {
            return Err("expected vm or vm:KERNEL, such as vm:6.12 or vm:newest".to_owned());
        }
        kernel.parse().map(Place).map_err(|error: ccactl_lab::kernel::BadRequest| error.to_string())
    }
}

#[derive(clap::Args)]
pub struct Args {
    /// Run in the virtual lab, under a kernel of Debian's archive: a version such as 6.12, or newest
    #[arg(long, value_name = "vm[:KERNEL]")]
    lab: Option<Place>,
    /// Kernel of your own for the lab (bzImage)
    #[arg(long, value_name = "FILE", requires_all = ["lab", "modules"])]
    kernel_image: Option<PathBuf>,
    /// Its modules, such as /lib/modules/VERSION
    #[arg(long, value_name = "DIR", requires = "kernel_image")]
    modules: Option<PathBuf>,
    /// How long the guest may take in this host's time [default: by the scenario]
    #[arg(long, value_name = "TIME", requires = "lab")]
    lab_limit: Option<Span>,
}

impl Args {
    /// Whether a guest was asked for.
    pub fn is_asked_for(&self) -> bool {
        self.lab.is_some()
    }

    /// The words that ask for the same.
    pub fn words(&self) -> Vec<String> {
        let path = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone()).display().to_string();
        let pairs = [
            ("--lab", self.lab.as_ref().map(|Place(request)| format!("vm:{request}"))),
            ("--kernel-image", self.kernel_image.as_ref().map(path)),
            ("--modules", self.modules.as_ref().map(path)),
            ("--lab-limit", self.lab_limit.map(|limit| format!("{}ns", limit.ns))),
        ];
        pairs.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten().collect()
    }

    /// The kernel that was asked for, or else the default one, downloaded where it is not there yet.
    pub fn kernel(&self) -> ccactl_lab::Result<Kernel> {
        if let (Some(image), Some(modules)) = (&self.kernel_image, &self.modules) {
            return Kernel::own(image, modules);
        }
        let default = || Place(ccactl_lab::kernel::DEFAULT.parse().expect("a constant"));
        let Place(request) = self.lab.clone().unwrap_or_else(default);
        Cache::of_user()?.kernel(&request, &mut |line| errln!("{line}"))
    }

    /// Runs a scenario in a guest into a folder and shows what `ccactl bench` says there.
    pub fn carry_out(
        &self,
        scenario: &Scenario,
        folder: &Path,
        how: How,
        json: bool,
        interrupt: &AtomicBool,
    ) -> Result<ExitCode> {
        let output = OutputDir::prepare(folder)?;
        let kernel = self.kernel()?;
        let waiting = Waiting::begin(scenario, &kernel.release);
        let options: &[&str] = if json { &["--json"] } else { &[] };
        let ran = self.bench(&kernel, scenario, &output, how, options, interrupt)?;
        drop(waiting);
        Ok(show(&ran))
    }

    /// Runs a scenario in a guest into a folder.
    pub fn bench(
        &self,
        kernel: &Kernel,
        scenario: &Scenario,
        output: &OutputDir,
        how: How,
        options: &[&str],
        interrupt: &AtomicBool,
    ) -> ccactl_lab::Result<Ran> {
        let backend = how.backend.to_string();
        let phase = how.phase.map(|phase| format!("{}ns", phase.ns));
        let mut words = vec!["--link", &backend];
        if let Some(phase) = &phase {
            words.extend(["--start-phase", phase]);
        }
        words.extend(options);
        let lab = self.machine(kernel.clone(), bench::default_limit(scenario, how.attempts))?;
        let kernel_carries = how.backend.is_in_kernel();
        let bench = Bench { scenario, attempts: how.attempts, options: &words, kernel_carries, folder: output.path() };
        bench::run(&lab, bench, interrupt)
    }

    /// Runs one command of ccactl in a guest and shows what it says there.
    pub fn call(&self, arguments: &[&str], files: Vec<(String, Vec<u8>)>, interrupt: &AtomicBool) -> Result<ExitCode> {
        let ran = self.machine(self.kernel()?, CALL_LIMIT)?.call(arguments, files, CALL_LIMIT_S, interrupt)?;
        Ok(show(&ran))
    }

    fn machine(&self, kernel: Kernel, default_limit: Duration) -> ccactl_lab::Result<Lab> {
        let program = std::env::current_exe().map_err(|cause| ccactl_lab::Error::Program {
            path: "ccactl".into(),
            found: format!("no path to itself: {cause}"),
        })?;
        Ok(Lab {
            qemu: Qemu::of_user(),
            kernel,
            clock: Clock::Virtual,
            memory_mib: MEMORY_MIB,
            program,
            init_argument: guest::INIT.to_owned(),
            limit: self.lab_limit.map_or(default_limit, Into::into),
        })
    }
}

/// Told while a guest runs, of which nothing is heard until it ends.
struct Waiting(ProgressBar);

impl Waiting {
    fn begin(scenario: &Scenario, release: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        bench_view::hide_if_unwanted(&bar);
        let length = Duration::from(scenario.with_warm_up()) * scenario.repeat;
        let (name, length) = (&scenario.name, duration_text(length));
        let line =
            format!("{name}: {length} in the virtual lab, Linux {release}; here that takes twice as long or more");
        if bar.is_hidden() {
            terminal::note(&line);
        }
        bar.set_style(ProgressStyle::with_template("{spinner} {elapsed} {msg}").expect("a constant"));
        bar.set_message(terminal::fit_line(&line).into_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Waiting(bar)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn show(ran: &Ran) -> ExitCode {
    err!("{}", ran.stderr);
    out!("{}", ran.stdout);
    ExitCode::from(ran.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_machine_with_or_without_a_kernel() {
        let kernel = |text: &str| text.parse::<Place>().map(|Place(request)| request.to_string());
        assert_eq!(kernel("vm").as_deref(), Ok(ccactl_lab::kernel::DEFAULT));
        assert_eq!(kernel("vm:6.1").as_deref(), Ok("6.1"));
        assert_eq!(kernel("vm:newest").as_deref(), Ok("newest"));
        for bad in ["", "vn", "vm:", "vm:six", "6.1"] {
            assert!(kernel(bad).is_err(), "{bad:?}");
        }
    }
}
