//! Rows of a recording from senders of the simulator: the same as `bpf/collect.bpf.c` makes of sockets of the kernel.

use super::file::RecordingFile;
use super::watch::{Named, Watch};
use crate::error::Result;
use ccactl_abi::layout::{self, NAME_LEN, Sample, name_bytes};
use ccactl_collector::Every;
use ccactl_link::Nanos;
use ccactl_sim::{FlowId, Moment, Observed, Sender, SenderEcn};
use std::net::Ipv4Addr;

/// Of every connection: the simulator has no namespaces.
const NETNS: u32 = 1;

/// What is remembered of a connection, as in `struct flow_state`.
struct Known {
    /// What stays the same.
    row: Sample,
    opened_ns: Nanos,
    sampled_ns: Nanos,
    progress_ns: Nanos,
    delivered_pkts: u32,
    acked_bytes: u64,
    rtt_sum_us: u64,
    rtt_samples: u32,
    rtt_min_us: u32,
    ca_state: u8,
    retrans_pkts: u32,
    rto_count: u32,
    delivered_ce_pkts: u32,
    ecn_ns: Nanos,
    is_open: bool,
}

/// Watches the senders of a run.
pub struct Rows {
    every: Every,
    flows: Vec<Known>,
    file: RecordingFile,
}

impl Rows {
    /// Into this file.
    pub fn new(every: Every, file: RecordingFile) -> Rows {
        Rows { every, flows: Vec::new(), file }
    }

    /// The file with its last rows.
    pub fn into_file(self) -> RecordingFile {
        self.file
    }

    /// What an ACK or a timer has changed: each once, however many segments it was about.
    fn changes(&mut self, flow: FlowId, at_ns: Nanos, sender: &Sender) -> Result<()> {
        let tp = sender.socket.tp();
        let timeouts = sender.totals().timeouts as u32;
        let known = &mut self.flows[flow];
        if tp.bytes_acked > known.acked_bytes {
            known.acked_bytes = tp.bytes_acked;
            known.progress_ns = at_ns;
        }
        let previous = std::mem::replace(&mut known.ca_state, tp.ca_state());
        let is_timeout = std::mem::replace(&mut known.rto_count, timeouts) != timeouts;
        let resends = std::mem::replace(&mut known.retrans_pkts, tp.total_retrans) != tp.total_retrans;
        let srtt_ns = u64::from(tp.srtt_us >> 3) * 1000;
        let is_marked = tp.delivered_ce != known.delivered_ce_pkts && at_ns - known.ecn_ns >= srtt_ns;
        if is_marked {
            known.delivered_ce_pkts = tp.delivered_ce;
            known.ecn_ns = at_ns;
        }
        if previous != tp.ca_state() {
            let row = self.sample(flow, at_ns, sender, layout::EVENT_CA_STATE);
            self.file.push(Sample { previous_ca_state: previous, ..row })?;
        }
        if is_timeout {
            self.row(flow, at_ns, sender, layout::EVENT_RTO)?;
        } else if resends {
            self.row(flow, at_ns, sender, layout::EVENT_RETRANS)?;
        }
        if is_marked { self.row(flow, at_ns, sender, layout::EVENT_ECN) } else { Ok(()) }
    }

    fn row(&mut self, flow: FlowId, at_ns: Nanos, sender: &Sender, event: u8) -> Result<()> {
        let row = self.sample(flow, at_ns, sender, event);
        self.file.push(row)
    }

    fn sample(&self, flow: FlowId, at_ns: Nanos, sender: &Sender, event: u8) -> Sample {
        let known = &self.flows[flow];
        let tp = sender.socket.tp();
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let trace = sender.socket.trace();
        Sample {
            time_ns: at_ns,
            event,
            pacing_rate_bytes_per_s: sender.socket.pacing_rate(),
            delivery_interval_us: u64::from(tp.rate_interval_us),
            delivery_pkts: tp.rate_delivered,
            bytes_acked: tp.bytes_acked,
            bytes_sent: tp.bytes_sent,
            bytes_retrans: tp.bytes_retrans,
            opened_ns: known.opened_ns,
            progress_ns: known.progress_ns,
            rtt_sum_us: known.rtt_sum_us,
            cwnd_pkts: tp.snd_cwnd,
            ssthresh_pkts: tp.snd_ssthresh,
            inflight_pkts: tp.in_flight(),
            snd_wnd_bytes: tp.snd_wnd,
            srtt_us: tp.srtt_us >> 3,
            rtt_us: tp.rack.rtt_us,
            min_rtt_us: tp.rtt_min[0].v,
            mss_bytes: tp.mss_cache,
            retrans_pkts: tp.total_retrans,
            rto_count: sender.totals().timeouts as u32,
            lost_pkts: tp.lost,
            delivered_pkts: tp.delivered,
            delivered_ce_pkts: tp.delivered_ce,
            delivered_ce_bytes: u64::from(tp.delivered_ce) * u64::from(tp.mss_cache),
            rtt_samples: known.rtt_samples,
            rtt_min_us: known.rtt_min_us,
            ca_state: tp.ca_state(),
            flags: flag(tp.app_limited != 0, layout::FLAG_APP_LIMITED)
                | flag(tp.flags & 1 != 0, layout::FLAG_CWND_LIMITED)
                | flag(trace.is_some(), layout::FLAG_TRACE),
            trace: trace.unwrap_or(known.row.trace),
            ..known.row
        }
    }
}

impl Watch for Rows {
    fn add(&mut self, flow: FlowId, named: &Named) {
        assert_eq!(flow, self.flows.len(), "each flow of the world is told");
        let address = |address: &Ipv4Addr| {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            bytes
        };
        let row = Sample {
            flow_id: flow as u64 + 1,
            cgroup_id: named.cgroup_id,
            netns: NETNS,
            sport: named.local.port(),
            dport: named.remote.port(),
            family: 4,
            saddr: address(named.local.ip()),
            daddr: address(named.remote.ip()),
            algorithm: kernel_name(&named.algorithm),
            ecn_mode: match named.ecn {
                SenderEcn::Off => layout::ECN_OFF,
                SenderEcn::Classic => layout::ECN_CLASSIC,
                SenderEcn::Accurate => layout::ECN_ACCURATE,
            },
            ..bytemuck::Zeroable::zeroed()
        };
        self.flows.push(Known {
            row,
            opened_ns: 0,
            sampled_ns: 0,
            progress_ns: 0,
            delivered_pkts: 0,
            acked_bytes: 0,
            rtt_sum_us: 0,
            rtt_samples: 0,
            rtt_min_us: 0,
            ca_state: 0,
            retrans_pkts: 0,
            rto_count: 0,
            delivered_ce_pkts: 0,
            ecn_ns: 0,
            is_open: false,
        });
    }

    fn see(&mut self, seen: &Observed<'_>) -> Result<()> {
        let Observed { at_ns, flow, moment, sender, .. } = *seen;
        let known = &mut self.flows[flow];
        match moment {
            Moment::Opened => {
                known.opened_ns = at_ns;
                known.is_open = true;
                self.row(flow, at_ns, sender, layout::EVENT_OPEN)
            }
            Moment::AckComes => {
                known.look(sender);
                let is_due = known.is_open && known.is_due(&self.every, at_ns, sender);
                if is_due { self.row(flow, at_ns, sender, layout::EVENT_SAMPLE) } else { Ok(()) }
            }
            Moment::AckDone | Moment::Timer => self.changes(flow, at_ns, sender),
            Moment::Complete => Ok(()),
        }
    }

    fn close(&mut self, flow: FlowId, at_ns: Nanos, sender: &Sender) -> Result<()> {
        if !std::mem::take(&mut self.flows[flow].is_open) {
            return Ok(());
        }
        self.flows[flow].look(sender);
        self.row(flow, at_ns, sender, layout::EVENT_CLOSE)
    }

    fn swapped(&mut self, flow: FlowId, at_ns: Nanos, sender: &Sender, algorithm: &str) -> Result<()> {
        let known = &mut self.flows[flow];
        let previous_algorithm = std::mem::replace(&mut known.row.algorithm, kernel_name(algorithm));
        if !known.is_open {
            return Ok(());
        }
        known.look(sender);
        let row = Sample { previous_algorithm, ..self.sample(flow, at_ns, sender, layout::EVENT_ALGORITHM) };
        self.file.push(row)
    }

    fn count(&self) -> u64 {
        self.file.rows()
    }
}

impl Known {
    /// Takes in what has happened since the last look: `look()` of `collect_flow.bpf.h`.
    fn look(&mut self, sender: &Sender) {
        let tp = sender.socket.tp();
        if tp.delivered == self.delivered_pkts {
            return;
        }
        self.delivered_pkts = tp.delivered;
        let rtt_us = tp.rack.rtt_us;
        if rtt_us > 0 {
            self.rtt_sum_us += u64::from(rtt_us);
            self.rtt_samples += 1;
            let least_us = tp.rtt_min[0].v.min(rtt_us);
            self.rtt_min_us = if self.rtt_min_us == 0 { least_us } else { self.rtt_min_us.min(least_us) };
        }
    }

    /// Whether a sample is due; if so, its next interval begins.
    fn is_due(&mut self, every: &Every, now_ns: Nanos, sender: &Sender) -> bool {
        let interval_ns = match every {
            Every::Ack => 0,
            Every::Rtt => u64::from(sender.socket.tp().srtt_us >> 3) * 1000,
            Every::Interval(interval) => interval.as_nanos() as u64,
        };
        let is_due = now_ns - self.sampled_ns >= interval_ns;
        if is_due {
            self.sampled_ns = now_ns;
        }
        is_due
    }
}

fn kernel_name(name: &str) -> [u8; NAME_LEN] {
    name_bytes(name).expect("checked with the scenario")
}
