//! What the built-in ends of a scenario's traffic are told.

use super::policies::chosen_by_its_sender;
use crate::emulator::address;
use crate::traffic::{
    Application, Closing, Content, End, FIRST_PORT, FetchOptions, Protocol, ProxyOptions, RatePlan, ReceiveOptions,
    Schedule, SendOptions, ServeOptions, UdpSendOptions,
};
use ccactl_abi::EcnNeed;
use ccactl_link::Nanos;
use ccactl_scenario::units::Span;
use ccactl_scenario::{Direction, FlowSpec, LinkSpec, ProxySpec, Repeat, Scenario, UdpSpec};
use std::net::SocketAddr;
use std::time::Duration;

/// IPv4 without options, and UDP.
pub const UDP_HEADER_BYTES: u32 = 20 + 8;

/// The common receiver. A Linux listener refuses ECN to a SYN that carries ECT, as those of DCTCP and Prague do, unless its own
/// algorithm asks for ECN; and only such an algorithm echoes each mark once. So for these flows both ends run the same one.
///
/// The port of a flow follows from its number; those of downloads are left to their own servers.
pub fn receive(scenario: &Scenario, kernel_names: &[String]) -> End {
    let uploads_with_ecn = |(_, flow): &(u16, &FlowSpec)| flow.direction == Direction::Upload && needs_ecn(flow);
    let names = (0..).zip(&scenario.flows).filter(uploads_with_ecn);
    End::Receive(ReceiveOptions {
        address: address::SERVER,
        first_port: FIRST_PORT,
        ports: scenario.flows.iter().map(|flow| flow.direction == Direction::Upload).collect(),
        mptcp_ports: (0..).zip(&scenario.flows).filter(|(_, flow)| flow.is_mptcp()).map(|(port, _)| port).collect(),
        udp_ports: scenario.udp.len() as u16,
        algorithms: names.map(|(port, _)| (port, kernel_names[usize::from(port)].clone())).collect(),
    })
}

/// The sending end of an upload.
pub fn send(flow: &FlowSpec, port: u16) -> End {
    let algorithm = chosen_by_its_sender(&flow.algorithm).map(str::to_owned);
    let closing = Closing::Reset;
    let (to, content, schedule) = (server(port), content(flow), schedule(flow));
    End::Send(SendOptions { to, content, schedule, algorithm, closing })
}

/// The sending end of an upload before the run, for so long.
pub fn warm_up(flow: &FlowSpec, port: u16, length: Span) -> End {
    let algorithm = chosen_by_its_sender(&flow.algorithm).map(str::to_owned);
    let schedule = Schedule { start_ns: 0, stop_ns: length.ns, transfers: Some(1), gap_ns: 0 };
    // The memory of a path is that of a flow which fills it.
    let content = Content { protocol: protocol(flow), ..Content::default() };
    End::Send(SendOptions { to: server(port), content, schedule, algorithm, closing: Closing::InOrder })
}

/// The sending end of a download.
pub fn serve(flow: &FlowSpec, port: u16) -> End {
    End::Serve(ServeOptions { at: server(port), content: content(flow), stop_ns: flow.stop.ns })
}

/// The receiving end of a download.
pub fn fetch(flow: &FlowSpec, port: u16, kernel_name: &str) -> End {
    End::Fetch(FetchOptions {
        from: server(port),
        protocol: protocol(flow),
        schedule: schedule(flow),
        bytes: flow.bytes,
        algorithm: needs_ecn(flow).then(|| kernel_name.to_owned()),
    })
}

/// The proxy, which takes the ports of all flows.
pub fn proxy(proxy: &ProxySpec, scenario: &Scenario) -> End {
    End::Proxy(ProxyOptions {
        server: address::SERVER,
        ports: scenario.flows.len() as u16,
        client_algorithm: proxy.client_algorithm.clone(),
        server_algorithm: proxy.server_algorithm.clone(),
        upload_target: proxy.upload_target.map(Duration::from),
    })
}

/// A UDP source.
pub fn udp(source: &UdpSpec, link: &LinkSpec, port: u16) -> End {
    End::Udp(UdpSendOptions {
        to: server(port),
        payload_bytes: (source.packet_bytes - UDP_HEADER_BYTES) as usize,
        packet_bytes: wire_bytes(source, link),
        steps: steps(source),
        stop_ns: source.stop.ns,
    })
}

/// When the packets of a UDP source leave.
pub fn sending_times(source: &UdpSpec, link: &LinkSpec) -> RatePlan {
    RatePlan::new(steps(source), source.stop.ns, wire_bytes(source, link))
}

fn wire_bytes(source: &UdpSpec, link: &LinkSpec) -> u64 {
    u64::from(source.packet_bytes + link.overhead_bytes)
}

fn steps(source: &UdpSpec) -> Vec<(Nanos, u64)> {
    let later = source.steps.iter().map(|step| (step.at.ns, step.rate.bps));
    std::iter::once((source.start.ns, source.rate.bps)).chain(later).collect()
}

fn protocol(flow: &FlowSpec) -> Protocol {
    if flow.is_mptcp() { Protocol::Mptcp } else { Protocol::Tcp }
}

fn content(flow: &FlowSpec) -> Content {
    Content { protocol: protocol(flow), bytes: flow.bytes, application: application(flow) }
}

/// What makes a flow's data, if something does.
pub fn application(flow: &FlowSpec) -> Option<Application> {
    let application = flow.application.as_ref()?;
    let first = (flow.start.ns, application.rate.bps);
    let later = application.steps.iter().map(|step| (step.at.ns, step.rate.bps));
    Some(Application {
        start_ns: flow.start.ns,
        every_ns: application.every.ns,
        steps: std::iter::once(first).chain(later).collect(),
    })
}

fn server(port: u16) -> SocketAddr {
    SocketAddr::from((address::SERVER, port))
}

fn schedule(flow: &FlowSpec) -> Schedule {
    let transfers = match flow.repeat {
        Repeat::Times(times) => Some(times),
        Repeat::UntilStop => None,
    };
    Schedule { start_ns: flow.start.ns, stop_ns: flow.stop.ns, transfers, gap_ns: flow.gap.ns }
}

fn needs_ecn(flow: &FlowSpec) -> bool {
    flow.wanted().choice().is_ok_and(|choice| choice.ecn() != EcnNeed::None)
}
