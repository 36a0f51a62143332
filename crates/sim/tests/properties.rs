//! What holds on any path with any algorithm: packets are conserved, windows are kept, every byte arrives once, and the same
//! world gives the same trace in every build.

mod common;

use ccactl_link::{Capacity, Distribution, Jitter, LinkConfig, Loss, WireConfig};
use ccactl_native::{NAMES, Socket};
use ccactl_sim::{Data, FlowConfig, Moment, World};
use common::{MS, Path, S};
use proptest::prelude::*;

/// A link of any kind, and its path.
fn any_link() -> impl Strategy<Value = (Path, LinkConfig)> {
    let rates = prop::sample::select(vec![1_000_000_u64, 5_000_000, 20_000_000, 100_000_000]);
    let jitter = prop::option::of((0..20 * MS, any::<bool>()));
    (rates, 1_u64..150, 2_u64..400, 0.0..0.05_f64, jitter, any::<u64>()).prop_map(
        |(rate_bps, rtt_ms, buffer_pkts, loss, jitter, seed)| {
            let path = Path { rate_bps, rtt_ms, buffer_bdp: 1.0 };
            let jitter = jitter.map(|(max, reorder)| Jitter { distribution: Distribution::Uniform { max }, reorder });
            let wire = WireConfig { loss: Loss::Bernoulli(loss), jitter, ..path.link().wire };
            (path, LinkConfig { wire, seed, capacity: Capacity::Packets(buffer_pkts), ..path.link() })
        },
    )
}

fn senders() -> Vec<&'static str> {
    let sends = |name: &&str| Socket::new(name).is_ok_and(|socket| socket.unit().ops().ssthresh.is_some());
    NAMES.iter().copied().filter(sends).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn packets_are_conserved_windows_are_kept_and_every_byte_arrives_once(
        (path, link) in any_link(),
        algorithm in prop::sample::select(senders()),
        bytes in 1_u64..2_000_000,
    ) {
        let mut world = path.over(link);
        let socket = Socket::checked(algorithm).unwrap();
        world.add_flow(FlowConfig { data: Data::Bytes(bytes), ..path.flow(socket) });
        let mut sent_before = 0;
        let mut beyond = None;
        world.run_until(600 * S, |seen| {
            let (tp, totals) = (seen.sender.socket.tp(), seen.sender.totals());
            let new_pkts = totals.sent_pkts - totals.resent_pkts;
            // A probe may go beyond the window, and leaves at a timer.
            let sends = new_pkts > sent_before && seen.moment == Moment::AckDone;
            sent_before = new_pkts;
            let is_beyond = tp.in_flight() > tp.snd_cwnd || tp.snd_nxt.wrapping_sub(tp.snd_una) > tp.snd_wnd;
            if sends && is_beyond {
                beyond.get_or_insert((seen.at_ns, tp.in_flight(), tp.snd_cwnd, tp.snd_wnd));
            }
        });
        prop_assert_eq!(beyond, None);
        let (sender, totals) = (world.sender(0), world.sender(0).totals());
        prop_assert!(sender.is_done(), "{:?}", totals);
        prop_assert_eq!((totals.acked_bytes, world.receiver(0).received_bytes()), (bytes, bytes));
        prop_assert_eq!(sender.socket.tp().in_flight(), 0);
        let flow = world.network().flows()[0].counters;
        prop_assert_eq!(flow.offered_packets, totals.sent_pkts);
        prop_assert_eq!(flow.offered_packets, flow.delivered_packets + flow.dropped_packets() + flow.lost_packets);
        prop_assert_eq!(totals.sent_pkts, totals.resent_pkts + bytes.div_ceil(1448));
        prop_assert_eq!(world.network().inside(), 0);
    }
}

/// FNV-1a over times, flows and windows.
fn trace_hash(mut world: World) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    world.run_until(10 * S, |seen| {
        let numbers = [seen.at_ns, seen.flow as u64, u64::from(seen.sender.socket.cwnd())];
        for byte in numbers.iter().flat_map(|number| number.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    });
    hash
}

#[test]
fn a_trace_is_the_same_in_every_build() {
    let path = Path { rate_bps: 20_000_000, rtt_ms: 40, buffer_bdp: 1.0 };
    let jitter =
        Some(Jitter { distribution: Distribution::Normal { mean: MS, std_dev: MS, max: 4 * MS }, reorder: false });
    let wire = WireConfig { loss: Loss::Bernoulli(0.0005), jitter, ..path.link().wire };
    let mut world = path.over(LinkConfig { wire, seed: 7, ..path.link() });
    for algorithm in ["bbrv3", "cubic", "copa", "illinois"] {
        world.add_flow(path.flow(Socket::new(algorithm).unwrap()));
    }
    // Of a release and of a debug build. A change of the model, the algorithms or the draws of the link has another one.
    assert_eq!(trace_hash(world), GOLDEN, "the trace differs from that of the builds that the golden is of");
}

const GOLDEN: u64 = 17_223_729_493_934_100_188;
