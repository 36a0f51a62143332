//! Snoop agents in the network, in virtual time: where they stand, what they hold, and what sender and receiver see of losses.

use ccactl_link::network::{Delay, Route, Stage};
use ccactl_link::network::{Event, Network, Path, Tcp, Transit, Transmitter};
use ccactl_link::network::{SnoopFigures, Way};
use ccactl_link::snoop::{Sack, Segment};
use ccactl_link::{Capacity, Ecn, LinkConfig, Loss, Nanos};
use ccactl_scenario::Scenario;
use ccactl_testbed::emulator::Topology;
use std::collections::{BTreeSet, HashMap};

const MS: Nanos = 1_000_000;
const SEGMENTS: u32 = 400;
const BYTES: u32 = 1000;
/// Packets with ACKs have numbers from here on.
const ACKS: u32 = 100_000;

fn path_of(duplex: bool) -> Path {
    let text = format!(
        "duration = \"1s\"\n[link]\nrate = \"10Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = \"10p\"\nduplex = {duplex}\n\
         [[hop]]\nname = \"wifi\"\nrate = \"5Mbit/s\"\ndelay = \"2ms\"\nbuffer = \"10p\"\nduplex = {duplex}\nloss = 0.01\nsnoop = \"20p\"\n\
         [[flow]]\nname = \"a\"\nalgorithm = \"reno\"\npath = [\"wifi\", \"link\"]\n"
    );
    let topology = Topology::of(&Scenario::parse("a.toml", &text).unwrap(), 1);
    let cache = |index: usize| topology.transmitters[index].snoop_bytes;
    let hop = usize::from(duplex) + 1;
    assert_eq!((cache(0), cache(hop)), (None, Some(20 * 1514)));
    topology.paths[0].clone()
}

#[test]
fn an_agent_stands_where_packets_enter_its_link_and_sees_what_comes_back() {
    let delay = |ms: u64| Stage::Delay(Delay::new(vec![(0, ms * MS)]));
    let one_way = path_of(false);
    assert_eq!(one_way.up.stages, [Stage::Transmitter(1), Stage::Transmitter(0)]);
    assert_eq!(one_way.down.stages, [delay(10), delay(2), Stage::Snoop(1)]);
    // link is transmitters 0 and 1, wifi is 2 and 3.
    let duplex = path_of(true);
    assert_eq!(duplex.up.stages, [Stage::Transmitter(2), Stage::Snoop(3), Stage::Transmitter(0)]);
    assert_eq!(duplex.down.stages, [Stage::Transmitter(1), Stage::Transmitter(3), Stage::Snoop(2)]);
}

/// A download through a lossy hop whose sender sends a segment each ms and never one again.
struct Download {
    network: Network<u32>,
    /// How often packets are held: by the network on their way, and by agents.
    holders: HashMap<u32, i32>,
    received: BTreeSet<u32>,
    next: u32,
    /// Of the mobile, not yet on their way.
    answers: Vec<Segment>,
    acks: u32,
    /// Numbers of the ACKs that the server has got.
    at_server: Vec<u32>,
    stripped: BTreeSet<u32>,
    sack: bool,
}

impl Download {
    fn new(loss: f64, sack: bool) -> Self {
        let transmitter = |loss| {
            let mut config = LinkConfig::drop_tail(20_000_000, Capacity::Packets(100));
            config.wire.delay = vec![(0, 5 * MS)];
            config.wire.loss = loss;
            Transmitter {
                config,
                overhead_bytes: 0,
                snoop_bytes: Some(1 << 20),
                hides_marks: false,
                is_bottleneck: false,
            }
        };
        let route = |stages: &[Stage]| Route { stages: stages.to_vec() };
        let path = Path {
            up: route(&[Stage::Transmitter(0), Stage::Snoop(1)]),
            down: route(&[Stage::Transmitter(1), Stage::Snoop(0)]),
            data: Way::Down,
            class: 0,
        };
        let transmitters = vec![transmitter(Loss::None), transmitter(Loss::Bernoulli(loss))];
        Download {
            network: Network::new(transmitters, vec![path], 1000, 10_000 * MS),
            holders: HashMap::new(),
            received: BTreeSet::new(),
            next: 0,
            answers: Vec::new(),
            acks: 0,
            at_server: Vec::new(),
            stripped: BTreeSet::new(),
            sack,
        }
    }

    fn run(mut self) -> Self {
        for number in 0..SEGMENTS {
            let now = Nanos::from(number) * MS;
            self.advance(now);
            let segment = Segment { seq: number * BYTES, payload_bytes: BYTES, ..Segment::default() };
            self.inject(now, number, Way::Down, segment);
        }
        self.advance(10_000 * MS);
        self
    }

    fn inject(&mut self, now: Nanos, packet: u32, way: Way, segment: Segment) {
        let tcp = Some(Tcp { host_port: 4000, server_port: 5201, segment });
        let (bytes, is_ack) = (segment.payload_bytes + 40, segment.payload_bytes == 0);
        self.holders.insert(packet, 1);
        self.network.inject(now, Transit { packet, path: 0, way, bytes, flow: 0, is_ack, ecn: Ecn::NotCapable, tcp });
    }

    fn advance(&mut self, until: Nanos) {
        // The caller looks when something is due, as the emulator does.
        while let Some(due) = self.network.next_due().filter(|due| *due < until) {
            self.look(due);
        }
        self.look(until);
    }

    fn look(&mut self, now: Nanos) {
        while let Some(event) = self.network.step(now) {
            self.take(event);
        }
        for ack in std::mem::take(&mut self.answers) {
            self.acks += 1;
            self.inject(now, ACKS + self.acks, Way::Up, ack);
        }
    }

    fn take(&mut self, event: Event<u32>) {
        match event {
            Event::Kept(packet) => *self.holders.get_mut(&packet).expect("only what is there is kept") += 1,
            Event::Stripped(packet) => _ = self.stripped.insert(packet),
            Event::Gone(packet) => self.release(packet),
            Event::Arrived { transit, .. } => {
                self.release(transit.packet);
                match transit.way {
                    Way::Down => self.receive(transit.packet),
                    Way::Up => self.at_server.push(transit.tcp.and_then(|tcp| tcp.segment.ack).unwrap()),
                }
            }
        }
    }

    fn release(&mut self, packet: u32) {
        let holders = self.holders.get_mut(&packet).expect("only what is there is released");
        *holders -= 1;
        if *holders == 0 {
            self.holders.remove(&packet);
        }
    }

    fn receive(&mut self, number: u32) {
        self.received.insert(number);
        while self.received.contains(&self.next) {
            self.next += 1;
        }
        let mut sack = Sack::default();
        if self.sack && number > self.next {
            sack.push(number * BYTES, (number + 1) * BYTES);
        }
        self.answers.push(Segment { ack: Some(self.next * BYTES), window: 100, sack, ..Segment::default() });
    }

    fn agent(&self) -> SnoopFigures {
        self.network.links()[1].snoop.unwrap()
    }
}

#[test]
fn losses_of_the_hop_are_repaired_and_the_sender_sees_no_duplicate() {
    for sack in [false, true] {
        let done = Download::new(0.05, sack).run();
        assert_eq!(done.next, SEGMENTS, "everything has arrived");
        assert!(done.at_server.is_sorted_by(|a, b| a < b), "no ACK comes twice");
        assert_eq!(done.at_server.last(), Some(&(SEGMENTS * BYTES)));
        let (agent, hop) = (done.agent(), done.network.links()[1].counters);
        assert!(hop.lost_packets > 10 && agent.suppressed_acks > 10, "{hop:?} {agent:?}");
        assert_eq!(hop.offered_packets, u64::from(SEGMENTS) + agent.retransmitted_packets);
        assert_eq!(agent.cached_packets, u64::from(SEGMENTS));
        assert_eq!(done.stripped.len() as u64, agent.stripped_acks);
        // Of all packets the agent still holds its last ACK.
        assert_eq!(done.holders.into_iter().collect::<Vec<_>>(), [(ACKS + done.acks, 1)]);
        assert_eq!(done.network.inside(), 0);
    }
}

#[test]
fn without_losses_nothing_is_sent_again() {
    let done = Download::new(0.0, false).run();
    let expected = SnoopFigures { cached_packets: u64::from(SEGMENTS), ..SnoopFigures::default() };
    assert_eq!((done.agent(), done.at_server.len()), (expected, SEGMENTS as usize));
}
