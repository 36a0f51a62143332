//! What happens in a run beside the packets: connections are opened, given another algorithm, and end.

use super::algorithm::{Algorithms, Simulated};
use super::check::TCP_ECN;
use super::watch::{Named, Nobody, Watch};
use crate::bench::{FlowReport, Interrupt, SwapResult, TCP_MEMORY_DEFAULT, application, sending_times, tcp_memory_max};
use crate::emulator::{Topology, address};
use crate::error::Result;
use crate::traffic::{FIRST_PORT, Transfer};
use ccactl_abi::EcnNeed;
use ccactl_link::Nanos;
use ccactl_loader::Counts;
use ccactl_scenario::units::Span;
use ccactl_scenario::{Direction, FlowSpec, Repeat, SERVER, Scenario};
use ccactl_sim::{
    Data, EcnFeedback, FlowConfig, FlowId, Moment, Opening, Piece, ReceiveBuffer, ReceiverConfig, Remembered,
    SenderConfig, SenderEcn, SourceConfig, World,
};
use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::time::Duration;

/// Of the ends that open connections: `ip_local_port_range` begins with it, and has so many.
const FIRST_CLIENT_PORT: u16 = 32_768;
const CLIENT_PORTS: u64 = 28_232;
/// How far a run goes between two looks at signals.
const LOOK_NS: Nanos = 100_000_000;
/// No host starts two senders at the same nanosecond. Flows in lock-step would lose the same packets in each run, so each
/// connection begins up to so much after its time, by the seed.
const START_SPREAD_NS: Nanos = 1_000_000;
/// How long the senders of a warm-up have at most to see their last data acknowledged.
const CLOSE_NS: Nanos = 10_000_000_000;
/// Spreads the seeds of sockets (the golden ratio).
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is to happen at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// The swap with that number.
    Swap(usize),
    /// Everything of a flow ends.
    Stop(usize),
    /// The next connection of a flow.
    Open(usize),
}

/// A flow of the scenario.
struct Flow<'a> {
    spec: &'a FlowSpec,
    simulated: Simulated,
    ecn: (SenderEcn, EcnFeedback),
    gso_max_segs: Option<u32>,
    sndbuf_max_bytes: Option<u64>,
    buffer: ReceiveBuffer,
    /// What its host knows of the path; it learns only where there is a warm-up.
    remembered: Remembered,
    /// Its connections in the world, with their transfers.
    connections: Vec<(FlowId, Transfer)>,
    has_stopped: bool,
}

impl Flow<'_> {
    fn may_open(&self, at_ns: Nanos) -> bool {
        let left = match self.spec.repeat {
            Repeat::Times(times) => self.connections.len() < times as usize,
            Repeat::UntilStop => true,
        };
        left && !self.has_stopped && at_ns < self.spec.stop.ns
    }
}

/// The course of one run.
pub struct Course<'a, W> {
    scenario: &'a Scenario,
    algorithms: &'a Algorithms,
    seed: u64,
    flows: Vec<Flow<'a>>,
    /// Of each flow of the world: which of the scenario.
    owners: Vec<usize>,
    actions: BTreeSet<(Nanos, Action)>,
    swaps: Vec<SwapResult>,
    /// Until when flows have more to send, where they end so.
    writes_until_ns: Option<Nanos>,
    watch: W,
}

impl<'a, W: Watch> Course<'a, W> {
    /// Run `run` of a scenario, from its warm-up on.
    pub fn start(
        scenario: &'a Scenario,
        run: u32,
        algorithms: &'a Algorithms,
        world: &mut World,
        watch: W,
        interrupt: Interrupt<'_>,
    ) -> Result<Course<'a, W>> {
        let known = match scenario.warm_up {
            Some(length) => warm_up(scenario, length, run, algorithms, interrupt)?,
            None => Vec::new(),
        };
        let mut course = Course::new(scenario, run, algorithms, world, watch);
        for (flow, known) in course.flows.iter_mut().zip(known) {
            flow.remembered = known;
        }
        Ok(course)
    }

    fn new(scenario: &'a Scenario, run: u32, algorithms: &'a Algorithms, world: &mut World, watch: W) -> Course<'a, W> {
        let mut actions = BTreeSet::new();
        let mut flows = Vec::new();
        for (i, (spec, simulated)) in scenario.flows.iter().zip(&algorithms.flows).enumerate() {
            actions.insert((spec.start.ns, Action::Open(i)));
            actions.insert((spec.stop.ns, Action::Stop(i)));
            let (sender, receiver) = match spec.direction {
                Direction::Upload => (spec.name.as_str(), SERVER),
                Direction::Download => (SERVER, spec.name.as_str()),
            };
            let most_bytes = scenario.host(receiver).rcvbuf_max.unwrap_or_else(|| tcp_memory_max(scenario));
            flows.push(Flow {
                spec,
                simulated: simulated.clone(),
                ecn: ecn(scenario, spec, simulated),
                gso_max_segs: scenario.host(sender).gso_max_segs,
                sndbuf_max_bytes: scenario.host(sender).sndbuf_max,
                buffer: ReceiveBuffer { first_bytes: TCP_MEMORY_DEFAULT.min(most_bytes), most_bytes },
                remembered: Remembered::default(),
                connections: Vec::new(),
                has_stopped: false,
            });
        }
        for (i, swap) in scenario.swaps.iter().enumerate() {
            actions.insert((swap.at.ns, Action::Swap(i)));
        }
        for (i, source) in scenario.udp.iter().enumerate() {
            world.add_source(SourceConfig {
                path: scenario.flows.len() + i,
                packet_bytes: source.packet_bytes,
                times_ns: Box::new(sending_times(source, &scenario.link)),
            });
        }
        let seed = scenario.link.seed.wrapping_add(u64::from(run));
        let (owners, swaps) = (Vec::new(), Vec::new());
        Course { scenario, algorithms, seed, flows, owners, actions, swaps, writes_until_ns: None, watch }
    }

    /// From the beginning to the end.
    pub fn run(
        &mut self,
        world: &mut World,
        interrupt: Interrupt<'_>,
        observe: &mut dyn FnMut(Duration, u64),
    ) -> Result<()> {
        let end_ns = self.scenario.duration.ns;
        while world.now_ns() < end_ns {
            interrupt.check()?;
            let look_ns = (world.now_ns() + LOOK_NS).min(end_ns);
            let next = self.actions.first().copied().filter(|(at_ns, _)| *at_ns <= look_ns);
            let until_ns = next.map_or(look_ns, |(at_ns, _)| at_ns);
            self.run_until(world, until_ns)?;
            if let Some(due) = next.filter(|(at_ns, _)| *at_ns <= world.now_ns()) {
                self.actions.remove(&due);
                self.act(world, due.1)?;
            }
            observe(Duration::from_nanos(world.now_ns()), self.watch.count());
        }
        let open: Vec<usize> = (0..self.flows.len()).filter(|flow| !self.flows[*flow].has_stopped).collect();
        open.into_iter().try_for_each(|flow| self.stop(world, flow))
    }

    /// Goes on, and ends earlier where a transfer is complete or an error is met.
    fn run_until(&mut self, world: &mut World, until_ns: Nanos) -> Result<()> {
        let (mut result, mut complete) = (Ok(()), None);
        let is_bounded = self.writes_until_ns.is_some();
        let remembers = is_bounded || self.scenario.warm_up.is_some();
        let Course { watch, flows, owners, .. } = self;
        world.run_while(until_ns, |seen| {
            result = watch.see(&seen);
            complete = (seen.moment == Moment::Complete).then_some(seen.flow);
            let is_over = seen.moment == Moment::AckDone && seen.sender.is_done();
            let flow = &mut flows[owners[seen.flow]];
            if is_over && result.is_ok() && (is_bounded || flow.spec.bytes.is_some()) {
                if remembers {
                    flow.remembered = seen.sender.remember(flow.remembered);
                }
                result = watch.close(seen.flow, seen.at_ns, seen.sender);
            }
            result.is_ok() && complete.is_none()
        });
        result?;
        if let Some(connection) = complete {
            self.complete(world, connection);
        }
        Ok(())
    }

    fn act(&mut self, world: &mut World, action: Action) -> Result<()> {
        match action {
            Action::Open(flow) => self.open(world, flow),
            Action::Stop(flow) => self.stop(world, flow)?,
            Action::Swap(swap) => self.swap(world, swap)?,
        }
        Ok(())
    }

    fn open(&mut self, world: &mut World, at: usize) {
        let flow = &mut self.flows[at];
        let now_ns = world.now_ns();
        if !flow.may_open(now_ns) {
            return;
        }
        let number = self.owners.len() as u64 + 1;
        let seed = (self.seed << 20).wrapping_add(number).wrapping_mul(SEED_STEP) | 1;
        let start_ns = now_ns + (seed >> 32) % START_SPREAD_NS;
        let defaults = SenderConfig::default();
        let sender = SenderConfig {
            mss_bytes: self.scenario.link.mtu - ccactl_sim::HEADER_BYTES,
            ecn: flow.ecn.0,
            sndbuf_bytes: flow.sndbuf_max_bytes.unwrap_or(TCP_MEMORY_DEFAULT).min(TCP_MEMORY_DEFAULT) as u32,
            sndbuf_max_bytes: flow.sndbuf_max_bytes,
            gso_max_segs: flow.gso_max_segs.unwrap_or(defaults.gso_max_segs),
            // Any: the low bits of the seed are as good as a host's.
            peer_clock_ms: seed as u32,
            remembered: flow.remembered,
            ..defaults
        };
        let (host, server) = (address::host(at), address::SERVER);
        let client_port = FIRST_CLIENT_PORT + (number % CLIENT_PORTS) as u16;
        let client = SocketAddrV4::new(host, client_port);
        let served = SocketAddrV4::new(server, FIRST_PORT + at as u16);
        let (opening, local, remote) = match flow.spec.direction {
            Direction::Upload => (Opening::BySender, client, served),
            Direction::Download => (Opening::ByReceiver, served, client),
        };
        let connection = world.add_flow(FlowConfig {
            socket: flow.simulated.socket(seed),
            sender,
            receiver: ReceiverConfig { feedback: flow.ecn.1, buffer: flow.buffer },
            path: at,
            opening,
            start_ns,
            data: self.writes_until_ns.map_or_else(|| data(flow.spec), Data::Until),
        });
        let transfer = Transfer { start_ns, connect_us: None, completion_us: None, bytes: 0 };
        flow.connections.push((connection, transfer));
        self.owners.push(at);
        let algorithm = flow.simulated.kernel_name.clone();
        self.watch.add(connection, &Named { cgroup_id: at as u64 + 1, algorithm, local, remote, ecn: flow.ecn.0 });
    }

    /// The receiver has all of a transfer: the next one follows after the gap.
    fn complete(&mut self, world: &World, connection: FlowId) {
        let owner = self.owners[connection];
        let flow = &mut self.flows[owner];
        let now_ns = world.now_ns();
        if let Some((_, transfer)) = flow.connections.iter_mut().find(|(id, _)| *id == connection) {
            transfer.completion_us = Some(transfer.micros_to(now_ns));
        }
        self.actions.insert((now_ns + flow.spec.gap.ns, Action::Open(owner)));
    }

    fn stop(&mut self, world: &mut World, at: usize) -> Result<()> {
        let now_ns = world.now_ns();
        let flow = &mut self.flows[at];
        flow.has_stopped = true;
        for (connection, transfer) in &mut flow.connections {
            let connected_ns = world.connected_ns(*connection);
            transfer.connect_us = connected_ns.map(|at_ns| transfer.micros_to(at_ns));
            if world.is_established(*connection) {
                transfer.bytes = world.receiver(*connection).received_bytes();
                self.watch.close(*connection, now_ns, world.sender(*connection))?;
            }
            world.end_flow(*connection);
        }
        Ok(())
    }

    fn swap(&mut self, world: &mut World, at: usize) -> Result<()> {
        let (spec, simulated) = (&self.scenario.swaps[at], &self.algorithms.swaps[at]);
        let owner = self.scenario.flows.iter().position(|flow| flow.name == spec.flow);
        let owner = owner.expect("checked with the scenario");
        let flow = &mut self.flows[owner];
        let from = std::mem::replace(&mut flow.simulated, simulated.clone()).kernel_name;
        let now_ns = world.now_ns();
        let mut moved = 0;
        for (connection, _) in &flow.connections {
            if let Some(socket) = world.socket_mut(*connection) {
                simulated.swap(socket);
                moved += 1;
                self.watch.swapped(*connection, now_ns, world.sender(*connection), &simulated.kernel_name)?;
            }
        }
        let at_s = now_ns as f64 / 1e9;
        self.swaps.push(SwapResult {
            flow: spec.flow.clone(),
            algorithm: spec.algorithm.clone(),
            kernel_name: simulated.kernel_name.clone(),
            from,
            at_s: spec.at.secs_f64(),
            started_s: at_s,
            ended_s: at_s,
            iteration_us: 0.0,
            counts: Counts { moved, ..Counts::default() },
            sockets: moved,
            verified: moved,
            now: simulated.kernel_name.clone(),
        });
        Ok(())
    }

    /// What the ends of the flows told, the swaps, and who watched.
    pub fn into_results(self) -> (Vec<FlowReport>, Vec<SwapResult>, W) {
        let report = |flow: Flow<'_>| FlowReport {
            sent: None,
            received_bytes: flow.connections.iter().map(|(_, transfer)| transfer.bytes).sum(),
            transfers: flow.connections.into_iter().map(|(_, transfer)| transfer).collect(),
        };
        (self.flows.into_iter().map(report).collect(), self.swaps, self.watch)
    }
}

/// What the hosts of the flows know after a bulk transfer each, all at once from the beginning and without UDP, as before a run on
/// the host.
fn warm_up(
    scenario: &Scenario,
    length: Span,
    run: u32,
    algorithms: &Algorithms,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Remembered>> {
    let duration = Span { ns: length.ns + CLOSE_NS };
    let whole = |flow: &FlowSpec| FlowSpec { start: Span::default(), stop: duration, ..flow.clone() };
    let before = Scenario {
        duration,
        warm_up: None,
        flows: scenario.flows.iter().map(whole).collect(),
        swaps: Vec::new(),
        udp: Vec::new(),
        ..scenario.clone()
    };
    let topology = Topology::of(&before, run);
    let mut world = World::new(topology.transmitters, topology.paths, duration.ns);
    let mut course = Course::new(&before, run, algorithms, &mut world, Nobody);
    course.writes_until_ns = Some(length.ns);
    course.run(&mut world, interrupt, &mut |_, _| {})?;
    Ok(course.flows.into_iter().map(|flow| flow.remembered).collect())
}

fn data(spec: &FlowSpec) -> Data {
    match (application(spec), spec.bytes) {
        (Some(application), _) => Data::Pieces(Box::new(move |before_ns, now_ns| {
            let piece = application.piece_after(before_ns, now_ns)?;
            Some(Piece { at_ns: piece.at_ns, bytes: piece.bytes })
        })),
        (None, Some(bytes)) => Data::Bytes(bytes),
        (None, None) => Data::Endless,
    }
}

/// What both ends of a flow make of marks. A host asks for ECN with `tcp_ecn` 1 and grants it with 1 or 2, the default. An
/// algorithm that needs it has it at both ends, and then each mark is echoed once.
fn ecn(scenario: &Scenario, spec: &FlowSpec, simulated: &Simulated) -> (SenderEcn, EcnFeedback) {
    match simulated.ecn {
        EcnNeed::Accurate => return (SenderEcn::Accurate, EcnFeedback::Count),
        EcnNeed::Classic => return (SenderEcn::Classic, EcnFeedback::PerPacket),
        EcnNeed::None => {}
    }
    let setting = |name: &str| scenario.host(name).sysctl.get(TCP_ECN).map_or("2", |value| value.trim()).to_owned();
    let asks = setting(&spec.name) == "1";
    let grants = matches!(setting(SERVER).as_str(), "1" | "2");
    if asks && grants { (SenderEcn::Classic, EcnFeedback::Classic) } else { (SenderEcn::Off, EcnFeedback::Off) }
}
