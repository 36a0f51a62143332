//! The processes of a run: one receiver, one sender per flow. See [`crate::traffic`] for what is said to them.

use super::dumbbell::Dumbbell;
use crate::emulator::address;
use crate::error::{Error, Result};
use crate::host::cgroup::Cgroup;
use crate::host::netns::Netns;
use crate::host::process::Process;
use crate::host::talker::Talker;
use crate::traffic::{
    Arrival, End, FIRST_PORT, ReceiveOptions, ReceiveReport, Schedule, SendOptions, SendReport, UdpCount, UdpSendOptions,
    UdpSendReport,
};
use ccactl_abi::{Algorithm, Family};
use ccactl_link::Nanos;
use ccactl_scenario::{FlowSpec, LinkSpec, Scenario, UdpSpec};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// IPv4 without options, and UDP.
const UDP_HEADER_BYTES: u32 = 20 + 8;

/// A flow whose process the scenario names.
struct Foreign {
    flow: FlowSpec,
    command: Command,
    process: Option<Process>,
    stopped: bool,
}

enum Sender {
    BuiltIn(Talker),
    Foreign(Box<Foreign>),
}

/// What the processes told at the end.
#[derive(Debug, Clone)]
pub struct Reports {
    /// By flow; none for a command.
    pub sent: Vec<Option<SendReport>>,
    /// Connections that arrived, by flow.
    pub arrivals: Vec<Vec<Arrival>>,
    /// By UDP source.
    pub udp: Vec<(UdpSendReport, UdpCount)>,
}

/// All processes of a run.
pub struct Children {
    receiver: Talker,
    senders: Vec<Sender>,
    udp: Vec<Talker>,
}

impl Children {
    /// Starts them and waits until all are ready. `program` is the `ccactl` binary.
    /// `kernel_names` are the algorithms of the flows as the kernel knows them.
    pub fn start(
        program: &Path,
        scenario: &Scenario,
        dumbbell: &Dumbbell,
        cgroups: &[Cgroup],
        kernel_names: &[String],
    ) -> Result<Children> {
        let mut receive = receiving(program, scenario, kernel_names);
        let mut receiver = Talker::start("receiver", &mut receive, dumbbell.receiver(), None)?;
        receiver.wait_ready()?;
        let mut senders = Vec::new();
        for (i, (flow, cgroup)) in scenario.flows.iter().zip(cgroups).enumerate() {
            let port = FIRST_PORT + i as u16;
            senders.push(match &flow.command {
                None => {
                    let mut send = built_in(program, flow, port);
                    Sender::BuiltIn(Talker::start(&flow.name, &mut send, dumbbell.sender(i), Some(cgroup))?)
                }
                Some(words) => Sender::Foreign(Box::new(Foreign {
                    flow: flow.clone(),
                    command: foreign(words, port),
                    process: None,
                    stopped: false,
                })),
            });
        }
        let mut udp = Vec::new();
        for (i, source) in (scenario.flows.len()..).zip(&scenario.udp) {
            let mut send = udp_source(program, source, &scenario.link, FIRST_PORT + i as u16);
            udp.push(Talker::start(&source.name, &mut send, dumbbell.sender(i), None)?);
        }
        let built_in = senders.iter_mut().filter_map(|sender| match sender {
            Sender::BuiltIn(talker) => Some(talker),
            Sender::Foreign(_) => None,
        });
        built_in.chain(&mut udp).try_for_each(Talker::wait_ready)?;
        Ok(Children { receiver, senders, udp })
    }

    /// Begins the run at `t0`.
    pub fn go(&mut self, t0: Nanos) -> Result<()> {
        self.receiver.go(t0)?;
        self.udp.iter_mut().try_for_each(|talker| talker.go(t0))?;
        self.senders.iter_mut().try_for_each(|sender| match sender {
            Sender::BuiltIn(talker) => talker.go(t0),
            Sender::Foreign(_) => Ok(()),
        })
    }

    /// Starts and stops commands whose time has come and looks for processes that ended in a failure; to be
    /// called every few hundredths of a second. `elapsed` is the time since the beginning of the run.
    pub fn attend(&mut self, elapsed: Duration, dumbbell: &Dumbbell, cgroups: &[Cgroup]) -> Result<()> {
        for (i, sender) in self.senders.iter_mut().enumerate() {
            match sender {
                Sender::Foreign(foreign) => foreign.attend(elapsed, dumbbell.sender(i), &cgroups[i])?,
                Sender::BuiltIn(talker) => talker.check_running()?,
            }
        }
        self.udp.iter_mut().try_for_each(Talker::check_running)
    }

    /// Collects the reports after the end of the run.
    pub fn finish(mut self) -> Result<Reports> {
        let mut sent = Vec::new();
        for sender in &mut self.senders {
            sent.push(match sender {
                Sender::BuiltIn(talker) => Some(talker.report()?),
                Sender::Foreign(_) => None,
            });
        }
        let udp_sent = self.udp.iter_mut().map(Talker::report).collect::<Result<Vec<UdpSendReport>>>()?;
        // Commands are killed here; what they have sent is still on its way for an instant.
        drop(self.senders);
        drop(self.udp);
        self.receiver.hang_up();
        let received: ReceiveReport = self.receiver.report()?;
        let udp = udp_sent.into_iter().zip(received.udp).collect();
        Ok(Reports { sent, arrivals: received.arrivals, udp })
    }
}

impl Foreign {
    fn attend(&mut self, elapsed: Duration, netns: &Netns, cgroup: &Cgroup) -> Result<()> {
        if self.stopped {
            return Ok(());
        }
        if elapsed >= self.flow.stop.into() {
            self.process = None;
            self.stopped = true;
            // The command may have children of its own.
            return cgroup.kill();
        }
        if self.process.is_none() && elapsed >= self.flow.start.into() {
            self.process = Some(Process::spawn(&mut self.command, netns, Some(cgroup))?);
        }
        let Some(process) = &mut self.process else { return Ok(()) };
        let ended = process.try_wait().map_err(Error::system("wait for a command"))?;
        match ended {
            None => Ok(()),
            Some(status) if status.success() => {
                self.stopped = true;
                Ok(())
            }
            Some(status) => Err(Error::Flow {
                flow: self.flow.name.clone(),
                message: format!("expected its command to run until its stop or to end well, found: {status}"),
            }),
        }
    }
}

/// A Linux listener refuses ECN to a SYN that carries ECT, as those of DCTCP and Prague do, unless its own algorithm asks
/// for ECN; and only such an algorithm echoes each mark once. So for these flows both ends run the same one.
fn receiving(program: &Path, scenario: &Scenario, kernel_names: &[String]) -> Command {
    let with_names = (0..).zip(&scenario.flows).zip(kernel_names);
    let algorithms = with_names
        .filter(|((_, flow), _)| needs_ecn(&flow.algorithm))
        .map(|((port, _), name)| (port, name.clone()))
        .collect();
    let options = ReceiveOptions {
        address: address::RECEIVER,
        first_port: FIRST_PORT,
        ports: scenario.flows.len() as u16,
        udp_ports: scenario.udp.len() as u16,
        algorithms,
    };
    End::Receive(options).command(program)
}

fn needs_ecn(algorithm: &str) -> bool {
    let name = algorithm.strip_prefix("native:").unwrap_or(algorithm);
    Algorithm::by_name(name).is_some_and(|row| row.family == Family::Ecn)
}

fn udp_source(program: &Path, source: &UdpSpec, link: &LinkSpec, port: u16) -> Command {
    let first = (source.start.ns, source.rate.bps);
    let options = UdpSendOptions {
        to: SocketAddr::from((address::RECEIVER, port)),
        payload_bytes: (source.packet_bytes - UDP_HEADER_BYTES) as usize,
        packet_bytes: u64::from(source.packet_bytes + link.overhead_bytes),
        steps: std::iter::once(first).chain(source.steps.iter().map(|step| (step.at.ns, step.rate.bps))).collect(),
        stop_ns: source.stop.ns,
    };
    End::Udp(options).command(program)
}

fn built_in(program: &Path, flow: &FlowSpec, port: u16) -> Command {
    let to = SocketAddr::from((address::RECEIVER, port));
    let schedule = Schedule { start_ns: flow.start.ns, stop_ns: flow.stop.ns, transfers: Some(1), gap_ns: 0 };
    End::Send(SendOptions { to, schedule, bytes: flow.bytes }).command(program)
}

fn foreign(words: &[String], port: u16) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.env("CCACTL_SERVER", address::RECEIVER.to_string()).env("CCACTL_PORT", port.to_string());
    // Results are those of the recording; what the command prints would spoil the table.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}
