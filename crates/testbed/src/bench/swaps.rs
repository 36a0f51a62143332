//! Changes of algorithm during a run, each at its time. They happen on a thread of their own: loading and moving may take
//! longer than the bench may leave its children unattended.

use super::policies::choice;
use crate::clock;
use crate::error::{Error, Result};
use crate::host::cgroup::Cgroup;
use ccactl_link::Nanos;
use ccactl_loader::{Counts, LoadRequest, Loader, SwapOutcome, SwapRequest};
use ccactl_scenario::{Scenario, SwapSpec};
use serde::Serialize;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// One swap of a run, as it went. Times are relative to the beginning of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SwapResult {
    /// Name of the flow.
    pub flow: String,
    /// Algorithm in the scenario.
    pub algorithm: String,
    /// As the kernel names it.
    pub kernel_name: String,
    /// Kernel name that new sockets of the flow got until then.
    pub from: String,
    /// When it was to happen.
    pub at_s: f64,
    /// When it began.
    pub started_s: f64,
    /// When every socket had been moved and read back.
    pub ended_s: f64,
    /// How long the pass over the sockets took.
    pub iteration_us: f64,
    /// What became of the flow's sockets.
    #[serde(flatten)]
    pub counts: Counts,
    /// Sockets that were to have the algorithm.
    pub sockets: u64,
    /// Those of them that were read back with it.
    pub verified: u64,
    /// Kernel name of what the flow has afterwards: the former one when it was refused.
    pub now: String,
}

/// A swap with everything that is needed for it.
struct Task {
    spec: SwapSpec,
    request: LoadRequest,
}

/// The swaps of a run; dropped, those that are still to come are left out.
pub struct Swaps {
    planned: usize,
    done: Vec<SwapResult>,
    /// Ends with the thread.
    results: Receiver<Result<SwapResult>>,
    /// Dropped to wake the thread before its next swap.
    go_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Swaps {
    /// Carries out the swaps of a run that begins at `t0`.
    pub fn start(scenario: &Scenario, cgroups: &[Cgroup], t0: Nanos) -> Result<Swaps> {
        let tasks = tasks(scenario, cgroups)?;
        let planned = tasks.len();
        let loader = Loader::open()?.without_ect1();
        let (go_on, wait) = channel::<()>();
        let (send, results) = channel();
        let work = move || {
            for task in tasks {
                let left = Duration::from_nanos((t0 + task.spec.at.ns).saturating_sub(clock::now()));
                if wait.recv_timeout(left) == Err(RecvTimeoutError::Disconnected) {
                    return;
                }
                let result = carry_out(&loader, &task, t0);
                let failed = result.is_err();
                if send.send(result).is_err() || failed {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("swaps".to_owned()).spawn(work);
        let thread = thread.map_err(Error::system("start the thread of the swaps"))?;
        Ok(Swaps { planned, done: Vec::new(), results, go_on: Some(go_on), thread: Some(thread) })
    }

    /// An error as soon as a swap has failed; to be called every few hundredths of a second.
    pub fn check(&mut self) -> Result<()> {
        for result in self.results.try_iter() {
            self.done.push(result?);
        }
        Ok(())
    }

    /// Waits for the last swap, which begins before the end of the run.
    pub fn finish(mut self) -> Result<Vec<SwapResult>> {
        for result in self.results.iter() {
            self.done.push(result?);
        }
        if self.done.len() < self.planned {
            return Err(Error::Panicked("the thread of the swaps"));
        }
        Ok(std::mem::take(&mut self.done))
    }
}

impl Drop for Swaps {
    fn drop(&mut self) {
        drop(self.go_on.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::warn!("the thread of the swaps ended with a panic; this is a fault of ccactl");
        }
    }
}

/// Kernel name of what each flow ends the run with: that of its last swap, or of its start.
pub fn last_names(scenario: &Scenario, at_start: &[String], swaps: &[SwapResult]) -> Vec<String> {
    let last = |name: &str| swaps.iter().rfind(|swap| swap.flow == name).map(|swap| swap.now.clone());
    scenario.flows.iter().zip(at_start).map(|(flow, start)| last(&flow.name).unwrap_or_else(|| start.clone())).collect()
}

fn tasks(scenario: &Scenario, cgroups: &[Cgroup]) -> Result<Vec<Task>> {
    let cgroup_of = |name: &str| {
        let index = scenario.flows.iter().position(|flow| flow.name == name).expect("checked with the scenario");
        cgroups[index].path()
    };
    let task = |spec: &SwapSpec| {
        let request = LoadRequest::new(choice(spec.wanted())?, cgroup_of(&spec.flow));
        Ok(Task { spec: spec.clone(), request })
    };
    scenario.swaps.iter().map(task).collect()
}

fn carry_out(loader: &Loader, task: &Task, t0: Nanos) -> Result<SwapResult> {
    let since_start = |at: Nanos| Duration::from_nanos(at.saturating_sub(t0)).as_secs_f64();
    let started = clock::now();
    let outcome = loader.swap(&SwapRequest::of(task.request.clone()))?;
    let ended = clock::now();
    check_moved(task, &outcome, Duration::from_nanos(started.saturating_sub(t0 + task.spec.at.ns)))?;
    let SwapOutcome { counts, verification, .. } = outcome;
    let stays = outcome.left.into_iter().next().map(|socket| socket.after);
    let arrived = counts.moved + counts.there > 0;
    Ok(SwapResult {
        flow: task.spec.flow.clone(),
        algorithm: task.spec.algorithm.clone(),
        now: stays.filter(|_| !arrived).unwrap_or_else(|| outcome.kernel_name.clone()),
        kernel_name: outcome.kernel_name,
        from: outcome.from,
        at_s: task.spec.at.secs_f64(),
        started_s: since_start(started),
        ended_s: since_start(ended),
        iteration_us: outcome.iteration.as_secs_f64() * 1e6,
        counts,
        sockets: verification.map_or(0, |verification| verification.sockets),
        verified: verification.map_or(0, |verification| verification.verified),
    })
}

/// A swap that reached no socket, or not all of them, makes the run worthless. One that the algorithm refused (dctcp and
/// prague do without ECN) is what happens to a user too: it is reported, not an error.
fn check_moved(task: &Task, outcome: &SwapOutcome, late: Duration) -> Result<()> {
    let counts = &outcome.counts;
    let fault = |found: String| {
        let message = format!("swap to {} at {}: expected {found}", task.spec.algorithm, task.spec.at);
        Err(Error::Flow { flow: task.spec.flow.clone(), message })
    };
    if !counts.failed.is_empty() {
        let answer = |(errno, n): (&i32, &u64)| format!("{n} x {}", io::Error::from_raw_os_error(*errno));
        let answers: Vec<String> = counts.failed.iter().map(answer).collect();
        return fault(format!("every socket to be moved, found failures: {}", answers.join(", ")));
    }
    if counts.moved + counts.there + counts.refused == 0 {
        return fault(format!(
            "a live socket to move, found none ({} chosen by the application, {} fixed by the route; it began {} ms late, \
             when the swaps before it had ended)",
            counts.application,
            counts.locked,
            late.as_millis()
        ));
    }
    match outcome.verification {
        Some(seen) if !seen.is_complete() => {
            fault(format!("{} sockets to read back {}, found {}", seen.sockets, outcome.kernel_name, seen.verified))
        }
        _ => Ok(()),
    }
}
