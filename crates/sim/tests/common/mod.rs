//! Flows through one bottleneck.

use ccactl_link::network::{self, Transmitter};
use ccactl_link::{Capacity, LinkConfig, WireConfig};
use ccactl_native::Socket;
use ccactl_sim::{Data, FlowConfig, Opening, ReceiverConfig, SenderConfig, World};

pub const MS: u64 = 1_000_000;
pub const S: u64 = 1000 * MS;

/// A bottleneck with a drop-tail queue.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub rate_bps: u64,
    pub rtt_ms: u64,
    pub buffer_bdp: f64,
}

impl Path {
    /// Segments of 1500 bytes on the wire in flight without a queue.
    pub fn bdp_pkts(&self) -> f64 {
        self.rate_bps as f64 * self.rtt_ms as f64 / 1000.0 / 8.0 / 1500.0
    }

    pub fn link(&self) -> LinkConfig {
        let bytes = (self.bdp_pkts() * 1500.0 * self.buffer_bdp) as u64;
        let wire = WireConfig { delay: vec![(0, self.rtt_ms * MS / 2)], ..WireConfig::default() };
        LinkConfig { wire, ..LinkConfig::drop_tail(self.rate_bps, Capacity::Bytes(bytes)) }
    }

    /// A flow that never runs out of data.
    pub fn flow(&self, socket: Socket) -> FlowConfig {
        FlowConfig {
            socket,
            sender: SenderConfig { handshake_rtt_us: self.rtt_ms as u32 * 1000, ..SenderConfig::default() },
            receiver: ReceiverConfig::default(),
            path: 0,
            opening: Opening::Established,
            start_ns: 0,
            data: Data::Endless,
        }
    }

    /// A world with that link as the bottleneck, whose ACKs come back in half the RTT, and no flow.
    pub fn over(&self, config: LinkConfig) -> World {
        let path = network::Path::through(0, self.rtt_ms * MS / 2);
        World::new(vec![Transmitter::bottleneck(config)], vec![path], 0)
    }

    /// A world with this bottleneck and a flow of each algorithm.
    #[allow(dead_code, reason = "properties have links of any kind")]
    pub fn world(&self, algorithms: &[&str]) -> World {
        let mut world = self.over(self.link());
        for algorithm in algorithms {
            world.add_flow(self.flow(Socket::new(algorithm).unwrap()));
        }
        world
    }

    /// Mbit/s of payload of each flow between two moments.
    #[allow(dead_code, reason = "properties look at whole transfers")]
    pub fn goodputs_mbps(&self, algorithms: &[&str], from_s: u64, to_s: u64) -> Vec<f64> {
        let mut world = self.world(algorithms);
        let received = |world: &World| -> Vec<u64> {
            (0..algorithms.len()).map(|flow| world.receiver(flow).received_bytes()).collect()
        };
        world.run_until(from_s * S, |_| {});
        let before = received(&world);
        world.run_until(to_s * S, |_| {});
        let seconds = (to_s - from_s) as f64;
        received(&world).iter().zip(before).map(|(now, then)| (now - then) as f64 * 8.0 / seconds / 1e6).collect()
    }
}
