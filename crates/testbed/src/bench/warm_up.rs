//! What goes before a run whose hosts are to know the path. Each flow sends and closes in order: then the kernel keeps what it has
//! learnt (`tcp_update_metrics`, net/ipv4/tcp_metrics.c), and the next connection begins with it.

use super::children::Places;
use super::run::{ATTENTION_NS, LEAD_NS};
use super::{Interrupt, commands};
use crate::clock;
use crate::error::Result;
use crate::host::process::Start;
use crate::host::talker::Talker;
use crate::traffic::{End, FIRST_PORT, ReceiveReport, SendReport};
use ccactl_scenario::Scenario;
use ccactl_scenario::units::Span;
use std::path::Path;
use std::time::Duration;

/// All flows at once from the beginning, whenever they start in the run; no swaps and no UDP.
pub fn warm_up(
    program: &Path,
    scenario: &Scenario,
    length: Span,
    places: Places<'_>,
    interrupt: Interrupt<'_>,
) -> Result<()> {
    let kernel_names = &places.policies.kernel_names;
    let receive = commands::receive(scenario, kernel_names);
    let start =
        |name: &str, end: &End, netns, cgroup| Talker::start(name, end, Start { program, netns, cgroup: Some(cgroup) });
    let mut receiver = start("receiver", &receive, &places.hosts.server, places.ends)?;
    receiver.wait_ready()?;
    let mut senders = Vec::new();
    for (i, (flow, cgroup)) in scenario.flows.iter().zip(places.cgroups).enumerate() {
        let send = commands::warm_up(flow, FIRST_PORT + i as u16, length);
        senders.push(start(&flow.name, &send, &places.hosts.hosts[i], cgroup)?);
    }
    senders.iter_mut().try_for_each(Talker::wait_ready)?;
    let t0 = clock::now() + LEAD_NS;
    receiver.go(t0)?;
    senders.iter_mut().try_for_each(|sender| sender.go(t0))?;
    while clock::now() < t0 + length.ns {
        std::thread::sleep(Duration::from_nanos(ATTENTION_NS));
        interrupt.check()?;
        senders.iter_mut().try_for_each(Talker::check_running)?;
    }
    for sender in &mut senders {
        sender.report::<SendReport>()?;
    }
    receiver.hang_up();
    receiver.report::<ReceiveReport>()?;
    Ok(())
}
