//! What TCP_INFO does not tell of a socket, read by a BPF iterator: `objects/sockets.bpf.c`.

use super::compile;
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{Iter, Link, Object, ObjectBuilder};
use std::io::Read;
use std::net::TcpStream;

/// `SK_PACING_NONE` and `SK_PACING_NEEDED` of include/net/sock.h.
pub const PACING_NONE: u32 = 0;
pub const PACING_NEEDED: u32 = 1;
/// `TCP_INFINITE_SSTHRESH` of include/net/tcp.h.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// `struct row`
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct State {
    pub pacing_rate_bytes_per_s: u64,
    /// Address of the ops table of the algorithm in use.
    pub ops: u64,
    /// The algorithm's own first word: of a model, whether its `init` ran and found memory.
    pub first_of_priv: u64,
    pub pacing_status: u32,
    pub cwnd_pkts: u32,
    pub ssthresh_pkts: u32,
    pub cwnd_cnt: u32,
    pub packets_out: u32,
    pub in_flight_pkts: u32,
    pub mss_bytes: u32,
    /// µs << 3
    pub srtt_us: u32,
    pub min_rtt_us: u32,
    pub ca_state: u32,
    pub state: u32,
    pub local_port: u16,
    pub remote_port: u16,
}

impl State {
    /// `tcp_update_pacing_rate()` with the default ratios: what the kernel sets after every ACK.
    pub fn kernel_rate(&self) -> u64 {
        let percent = if self.cwnd_pkts < self.ssthresh_pkts / 2 { 200 } else { 120 };
        let window = u64::from(self.mss_bytes) * u64::from(self.cwnd_pkts.max(self.packets_out));
        window * percent * 80_000 / u64::from(self.srtt_us.max(1))
    }
}

/// The iterator, loaded once per test.
pub struct Sockets {
    link: Link,
    _object: Object,
}

impl Sockets {
    pub fn load() -> Self {
        let bytes = compile("sockets.bpf.c", &[]);
        let object = ObjectBuilder::default().open_memory(&bytes).unwrap().load().unwrap();
        let link = object.progs_mut().next().unwrap().attach().unwrap();
        Self { link, _object: object }
    }

    /// Every TCP socket of this thread's network namespace.
    pub fn all(&self) -> Vec<State> {
        let mut bytes = Vec::new();
        Iter::new(&self.link).unwrap().read_to_end(&mut bytes).unwrap();
        bytes.chunks_exact(size_of::<State>()).map(bytemuck::pod_read_unaligned).collect()
    }

    /// One end of a connection of this thread's network namespace.
    pub fn of(&self, end: &TcpStream) -> State {
        let ports = (end.local_addr().unwrap().port(), end.peer_addr().unwrap().port());
        self.by_ports(ports).expect("the socket is in this namespace")
    }

    /// By local and remote port.
    pub fn by_ports(&self, ports: (u16, u16)) -> Option<State> {
        self.all().into_iter().find(|state| (state.local_port, state.remote_port) == ports)
    }
}
