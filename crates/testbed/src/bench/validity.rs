//! Whether a run may be counted: the emulator has to have kept time, and the ends to have been ready.

use super::result::FlowResult;
use crate::emulator::EmulatorReport;
use crate::host::cpu::CpuUse;
use ccactl_link::network::Lateness;
use serde::{Deserialize, Serialize};

/// What to do about runs that are not valid.
pub const REMEDY: &str = "Not valid: the figures are not the algorithms' alone, mostly because this machine was busy with something else. \
     End that, run fewer cells side by side (--jobs 1), or use the virtual lab (--lab vm), which no load disturbs";

/// Rates up to this one are emulated packet by packet, faster ones in ticks.
const PACKETWISE_BPS: u64 = 100_000_000;
/// A rate is not judged by less than this.
const SHORTEST_BACKLOG_S: f64 = 1.0;
/// The kernel's TCP runs in the emulator's thread and a socket's buffer bridges the time until its process gets on. Processes at the
/// ends have real-time priority, so what they wait for is each other, and that is short. Where they had not and waited for 50 % of
/// a run at 100 Mbit/s, the sender no longer filled the link (`docs/performance.md`).
const CPU_WAITING: f64 = 0.5;
/// The emulator cannot run either in time that the hypervisor takes: with more than this, the 99th percentile of the lateness is
/// of such time.
const CPU_STOLEN: f64 = 0.01;

/// A sender that gets no CPU leaves its socket empty, and the congestion control idle where it would have sent: as much as the rate of
/// the link may be off.
const SOCKET_EMPTY: f64 = 0.01;

/// An emulator that stands still for as long as a round trip takes is one that the algorithms see. On a host that is left alone, the
/// 99.9th percentile stays far below (`docs/how-to/bench.md`, "What a host carries").
const LATENESS_P999_US: f64 = 10_000.0;
/// Faster links have more packets in the same pause.
const FAST_LATENESS_P999_US: f64 = 20_000.0;

/// A pause while hardly anything is in flight makes hardly any packet late, and shows in no percentile. On a starved host one of 35 s in a
/// run of 60 s made the 99.9th 0.4 ms. One as long as the shortest retransmission timeout (`TCP_RTO_MIN`, include/net/tcp.h) makes senders
/// take packets for lost.
const LATENESS_MAX_US: f64 = 200_000.0;

/// On a slow link a pause is worth what it delays: so many transmissions of 1500 bytes are nothing that an algorithm sees beside its own
/// queue. 40 ms at 1.5 Mbit/s; below 6 Mbit/s they are more than the limit above.
const LATE_TRANSMISSIONS: f64 = 5.0;

/// More packets than any receive window holds: 65 535 · 2¹⁴ bytes (RFC 7323 2.3) in segments of 536 bytes (RFC 9293 3.7.1) are 2.0
/// million. A window beyond was not the algorithm's choice; `docs/fidelity.md` tells of a kernel that makes such ones.
const IMPOSSIBLE_CWND_PKTS: u32 = 1 << 21;

/// What a valid run keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// 99th percentile of the lateness, links up to 100 Mbit/s.
    pub lateness_p99_us: f64,
    /// The same for faster links.
    pub fast_lateness_p99_us: f64,
    /// 99.9th percentile of the lateness, links up to 100 Mbit/s; slow ones have five transmissions of 1500 bytes.
    #[serde(default = "lateness_p999_us")]
    pub lateness_p999_us: f64,
    /// The same for faster links.
    #[serde(default = "fast_lateness_p999_us")]
    pub fast_lateness_p999_us: f64,
    /// Lateness of any packet.
    #[serde(default = "lateness_max_us")]
    pub lateness_max_us: f64,
    /// Difference between the rate while backlogged and the link's, as a share.
    pub rate_error: f64,
    /// Rows that the recorder may lose, as a share.
    pub recorder_loss: f64,
    /// Time in which a sending or receiving process of the run may have been waiting for a CPU, as a share; links up to
    /// 100 Mbit/s. Processes at the ends of faster ones wait that much, shortly and often, on a machine that does nothing else.
    pub cpu_waiting: f64,
    /// CPU time that the hypervisor may take, as a share.
    pub cpu_stolen: f64,
    /// Time for which the sending process of a flow may have left its socket without data, as a share.
    #[serde(default = "socket_empty")]
    pub socket_empty: f64,
}

/// Of results from before these limits, like the three below.
fn socket_empty() -> f64 {
    SOCKET_EMPTY
}

fn lateness_p999_us() -> f64 {
    LATENESS_P999_US
}

fn fast_lateness_p999_us() -> f64 {
    FAST_LATENESS_P999_US
}

fn lateness_max_us() -> f64 {
    LATENESS_MAX_US
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            lateness_p99_us: 1_000.0,
            fast_lateness_p99_us: 5_000.0,
            lateness_p999_us: LATENESS_P999_US,
            fast_lateness_p999_us: FAST_LATENESS_P999_US,
            lateness_max_us: LATENESS_MAX_US,
            rate_error: 0.01,
            recorder_loss: 0.01,
            cpu_waiting: CPU_WAITING,
            cpu_stolen: CPU_STOLEN,
            socket_empty: SOCKET_EMPTY,
        }
    }
}

impl Limits {
    /// The limits of the lateness, 99th and 99.9th percentile, for packets that come at most at `carried_bps`.
    #[must_use]
    pub fn lateness_us(&self, carried_bps: u64) -> (f64, f64) {
        if carried_bps <= PACKETWISE_BPS {
            let transmission_us = 1500.0 * 8.0 * 1e6 / carried_bps.max(1) as f64;
            (self.lateness_p99_us, self.lateness_p999_us.max(LATE_TRANSMISSIONS * transmission_us))
        } else {
            (self.fast_lateness_p99_us, self.fast_lateness_p999_us)
        }
    }
}

/// What a run is judged by.
pub struct Evidence<'a> {
    /// Highest rate at which packets can come through for long.
    pub carried_bps: u64,
    /// How late packets were given out; none where nobody knows.
    pub lateness: Option<&'a Lateness>,
    /// What the emulator measured about itself; none where the kernel carried the packets.
    pub emulator: Option<&'a EmulatorReport>,
    /// Packets dropped by the devices.
    pub device_drops: u64,
    /// Rows recorded, and rows lost.
    pub recorded: (u64, u64),
    /// What became of the CPUs' time.
    pub cpu: CpuUse,
    /// The flows.
    pub flows: &'a [FlowResult],
}

/// Rate error of a run, `None` when the bottleneck was not backlogged for long enough.
#[must_use]
pub fn rate_error(emulator: &EmulatorReport) -> Option<f64> {
    emulator.rate_error.filter(|_| emulator.backlogged_s >= SHORTEST_BACKLOG_S)
}

/// What speaks against a run; nothing, if it is valid.
pub fn problems(limits: &Limits, evidence: &Evidence<'_>) -> Vec<String> {
    let cpu = &evidence.cpu;
    let mut problems = evidence.lateness.map_or_else(Vec::new, |late| of_lateness(limits, evidence.carried_bps, late));
    problems.extend(evidence.emulator.into_iter().flat_map(|emulator| of_emulator(limits, emulator)));
    problems.extend(any(evidence.device_drops, "packets dropped by the devices"));
    let (rows, lost) = evidence.recorded;
    if lost as f64 > limits.recorder_loss * (rows + lost) as f64 {
        problems.push(format!(
            "{lost} of {} rows lost by the recorder, expected at most {} %",
            rows + lost,
            limits.recorder_loss * 100.0
        ));
    }
    let waiting = cpu.run_waiting.filter(|_| evidence.carried_bps <= PACKETWISE_BPS);
    let shares = [
        (waiting, limits.cpu_waiting, "of the time a process of the run waited for a CPU".to_owned()),
        (Some(cpu.stolen), limits.cpu_stolen, "of the CPU time was taken by the hypervisor".to_owned()),
    ];
    let of_flow = |flow: &FlowResult| {
        let what = format!("of its time the sending process of flow {} left the socket empty", flow.name);
        (flow.socket_empty, limits.socket_empty, what)
    };
    for (share, limit, what) in shares.into_iter().chain(evidence.flows.iter().map(of_flow)) {
        if let Some(share) = share.filter(|share| *share > limit) {
            problems.push(format!("{:.1} % {what}, expected at most {} %", share * 100.0, limit * 100.0));
        }
    }
    problems.extend(evidence.flows.iter().filter_map(impossible_window));
    problems
}

/// Whether a flow had a window that no algorithm can have meant.
fn impossible_window(flow: &FlowResult) -> Option<String> {
    let pkts = flow.metrics.as_ref()?.cwnd_max_pkts.filter(|pkts| *pkts > IMPOSSIBLE_CWND_PKTS)?;
    let name = &flow.name;
    Some(format!(
        "a cwnd of {pkts} packets of flow {name}, expected at most {IMPOSSIBLE_CWND_PKTS}: the kernel left out a call of the algorithm"
    ))
}

/// Whether packets were given out in time.
fn of_lateness(limits: &Limits, carried_bps: u64, late: &Lateness) -> Vec<String> {
    let mut problems = Vec::new();
    let (p99_limit_us, p999_limit_us) = limits.lateness_us(carried_bps);
    for (name, us, limit_us) in [
        ("p99", late.p99_us, p99_limit_us),
        ("p99.9", late.p999_us, p999_limit_us),
        ("of a packet", late.max_us, limits.lateness_max_us),
    ] {
        if us > limit_us {
            problems.push(format!("lateness {name} {us:.0} us, expected at most {limit_us:.0} us"));
        }
    }
    problems
}

/// Whether the emulator kept the rate and lost nothing by itself.
fn of_emulator(limits: &Limits, emulator: &EmulatorReport) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(error) = rate_error(emulator).filter(|error| error.abs() > limits.rate_error) {
        let limit = limits.rate_error * 100.0;
        problems.push(format!("rate error {:+.2} %, expected at most {limit} %", error * 100.0));
    }
    let troubles = [
        (emulator.troubles.write_failures, "packets refused by the devices"),
        (emulator.troubles.read_failures, "errors when reading from the devices"),
        (emulator.troubles.pool_exhausted, "times out of packet memory"),
    ];
    problems.extend(troubles.into_iter().filter_map(|(count, what)| any(count, what)));
    problems
}

fn any(count: u64, what: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {what}, expected none"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Troubles;
    use ccactl_link::network::NetworkReport;
    use ccactl_report::Measures;

    const QUIET: CpuUse = CpuUse {
        machine_waiting: Some(0.9),
        run_waiting: Some(0.1),
        stolen: 0.0,
        idle: 0.5,
        busy_s: None,
        processes_s: 1.0,
        ends_realtime: true,
        emulator_s: Some(1.0),
    };

    fn good() -> EmulatorReport {
        EmulatorReport {
            realtime: true,
            reserved: true,
            cpu_s: 1.0,
            lateness: Lateness { packets: 1, p50_us: 10.0, p99_us: 900.0, p999_us: 3000.0, max_us: 9000.0 },
            network: NetworkReport::default(),
            rate_error: Some(0.005),
            backlogged_s: 5.0,
            troubles: Troubles::default(),
            stray_packets: 0,
        }
    }

    fn judge(
        carried_bps: u64,
        emulator: &EmulatorReport,
        drops: u64,
        recorded: (u64, u64),
        cpu: CpuUse,
    ) -> Vec<String> {
        let evidence = Evidence {
            carried_bps,
            lateness: Some(&emulator.lateness),
            emulator: Some(emulator),
            device_drops: drops,
            recorded,
            cpu,
            flows: &[],
        };
        problems(&Limits::default(), &evidence)
    }

    #[test]
    fn a_run_within_the_limits_is_valid() {
        assert_eq!(judge(100_000_000, &good(), 0, (1000, 10), QUIET), Vec::<String>::new());
        let blind = CpuUse { run_waiting: None, ..QUIET };
        assert_eq!(judge(100_000_000, &good(), 0, (0, 0), blind), Vec::<String>::new());
    }

    #[test]
    fn each_limit_is_a_reason_of_its_own() {
        let late = Lateness { p99_us: 1001.0, ..good().lateness };
        let stopped = Lateness { p999_us: 10_001.0, ..good().lateness };
        let paused = Lateness { max_us: 200_001.0, ..good().lateness };
        let trouble = |troubles| EmulatorReport { troubles, ..good() };
        let none = Troubles::default();
        let cases = [
            (EmulatorReport { lateness: late, ..good() }, 0, (1000, 0), QUIET, "lateness p99 1001 us"),
            (EmulatorReport { lateness: stopped, ..good() }, 0, (1000, 0), QUIET, "lateness p99.9 10001 us"),
            (EmulatorReport { lateness: paused, ..good() }, 0, (1000, 0), QUIET, "lateness of a packet 200001 us"),
            (EmulatorReport { rate_error: Some(-0.011), ..good() }, 0, (1000, 0), QUIET, "rate error -1.10 %"),
            (trouble(Troubles { write_failures: 1, ..none }), 0, (1000, 0), QUIET, "refused"),
            (trouble(Troubles { pool_exhausted: 1, ..none }), 0, (1000, 0), QUIET, "memory"),
            (trouble(Troubles { read_failures: 1, ..none }), 0, (1000, 0), QUIET, "reading"),
            (good(), 2, (1000, 0), QUIET, "2 packets dropped"),
            (good(), 0, (1000, 11), QUIET, "rows lost"),
            (good(), 0, (1000, 0), CpuUse { run_waiting: Some(0.51), ..QUIET }, "51.0 % of the time a process"),
            (good(), 0, (1000, 0), CpuUse { stolen: 0.02, ..QUIET }, "2.0 % of the CPU time"),
        ];
        for (report, drops, recorded, cpu, expected) in cases {
            let found = judge(100_000_000, &report, drops, recorded, cpu);
            assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_fast_link_may_be_later_and_a_short_backlog_says_nothing_about_the_rate() {
        let late = Lateness { p99_us: 4000.0, p999_us: 15_000.0, ..good().lateness };
        let report = EmulatorReport { lateness: late, backlogged_s: 0.9, rate_error: Some(0.5), ..good() };
        let busy = CpuUse { run_waiting: Some(0.7), ..QUIET };
        assert_eq!(judge(1_000_000_000, &report, 0, (0, 0), busy), Vec::<String>::new());
    }

    #[test]
    fn a_slow_link_may_be_late_by_some_of_its_transmissions() {
        let with = |p999_us| EmulatorReport { lateness: Lateness { p999_us, ..good().lateness }, ..good() };
        assert_eq!(judge(1_500_000, &with(39_000.0), 0, (0, 0), QUIET), Vec::<String>::new());
        assert_eq!(judge(1_500_000, &with(41_000.0), 0, (0, 0), QUIET).len(), 1);
    }

    fn flow(socket_empty: Option<f64>, cwnd_max_pkts: Option<u32>) -> FlowResult {
        FlowResult {
            name: "one".to_owned(),
            algorithm: "reno".to_owned(),
            kernel_name: "reno".to_owned(),
            connect_us: None,
            complete: None,
            received_bytes: 0,
            link: None,
            queueing: None,
            socket_empty,
            metrics: Some(Measures { cwnd_max_pkts, ..Measures::default() }),
            changes: Vec::new(),
            transfers: Vec::new(),
            completion: None,
            paths: Vec::new(),
        }
    }

    /// On a fast link, and without the emulator.
    fn judge_flow(flow: FlowResult) -> Vec<String> {
        let flows = [flow];
        let evidence = Evidence {
            carried_bps: 400_000_000,
            lateness: None,
            emulator: None,
            device_drops: 0,
            recorded: (1000, 0),
            cpu: QUIET,
            flows: &flows,
        };
        problems(&Limits::default(), &evidence)
    }

    #[test]
    fn a_kernel_that_was_late_is_a_reason_as_an_emulator_is() {
        let late = Lateness { p99_us: 1001.0, ..good().lateness };
        let evidence = Evidence {
            carried_bps: 100_000_000,
            lateness: Some(&late),
            emulator: None,
            device_drops: 0,
            recorded: (1000, 0),
            cpu: QUIET,
            flows: &[],
        };
        assert_eq!(problems(&Limits::default(), &evidence), ["lateness p99 1001 us, expected at most 1000 us"]);
    }

    #[test]
    fn a_window_that_no_algorithm_can_have_meant_is_a_reason() {
        assert_eq!(judge_flow(flow(None, Some(IMPOSSIBLE_CWND_PKTS))), Vec::<String>::new());
        let found = judge_flow(flow(None, Some(1_963_000_000)));
        assert!(found.len() == 1 && found[0].contains("a cwnd of 1963000000 packets of flow one"), "{found:?}");
    }

    #[test]
    fn a_starved_sender_is_a_reason_at_every_rate_and_without_the_emulator() {
        let judge = |socket_empty| judge_flow(flow(socket_empty, None));
        assert_eq!((judge(None), judge(Some(SOCKET_EMPTY))), (Vec::new(), Vec::new()));
        let found = judge(Some(0.142));
        assert!(
            found.len() == 1 && found[0].contains("14.2 % of its time the sending process of flow one"),
            "{found:?}"
        );
    }
}
