//! The processes of a run: see [`crate::traffic`] for what is said to them.

use super::commands;
use super::foreign::Foreign;
use super::network::Hosts;
use super::policies::Policies;
use crate::error::Result;
use crate::host::cgroup::Cgroup;
use crate::host::process::Start;
use crate::host::talker::Talker;
use crate::traffic::{
    Arrival, End, FIRST_PORT, FetchReport, ReceiveReport, SendReport, Transfer, UdpCount, UdpSendReport,
};
use ccactl_link::Nanos;
use ccactl_scenario::{Direction, FlowSpec, Scenario};
use ccactl_split::Tally;
use std::path::Path;
use std::time::Duration;

/// The process or the processes of a flow, other than the common receiver.
enum Flow {
    /// Opens the connections and sends.
    Upload(Talker),
    /// The one that sends, in the flow's cgroup, and the one that opens the connections.
    Download { server: Talker, client: Talker },
    /// What the scenario names.
    Foreign(Box<Foreign>),
}

/// What the processes told at the end.
#[derive(Debug, Clone)]
pub struct Reports {
    /// By flow.
    pub flows: Vec<FlowReport>,
    /// By UDP source.
    pub udp: Vec<(UdpSendReport, UdpCount)>,
}

/// What the ends of a flow told.
#[derive(Debug, Clone, Default)]
pub struct FlowReport {
    /// The sending end; none for a command.
    pub sent: Option<SendReport>,
    /// Payload that the receiving end got.
    pub received_bytes: u64,
    /// Each connection of the built-in traffic, in order.
    pub transfers: Vec<Transfer>,
}

/// Where processes run.
#[derive(Clone, Copy)]
pub struct Places<'a> {
    /// Namespaces.
    pub hosts: &'a Hosts,
    /// By flow: those of the sending ends.
    pub cgroups: &'a [Cgroup],
    /// Of all other ends.
    pub ends: &'a Cgroup,
    /// Algorithms of both ends.
    pub policies: &'a Policies<'a>,
}

/// All processes of a run.
pub struct Children {
    receiver: Talker,
    proxy: Option<Talker>,
    flows: Vec<Flow>,
    udp: Vec<Talker>,
}

impl Children {
    /// Starts them and waits until all are ready. `program` is the `ccactl` binary.
    pub fn start(program: &Path, scenario: &Scenario, places: Places<'_>) -> Result<Children> {
        let Places { hosts: Hosts { hosts, server, proxy }, cgroups, ends, policies } = places;
        let kernel_names = &policies.kernel_names;
        let start = |name: &str, end: End, netns, cgroup| {
            Talker::start(name, &end, Start { program, netns, cgroup: Some(cgroup) })
        };
        let mut receiver = start("receiver", commands::receive(scenario, kernel_names), server, ends)?;
        receiver.wait_ready()?;
        let proxy = proxy.iter().zip(&scenario.proxies).next().map(|(netns, spec)| {
            let mut talker = start(&spec.name, commands::proxy(spec, scenario), netns, ends)?;
            talker.wait_ready().map(|()| talker)
        });
        let proxy = proxy.transpose()?;
        let mut flows = Vec::new();
        for (i, (flow, cgroup)) in scenario.flows.iter().zip(cgroups).enumerate() {
            let (name, port) = (&flow.name, FIRST_PORT + i as u16);
            flows.push(match (&flow.command, flow.direction) {
                (Some(words), _) => Flow::Foreign(Box::new(Foreign::new(program, flow, words, port))),
                (None, Direction::Upload) => Flow::Upload(start(name, commands::send(flow, port), &hosts[i], cgroup)?),
                (None, Direction::Download) => {
                    let mut sender = start(name, commands::serve(flow, port), server, cgroup)?;
                    // It listens by then.
                    sender.wait_ready()?;
                    let fetch = commands::fetch(flow, port, &kernel_names[i]);
                    Flow::Download {
                        server: sender,
                        client: start(name, fetch, &hosts[i], policies.client(i).unwrap_or(ends))?,
                    }
                }
            });
        }
        let mut udp = Vec::new();
        for (i, source) in (scenario.flows.len()..).zip(&scenario.udp) {
            let send = commands::udp(source, &scenario.link, FIRST_PORT + i as u16);
            udp.push(start(&source.name, send, &hosts[i], ends)?);
        }
        for flow in &mut flows {
            match flow {
                Flow::Upload(talker) | Flow::Download { client: talker, .. } => talker.wait_ready()?,
                Flow::Foreign(_) => {}
            }
        }
        udp.iter_mut().try_for_each(Talker::wait_ready)?;
        Ok(Children { receiver, proxy, flows, udp })
    }

    /// Whether all of them but commands of the scenario run with real-time priority.
    #[must_use]
    pub fn are_realtime(&self) -> bool {
        let flows = self.flows.iter().all(|flow| match flow {
            Flow::Upload(talker) => talker.is_realtime(),
            Flow::Download { server, client } => server.is_realtime() && client.is_realtime(),
            Flow::Foreign(_) => true,
        });
        let proxy = self.proxy.as_ref().is_none_or(Talker::is_realtime);
        flows && proxy && self.receiver.is_realtime() && self.udp.iter().all(Talker::is_realtime)
    }

    /// Begins the run at `t0`.
    pub fn go(&mut self, t0: Nanos) -> Result<()> {
        self.receiver.go(t0)?;
        self.proxy.as_mut().map_or(Ok(()), |proxy| proxy.go(t0))?;
        self.udp.iter_mut().try_for_each(|talker| talker.go(t0))?;
        self.flows.iter_mut().try_for_each(|flow| match flow {
            Flow::Upload(talker) => talker.go(t0),
            Flow::Download { server, client } => server.go(t0).and_then(|()| client.go(t0)),
            Flow::Foreign(_) => Ok(()),
        })
    }

    /// Starts and stops commands whose time has come and looks for processes that ended in a failure; to be
    /// called every few hundredths of a second. `elapsed` is the time since the beginning of the run.
    pub fn attend(&mut self, elapsed: Duration, places: Places<'_>) -> Result<()> {
        for (i, flow) in self.flows.iter_mut().enumerate() {
            match flow {
                Flow::Foreign(foreign) => foreign.attend(elapsed, &places.hosts.hosts[i], &places.cgroups[i])?,
                Flow::Upload(talker) => talker.check_running()?,
                Flow::Download { server, client } => server.check_running().and_then(|()| client.check_running())?,
            }
        }
        self.proxy.as_mut().map_or(Ok(()), Talker::check_running)?;
        self.udp.iter_mut().try_for_each(Talker::check_running)
    }

    /// Collects the reports after the end of the run that began at `t0`.
    pub fn finish(mut self, scenario: &Scenario, t0: Nanos) -> Result<Reports> {
        let mut flows = Vec::new();
        for flow in &mut self.flows {
            flows.push(match flow {
                Flow::Upload(sender) => FlowReport { sent: Some(sender.report()?), ..FlowReport::default() },
                Flow::Download { server, client } => download(server, client)?,
                Flow::Foreign(_) => FlowReport::default(),
            });
        }
        let udp_sent = self.udp.iter_mut().map(Talker::report).collect::<Result<Vec<UdpSendReport>>>()?;
        // Commands are killed here; what they have sent is still on its way for an instant.
        drop(self.flows);
        drop(self.udp);
        self.proxy.as_mut().map_or(Ok(()), check_proxy)?;
        self.receiver.hang_up();
        let received: ReceiveReport = self.receiver.report()?;
        for ((report, flow), arrivals) in flows.iter_mut().zip(&scenario.flows).zip(&received.arrivals) {
            if flow.direction == Direction::Upload {
                upload(report, flow, arrivals, t0);
            }
        }
        let udp = udp_sent.into_iter().zip(received.udp).collect();
        Ok(Reports { flows, udp })
    }
}

/// A run in which the proxy did not do its part must not look like one in which it did.
fn check_proxy(proxy: &mut Talker) -> Result<()> {
    proxy.hang_up();
    let tally: Tally = proxy.report()?;
    let failed = tally.failures.named().into_iter().map(|(name, count)| format!("{count} {name}"));
    let failed: Vec<String> = failed.collect();
    if tally.connections == 0 {
        return Err(proxy.fault("expected connections to pass it, found none"));
    }
    if failed.is_empty() {
        return Ok(());
    }
    let all = tally.connections;
    Err(proxy.fault(format!("expected all of {all} connections to be split, found {}", failed.join(", "))))
}

fn download(server: &mut Talker, client: &mut Talker) -> Result<FlowReport> {
    let FetchReport { transfers } = client.report()?;
    let received_bytes = transfers.iter().map(|transfer| transfer.bytes).sum();
    Ok(FlowReport { sent: Some(server.report()?), received_bytes, transfers })
}

/// Adds what the receiving end says. The connections of a flow follow one another, so both ends count them alike.
fn upload(report: &mut FlowReport, flow: &FlowSpec, arrivals: &[Arrival], t0: Nanos) {
    report.received_bytes = arrivals.iter().map(|arrival| arrival.bytes).sum();
    let Some(sent) = &report.sent else { return };
    let mut arrivals = arrivals.iter();
    report.transfers = sent.opened.clone();
    for transfer in report.transfers.iter_mut().filter(|transfer| transfer.connect_us.is_some()) {
        let Some(arrival) = arrivals.next() else { break };
        transfer.bytes = arrival.bytes;
        let complete = flow.bytes == Some(arrival.bytes);
        transfer.completion_us = complete.then(|| transfer.micros_to(arrival.last_at.saturating_sub(t0)));
    }
}
