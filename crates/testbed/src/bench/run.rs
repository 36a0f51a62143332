//! One run of a scenario.

use super::children::{Children, Places, Reports};
use super::link_file;
use super::network::{Backend, Network};
use super::output::OutputDir;
use super::policies::Policies;
use super::recording::{self, Recording};
use super::result::{Measured, RunResult};
use super::swaps::{self, SwapResult, Swaps};
use super::warm_up::warm_up;
use super::{Event, Interrupt, Options};
use crate::clock;
use crate::error::{Error, Result};
use crate::host::cgroup::Cgroup;
use crate::host::cpu::{CpuMeter, CpuUse};
use crate::host::run_id::{PREFIX, RunId};
use crate::simulated;
use ccactl_link::Nanos;
use ccactl_loader::Loader;
use ccactl_report::RecordingSummary;
use ccactl_scenario::Scenario;
use std::path::Path;
use std::time::Duration;

/// How often flows, recorder and signals are looked at.
pub(super) const ATTENTION_NS: u64 = 50_000_000;
/// Between the command to start and the start, so that all flows have it in time.
pub(super) const LEAD_NS: u64 = 100_000_000;

/// Sets everything up, runs, takes everything down, evaluates.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    output: &OutputDir,
    run: u32,
    attempt: u32,
    interrupt: Interrupt<'_>,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<RunResult> {
    let name = if attempt == 1 { format!("run-{run}") } else { format!("run-{run}-attempt-{attempt}") };
    let folder = output.subdir(&name)?;
    let file = folder.join(recording::RECORDING_FILE);
    let measured = match options.backend {
        Backend::Simulator => {
            let mut show = |elapsed, rows| observe(Event::Running { elapsed, rows });
            simulated::measure(scenario, &file, run, interrupt, &mut show)?
        }
        Backend::Emulator | Backend::Netem | Backend::Bpf => {
            measure(scenario, options, &file, run, interrupt, observe)?
        }
    };
    interrupt.check()?;
    if !measured.carried.series.is_empty() {
        let names: Vec<_> = measured.carried.transmitters.iter().map(|of| (of.link.clone(), of.way)).collect();
        link_file::write(&folder, &names, &measured.carried.series)?;
    }
    let summary = recording::summarize(&file)?;
    check_commands(scenario, &measured, &summary)?;
    Ok(RunResult::new(scenario, &options.limits, (run, attempt, name), measured, summary))
}

/// Everything that needs the host. Locals are dropped in the reverse order, on errors and panics too: first the
/// processes, then the recorder, the policies, the cgroups, and last the network.
fn measure(
    scenario: &Scenario,
    options: &Options,
    file: &Path,
    run: u32,
    interrupt: Interrupt<'_>,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Measured> {
    let id = RunId::new();
    let loader = Loader::open()?.without_ect1();
    let mut network = Network::create(options.backend, id, scenario, run)?;
    let parent = Cgroup::create(loader.mount().path().join(format!("{PREFIX}-bench-{id}")))?;
    let cgroups =
        scenario.flows.iter().map(|flow| Cgroup::create(parent.path().join(&flow.name))).collect::<Result<Vec<_>>>()?;
    // Beside the flows' cgroups: what is below their parent is recorded.
    let ends = Cgroup::create(loader.mount().path().join(format!("{PREFIX}-bench-{id}-ends")))?;
    let policies = Policies::load(&loader, scenario, &parent, &cgroups)?;
    if let Some(length) = scenario.warm_up {
        let places = Places { hosts: network.hosts(), cgroups: &cgroups, ends: &ends, policies: &policies };
        warm_up(&options.program, scenario, length, places, interrupt)?;
        network = network.renewed(scenario, run)?;
    }
    let _ect1 = network.hosts().send_ect1(scenario)?;
    let recording = Recording::start(file, scenario, &loader, &parent, (&cgroups, policies.clients()))?;
    let places = Places { hosts: network.hosts(), cgroups: &cgroups, ends: &ends, policies: &policies };
    let mut children = Children::start(&options.program, scenario, places)?;
    interrupt.check()?;

    let soon = clock::now() + LEAD_NS;
    let t0 = options.phase_ns.map_or(soon, |phase| clock::at_phase(soon, phase));
    network.set_origin(t0);
    let ends_realtime = children.are_realtime();
    if !ends_realtime {
        tracing::warn!("no real-time priority for senders and receivers: other load on this host may lengthen RTTs");
    }
    children.go(t0)?;
    let mut swaps = Swaps::start(scenario, &cgroups, t0)?;
    sleep_until(t0, interrupt)?;
    // Not before: the kernel still clears away what was needed for loading.
    let cpu = CpuMeter::start(&[&parent, &ends]);
    let end = t0 + scenario.duration.ns;
    while clock::now() < end {
        sleep_until(end.min(clock::now() + ATTENTION_NS), interrupt)?;
        let elapsed = Duration::from_nanos(clock::now().saturating_sub(t0));
        children.attend(elapsed, places)?;
        swaps.check()?;
        if recording.has_ended() {
            recording.finish()?;
            return Err(Error::RecorderEnded { file: file.to_owned() });
        }
        observe(Event::Running { elapsed, rows: recording.rows() });
    }

    let cpu = cpu.read();
    // The last swap may still be under way.
    let swaps = swaps.finish()?;
    let reports = children.finish(scenario, t0)?;
    check_algorithms(scenario, &policies.kernel_names, &swaps, &reports)?;
    let recorded = recording.finish()?;
    let carried = network.finish()?;
    let cpu = CpuUse { ends_realtime, emulator_s: carried.emulator.as_ref().map(|emulator| emulator.cpu_s), ..cpu };
    let cgroup_ids = cgroups.iter().map(Cgroup::id).collect();
    let kernel_names = policies.kernel_names.clone();
    Ok(Measured { t0, carried, cpu, recorded, reports, cgroup_ids, kernel_names, swaps })
}

fn sleep_until(moment: Nanos, interrupt: Interrupt<'_>) -> Result<()> {
    std::thread::sleep(Duration::from_nanos(moment.saturating_sub(clock::now())));
    interrupt.check()
}

/// A flow that silently fell back to another algorithm must not appear in any table.
fn check_algorithms(scenario: &Scenario, at_start: &[String], swaps: &[SwapResult], reports: &Reports) -> Result<()> {
    let at_end = swaps::last_names(scenario, at_start, swaps);
    for (i, flow) in scenario.flows.iter().enumerate() {
        let Some(sent) = &reports.flows[i].sent else { continue };
        let fault = |when: &str, expected: &str, found: &str| {
            let message = format!("expected the congestion control {expected} {when}, found {found}");
            Err(Error::Flow { flow: flow.name.clone(), message })
        };
        let swapped = |name: &str| swaps.iter().any(|swap| swap.flow == flow.name && swap.now == name);
        for name in sent.algorithms.names() {
            // A swap soon after the start may come before the sender has looked.
            if *name != at_start[i] && !swapped(name) {
                return fault("at its start", &at_start[i], name);
            }
        }
        let last = sent.algorithms.names().last().map_or("none", String::as_str);
        if last != at_end[i] {
            return fault("at its end", &at_end[i], last);
        }
    }
    Ok(())
}

/// The same for commands: the testbed has none of their sockets in hand, so the recording has to tell.
fn check_commands(scenario: &Scenario, measured: &Measured, summary: &RecordingSummary) -> Result<()> {
    for (i, flow) in scenario.flows.iter().enumerate().filter(|(_, flow)| flow.command.is_some()) {
        let swapped = measured.swaps.iter().filter(|swap| swap.flow == flow.name).map(|swap| &swap.now);
        let given: Vec<&String> = std::iter::once(&measured.kernel_names[i]).chain(swapped).collect();
        for socket in summary.flows.iter().filter(|socket| socket.cgroup_id == measured.cgroup_ids[i]) {
            let later = socket.changes.iter().map(|change| &change.to_kernel_name);
            let mut names = std::iter::once(&socket.kernel_name).chain(later);
            if let Some(other) = names.find(|name| !given.contains(name)) {
                let message = format!(
                    "expected the congestion control {} on all sockets of its command, found {other} on {}: let the \
                     command choose none",
                    measured.kernel_names[i], socket.local
                );
                return Err(Error::Flow { flow: flow.name.clone(), message });
            }
        }
    }
    Ok(())
}
