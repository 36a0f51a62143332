//! The network in virtual time: routes, delays, counters and the series. No clock, no device, no root.

use ccactl_link::network::{Delay, Route, Stage};
use ccactl_link::network::{Event, Network, Path, Tcp, Transit, Transmitter};
use ccactl_link::network::{INTERVAL, Way};
use ccactl_link::snoop::Segment;
use ccactl_link::{Capacity, Ecn, LinkConfig, Loss, Nanos, RatePlan};
use ccactl_scenario::Scenario;
use ccactl_testbed::emulator::Topology;
use proptest::prelude::*;

const MS: Nanos = 1_000_000;
const S: Nanos = 1000 * MS;

fn transmitter(rate_bps: u64, delay: Nanos, buffer_packets: u64) -> Transmitter {
    let mut config = LinkConfig::drop_tail(rate_bps, Capacity::Packets(buffer_packets));
    config.wire.delay = vec![(0, delay)];
    Transmitter { config, overhead_bytes: 0, snoop_bytes: None, hides_marks: false, is_bottleneck: false }
}

fn route(stages: &[Stage]) -> Route {
    Route { stages: stages.to_vec() }
}

fn delay(ns: Nanos) -> Stage {
    Stage::Delay(Delay::new(vec![(0, ns)]))
}

fn packet(number: u32, path: u32, way: Way, bytes: u32) -> Transit<u32> {
    Transit { packet: number, path, way, bytes, flow: path, is_ack: false, ecn: Ecn::NotCapable, tcp: None }
}

/// Everything that happens by `until`: packet and the time at which it was due; none for one that is gone.
fn drain(network: &mut Network<u32>, until: Nanos) -> Vec<(u32, Option<Nanos>)> {
    let step = || network.step(until);
    std::iter::from_fn(step)
        .map(|event| match event {
            Event::Arrived { transit, due, .. } => (transit.packet, Some(due)),
            Event::Gone(packet) => (packet, None),
            Event::Kept(_) | Event::Stripped(_) => unreachable!("there is no agent"),
        })
        .collect()
}

#[test]
fn two_links_add_their_transmissions_and_delays_however_late_the_caller_asks() {
    // 1000 bytes take 1 ms at 8 Mbit/s and 2 ms at 4 Mbit/s.
    let transmitters = vec![transmitter(8_000_000, 5 * MS, 100), transmitter(4_000_000, 7 * MS, 100)];
    let up = route(&[Stage::Transmitter(0), Stage::Transmitter(1), delay(3 * MS)]);
    let down = route(&[delay(7 * MS), delay(5 * MS), delay(3 * MS)]);
    let mut network = Network::new(transmitters, vec![Path { up, down, data: Way::Up, class: 0 }], 100, S);
    for number in 0..3 {
        network.inject(10 * MS, packet(number, 0, Way::Up, 1000));
    }
    network.inject(10 * MS, packet(9, 0, Way::Down, 40));
    // The first one: 1 + 5 + 2 + 7 + 3 ms; then one every 2 ms, as the second link is slower.
    let expected = [(9, Some(25 * MS)), (0, Some(28 * MS)), (1, Some(30 * MS)), (2, Some(32 * MS))];
    assert_eq!(drain(&mut network, 10 * S), expected);
    let flow = &network.flows()[0];
    // Nobody waits for the first link but for those ahead (0, 1, 2 ms), then 0, 1, 2 ms for the second.
    assert_eq!(flow.queueing.packets, 3);
    assert!((flow.queueing.mean_us - 2000.0).abs() < 1.0, "{:?}", flow.queueing);
    assert_eq!((flow.counters.returned_packets, network.inside()), (1, 0));
}

#[test]
fn the_directions_of_a_duplex_link_do_not_slow_each_other() {
    let transmitters = vec![transmitter(8_000_000, 5 * MS, 100), transmitter(8_000_000, 5 * MS, 100)];
    let (up, down) = (route(&[Stage::Transmitter(0)]), route(&[Stage::Transmitter(1)]));
    let mut network = Network::new(transmitters, vec![Path { up, down, data: Way::Down, class: 0 }], 100, S);
    for number in 0..4 {
        let way = if number % 2 == 0 { Way::Up } else { Way::Down };
        network.inject(0, packet(number, 0, way, 1000));
    }
    let expected = [(0, Some(6 * MS)), (1, Some(6 * MS)), (2, Some(7 * MS)), (3, Some(7 * MS))];
    assert_eq!(drain(&mut network, S), expected);
    assert_eq!(network.flows()[0].counters.delivered_packets, 2, "data go down");
}

#[test]
fn packets_of_several_paths_share_the_link_that_they_have_in_common() {
    let transmitters = vec![transmitter(8_000_000, 0, 2), transmitter(80_000_000, MS, 100)];
    let far = Path {
        up: route(&[Stage::Transmitter(1), Stage::Transmitter(0)]),
        down: route(&[delay(0)]),
        data: Way::Up,
        class: 0,
    };
    let near = Path { up: route(&[Stage::Transmitter(0)]), down: route(&[delay(0)]), data: Way::Up, class: 0 };
    let mut network = Network::new(transmitters, vec![near, far], 100, S);
    network.inject(0, packet(0, 1, Way::Up, 1000));
    // At 1.1 ms, when packet 0 arrives at the common link, packets 2 and 3 occupy it: 1 has left at 1 ms.
    for number in 1..3 {
        network.inject(0, packet(number, 0, Way::Up, 1000));
    }
    assert_eq!(drain(&mut network, MS), [(1, Some(MS))]);
    network.inject(MS, packet(3, 0, Way::Up, 1000));
    assert_eq!(drain(&mut network, S), [(0, None), (2, Some(2 * MS)), (3, Some(3 * MS))]);
    let flows = network.flows();
    assert_eq!((flows[1].counters.dropped_full_packets, flows[0].counters.dropped_full_packets), (1, 0));
}

#[test]
fn the_next_time_to_wake_up_is_never_after_the_next_packet_is_due() {
    let transmitters = vec![transmitter(8_000_000, 5 * MS, 100), transmitter(4_000_000, 7 * MS, 100)];
    let up = route(&[Stage::Transmitter(0), Stage::Transmitter(1), delay(3 * MS)]);
    let mut network =
        Network::new(transmitters, vec![Path { up, down: route(&[delay(0)]), data: Way::Up, class: 0 }], 100, S);
    network.inject(0, packet(0, 0, Way::Up, 1000));
    // Not before its propagation is over: 1 ms to transmit, then 5 + 7 + 3 ms.
    assert_eq!(network.next_due(), Some(16 * MS));
    let mut wakes = 0;
    let due = loop {
        let wake = network.next_due().unwrap();
        wakes += 1;
        if let Some((_, due)) = drain(&mut network, wake).first() {
            break (wake, due.unwrap());
        }
        assert!(wakes < 10);
    };
    assert_eq!(due.0, due.1, "woken at the time at which it is due");
}

#[test]
fn a_step_of_the_rate_is_in_the_series() {
    let mut link = transmitter(8_000_000, 0, 1000);
    link.config.rate = RatePlan::Steps(vec![(0, 8_000_000), (50 * MS, 4_000_000)]);
    let path = Path { up: route(&[Stage::Transmitter(0)]), down: route(&[delay(0)]), data: Way::Up, class: 0 };
    let mut network = Network::new(vec![link], vec![path], 1000, 100 * MS);
    network.set_origin(7 * S);
    for number in 0..200 {
        network.inject(7 * S, packet(number, 0, Way::Up, 1000));
    }
    drain(&mut network, 8 * S);
    let rows = network.into_report().series;
    assert_eq!(rows.len() as u64, 100 * MS / INTERVAL);
    // A packet that leaves exactly at the end of an interval counts into the next one.
    let sent: Vec<u32> = rows.iter().map(|row| row.sent_packets).collect();
    assert_eq!(sent, [9, 10, 10, 10, 10, 5, 5, 5, 5, 5]);
    let left: Vec<u32> = rows.iter().map(|row| row.queued_packets).collect();
    assert_eq!(left, [191, 181, 171, 161, 151, 146, 141, 136, 131, 126]);
    assert_eq!(rows[4].sojourn_max_ns, 48 * MS);
}

#[test]
fn a_scenario_becomes_its_links_and_paths() {
    let text = "duration = \"1s\"\n[link]\nrate = \"10Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = \"10p\"\nduplex = true\n\
        [[hop]]\nname = \"access\"\nrate = \"50Mbit/s\"\ndelay = \"5ms\"\nbuffer = \"10p\"\n\
        [[flow]]\nname = \"up\"\nalgorithm = \"native:reno\"\npath = [\"access\", \"link\"]\nextra_rtt = \"8ms\"\n\
        [[flow]]\nname = \"down\"\nalgorithm = \"native:reno\"\ndirection = \"download\"\n\
        [[udp]]\nname = \"noise\"\nrate = \"1Mbit/s\"\n";
    let topology = Topology::of(&Scenario::parse("test.toml", text).unwrap(), 1);
    let name = |name: &str, way| (name.to_owned(), way);
    assert_eq!(topology.names, [name("link", Way::Up), name("link", Way::Down), name("access", Way::Up)]);
    assert_eq!(topology.paths.len(), 3);
    let up = &topology.paths[0];
    assert_eq!(up.up, route(&[Stage::Transmitter(2), Stage::Transmitter(0), delay(4 * MS)]));
    assert_eq!(up.down, route(&[Stage::Transmitter(1), delay(5 * MS), delay(4 * MS)]));
    assert_eq!((topology.paths[1].data, topology.paths[2].data), (Way::Down, Way::Up));
    assert_eq!(topology.carried_bps, 10_000_000, "the slowest link of a path carries it");
    assert_ne!(topology.transmitters[0].config.seed, topology.transmitters[1].config.seed);
    let mut network = Network::new(topology.transmitters, topology.paths, topology.packets, S);
    // 1480 + 14 bytes: 239.04 us at 50 Mbit/s, 1195.2 us at 10 Mbit/s; 5 + 10 + 4 ms of propagation.
    network.inject(0, packet(0, 0, Way::Up, 1480));
    assert_eq!(drain(&mut network, S), [(0, Some(19 * MS + 239_040 + 1_195_200))]);
}

#[test]
fn the_further_paths_of_an_mptcp_flow_follow_those_of_all_hosts() {
    let text = "duration = \"1s\"\n[link]\nrate = \"10Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = \"10p\"\n\
        [[hop]]\nname = \"lte\"\nrate = \"5Mbit/s\"\ndelay = \"30ms\"\nbuffer = \"10p\"\n\
        [[path]]\nname = \"a\"\n[[path]]\nname = \"b\"\nlinks = [\"lte\"]\nextra_rtt = \"4ms\"\n\
        [[flow]]\nname = \"both\"\nalgorithm = \"native:reno\"\npaths = [\"a\", \"b\"]\n\
        [[udp]]\nname = \"noise\"\nrate = \"1Mbit/s\"\n";
    let topology = Topology::of(&Scenario::parse("test.toml", text).unwrap(), 1);
    let accesses: Vec<_> = topology.accesses.iter().map(|access| (access.host, access.device)).collect();
    assert_eq!(accesses, [(0, 0), (1, 0), (0, 1)], "the flow's host, that of the source, the flow's host again");
    assert_eq!(topology.paths[0].up, route(&[Stage::Transmitter(0)]));
    assert_eq!(topology.paths[2].up, route(&[Stage::Transmitter(1), delay(2 * MS)]));
    assert_eq!(topology.paths[2].down, route(&[delay(30 * MS), delay(2 * MS)]));
    assert_eq!((topology.carried_bps, topology.total_bps), (10_000_000, 15_000_000));
    assert_eq!((topology.tick, topology.shares(8).threads()), (None, 1));
}

#[test]
fn many_slow_links_are_handled_as_one_fast_one_by_as_many_threads_as_there_are_cpus() {
    let link = |rate: &str| format!("rate = \"{rate}\"\nbuffer = \"10p\"\n");
    let scenario = |rate: &str, hops: usize| {
        let hop = |i| format!("[[hop]]\nname = \"h{i}\"\ndelay = \"5ms\"\n{}", link(rate));
        let flow = |i| format!("[[flow]]\nname = \"f{i}\"\nalgorithm = \"native:reno\"\npath = [\"h{i}\"]\n");
        let hops: String = (0..hops).map(|i| hop(i) + &flow(i)).collect();
        let first = "[[flow]]\nname = \"first\"\nalgorithm = \"native:reno\"\n";
        let text = format!("duration = \"1s\"\n[link]\nbase_rtt = \"10ms\"\n{}{hops}{first}", link(rate));
        Topology::of(&Scenario::parse("test.toml", &text).unwrap(), 1)
    };
    // A quarter of 750 us.
    let dense = scenario("16Mbit/s", 63);
    assert_eq!((dense.total_bps, dense.carried_bps), (1_024_000_000, 16_000_000));
    assert_eq!((dense.tick, dense.shares(2).threads()), (Some(187_500), 2));
    let fast = scenario("1Gbit/s", 0);
    assert_eq!((fast.tick, fast.shares(2).threads()), (Some(50_000), 1));
    assert_eq!(scenario("2500Mbit/s", 0).tick, Some(100_000));
    assert_eq!(scenario("100Mbit/s", 0).tick, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes when: every packet arrives once or is gone once, each path stays in order, and the counters agree.
    #[test]
    fn nothing_is_lost_without_a_trace(
        packets in prop::collection::vec((0..3 * MS, 0..3u32, any::<bool>(), 40..1500u32), 1..300),
        loss in 0.0..0.3f64,
        buffer in 1..20u64,
    ) {
        let mut transmitters: Vec<Transmitter> = [20, 10, 30].map(|mbit| transmitter(mbit * 1_000_000, MS, buffer)).into();
        transmitters[1].config.wire.loss = Loss::Bernoulli(loss);
        transmitters[1].is_bottleneck = true;
        let one = |up: &[usize], down: &[usize]| Path {
            up: route(&up.iter().map(|i| Stage::Transmitter(*i)).collect::<Vec<_>>()),
            down: route(&down.iter().map(|i| Stage::Transmitter(*i)).collect::<Vec<_>>()),
            data: Way::Up,
            class: 0,
        };
        let paths = vec![one(&[0, 1], &[2]), one(&[1], &[2, 0]), one(&[0, 1, 2], &[0])];
        let mut network = Network::new(transmitters, paths, 400, S);
        let mut now = 0;
        let mut seen = Vec::new();
        for (number, (pause, path, is_up, bytes)) in packets.iter().enumerate() {
            now += pause;
            seen.extend(drain(&mut network, now));
            let way = if *is_up { Way::Up } else { Way::Down };
            network.inject(now, packet(number as u32, *path, way, *bytes));
        }
        // The last one may have found a full buffer: it is told of at the next step.
        seen.extend(drain(&mut network, now));
        prop_assert_eq!(seen.len() + network.inside(), packets.len());
        seen.extend(drain(&mut network, now + 10 * S));
        prop_assert_eq!(network.inside(), 0);

        let mut numbers: Vec<u32> = seen.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..packets.len() as u32).collect::<Vec<_>>());
        for path in 0..3 {
            for is_up in [false, true] {
                let arrived = seen.iter().filter(|(number, due)| {
                    let (_, of, up, _) = packets[*number as usize];
                    due.is_some() && of == path && up == is_up
                });
                prop_assert!(arrived.map(|(number, _)| *number).is_sorted(), "path {} out of order", path);
            }
        }
        let gone = seen.iter().filter(|(_, due)| due.is_none()).count() as u64;
        let flows = network.flows();
        let sum = |count: &dyn Fn(&ccactl_link::network::FlowCounters) -> u64| flows.iter().map(|flow| count(&flow.counters)).sum::<u64>();
        prop_assert_eq!(sum(&|c| c.dropped_packets() + c.lost_packets + c.return_dropped_packets + c.return_lost_packets), gone);
        prop_assert_eq!(sum(&|c| c.offered_packets + c.return_offered_packets), packets.len() as u64);
        for link in network.links() {
            let c = link.counters;
            let out = c.delivered_packets + c.dropped_full_packets + c.dropped_early_packets + c.lost_packets + c.queued_packets;
            prop_assert_eq!(c.offered_packets, out);
        }
    }
}

#[test]
fn of_the_acks_that_are_gathered_only_the_latest_goes_on_and_those_with_blocks_do() {
    let gathered = Stage::Delay(Delay::new(vec![(0, 5 * MS)]).in_batches(20 * MS).filtering());
    let down = route(&[gathered, delay(2 * MS)]);
    let up = route(&[Stage::Transmitter(0)]);
    let path = Path { up, down, data: Way::Up, class: 0 };
    let mut network = Network::new(vec![transmitter(8_000_000, 0, 10)], vec![path], 100, S);
    assert!(network.reads_tcp(), "blocks have to be seen");
    let ack = |number: u32, flow: u32, has_blocks: bool| {
        let mut segment = Segment { ack: Some(number), ..Segment::default() };
        if has_blocks {
            segment.sack.push(1, 2);
        }
        let tcp = Some(Tcp { host_port: 1, server_port: 2, segment });
        Transit { flow, is_ack: true, tcp, ..packet(number, 0, Way::Down, 40) }
    };
    // Five of one batch, of which one says more than the last one does and one is of another connection; then the next batch.
    for (number, (flow, has_blocks)) in [(7, false), (7, true), (8, false), (7, false), (7, false)].iter().enumerate() {
        network.inject(number as Nanos * MS, ack(number as u32, *flow, *has_blocks));
    }
    network.inject(6 * MS, packet(5, 0, Way::Down, 1000));
    network.inject(17 * MS, ack(6, 7, false));
    let out = Some(22 * MS);
    let expected = [(0, None), (1, out), (2, out), (3, None), (4, out), (5, out), (6, Some(42 * MS))];
    let mut drained = drain(&mut network, S);
    drained.sort_unstable();
    assert_eq!(drained, expected);
    let counters = network.flows()[0].counters;
    let back = (counters.return_offered_packets, counters.returned_packets, counters.return_dropped_packets);
    assert_eq!((back, network.inside()), ((7, 5, 2), 0));
}

#[test]
fn marks_that_are_hidden_are_counted_and_do_not_arrive() {
    for hides_marks in [false, true] {
        let mut bottleneck = transmitter(8_000_000, MS, 10);
        bottleneck.config.mark_above = Some(Capacity::Packets(0));
        bottleneck.hides_marks = hides_marks;
        let (up, down) = (route(&[Stage::Transmitter(0)]), route(&[delay(MS)]));
        let mut network = Network::new(vec![bottleneck], vec![Path { up, down, data: Way::Up, class: 0 }], 10, S);
        for number in 0..3 {
            network.inject(0, Transit { ecn: Ecn::Ect0, ..packet(number, 0, Way::Up, 1000) });
        }
        let arrived = std::iter::from_fn(|| network.step(S));
        let marks: Vec<bool> = arrived
            .map(|event| match event {
                Event::Arrived { marked, .. } => marked,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(marks, [false, !hides_marks, !hides_marks]);
        assert_eq!(network.flows()[0].counters.marked_packets, 2, "the link has marked them");
    }
}
