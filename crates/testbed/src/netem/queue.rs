//! A queue discipline of a scenario as one of the kernel's, parameter by parameter. What the kernel has not, or has fixed to another
//! value, is a lack.

use crate::netem::need::Need;
use crate::unsupported::Lacks;
use ccactl_link::queue::{CoDel, Discipline, FqCoDel, Pie};
use ccactl_link::{Capacity, Nanos};
use ccactl_scenario::LinkSpec;

/// Scale of PIE's weights in the kernel: its `alpha` and `beta` are sixteenths of a per-second weight (`net/sched/sch_pie.c`).
const PIE_WEIGHT_SCALE: f64 = 16.0;
const PIE_MAX_WEIGHT: f64 = 32.0;
/// `MAX_BURST` of RFC 8033, which the kernel has as a constant.
const PIE_BURST_NS: Nanos = 150_000_000;
/// From a probability of a tenth on the kernel drops ECN-capable packets too.
const PIE_MAX_MARK: f64 = 0.1;
/// The kernel rounds the interval up to its ticks. Multiples of this are whole ticks at 100, 250, 300 and 1000 Hz; the default of 15 ms
/// becomes 16 ms at 250 Hz.
const PIE_TICKS_NS: Nanos = 20_000_000;
/// Room for the bytes of a queue that is limited in packets: more than any scenario allows.
const NO_MEMORY_LIMIT: &str = "1gb";

pub(crate) fn queue(link: &LinkSpec, lacks: &mut Lacks) -> Need {
    lacks.ensure(
        link.ecn_threshold.is_none(),
        "link.ecn_threshold",
        "none: the kernel has no step in bytes or packets",
        "one",
    );
    let (kind, words) = match &link.queue {
        Discipline::DropTail => match link.capacity() {
            Capacity::Bytes(bytes) => ("bfifo", format!("limit {bytes}")),
            Capacity::Packets(packets) => ("pfifo", format!("limit {packets}")),
        },
        Discipline::DropHead => ("pfifo_head_drop", format!("limit {}", packets(link, "pfifo_head_drop", lacks))),
        Discipline::CoDel(config) => ("codel", codel(link, config, lacks)),
        Discipline::FqCoDel(config) => ("fq_codel", fq_codel(link, config, lacks)),
        Discipline::Pie(config) => ("pie", pie(link, config, lacks)),
        Discipline::Policer(_) => without(lacks, "policer, which is no queue discipline of Linux"),
        Discipline::DualPi2(_) => without(lacks, "dual-pi2, which the tc of the guests does not know"),
        Discipline::Red(_) => {
            without(lacks, "red: that of Linux is not gentle and counts bytes with weights of powers of two")
        }
        Discipline::Sfq(_) => {
            without(lacks, "sfq: that of Linux serves quanta of bytes and holds 127 packets of a flow at most")
        }
        Discipline::Drr(_) => without(lacks, "drr: that of Linux has no queue per flow of its own"),
        Discipline::Wfq(_) => without(lacks, "wfq"),
        Discipline::ExponentialRed(_) => without(lacks, "exponential-red"),
        Discipline::Rem(_) => without(lacks, "rem"),
        Discipline::Classes(_) => without(lacks, "classes"),
        // Commit 051d44209842 took it out.
        Discipline::Cbq(_) => without(lacks, "cbq, which current kernels have not any more"),
        Discipline::AckFirst => without(lacks, "ack-first"),
        Discipline::Cba(_) => without(lacks, "cba"),
    };
    Need { kind, field: "link.queue", words }
}

fn without(lacks: &mut Lacks, found: &str) -> (&'static str, String) {
    lacks.ensure(false, "link.queue", "drop-tail, drop-head, codel, fq-codel or pie", found);
    ("", String::new())
}

/// The buffer of a discipline that counts packets.
fn packets(link: &LinkSpec, kind: &str, lacks: &mut Lacks) -> u64 {
    match link.capacity() {
        Capacity::Packets(packets) => packets,
        Capacity::Bytes(bytes) => {
            let full = bytes / link.frame_bytes();
            let expected = format!("packets, which are what {kind} counts (such as \"{full}p\")");
            lacks.ensure(false, "link.buffer", expected, format!("{bytes} bytes"));
            full
        }
    }
}

/// Whole microseconds, the unit of these disciplines.
fn micros(field: &str, span: Nanos, lacks: &mut Lacks) -> u64 {
    lacks.ensure(span.is_multiple_of(1000), field, "whole microseconds", format!("{span} ns"));
    span / 1000
}

fn ecn(on: bool) -> &'static str {
    if on { "ecn" } else { "noecn" }
}

/// The part that CoDel has on its own and in FQ-CoDel.
fn control(link: &LinkSpec, config: &CoDel, lacks: &mut Lacks) -> String {
    let full = link.frame_bytes();
    let found = config.mtu_bytes;
    lacks.ensure(u64::from(found) == full, "link.queue.mtu_bytes", format!("a full packet, {full}"), found);
    let target_us = micros("link.queue.target", config.target, lacks);
    let interval_us = micros("link.queue.interval", config.interval, lacks);
    format!("target {target_us}us interval {interval_us}us {}", ecn(config.ecn))
}

fn codel(link: &LinkSpec, config: &CoDel, lacks: &mut Lacks) -> String {
    format!("limit {} {}", packets(link, "codel", lacks), control(link, config, lacks))
}

fn fq_codel(link: &LinkSpec, config: &FqCoDel, lacks: &mut Lacks) -> String {
    /// `net/sched/sch_fq_codel.c` takes no smaller one.
    const LEAST_QUANTUM_BYTES: u32 = 256;
    let limit = packets(link, "fq_codel", lacks);
    let FqCoDel { queues, quantum_bytes, .. } = *config;
    let expected = format!("at least {LEAST_QUANTUM_BYTES}");
    lacks.ensure(quantum_bytes >= LEAST_QUANTUM_BYTES, "link.queue.quantum_bytes", expected, quantum_bytes);
    let control = control(link, &config.codel, lacks);
    // RFC 8290 and the emulator drop one packet when the buffer is too full; the kernel's default is a batch of 64.
    format!(
        "limit {limit} flows {queues} quantum {quantum_bytes} {control} memory_limit {NO_MEMORY_LIMIT} drop_batch 1"
    )
}

fn pie(link: &LinkSpec, config: &Pie, lacks: &mut Lacks) -> String {
    let field = |name: &str| format!("link.queue.{name}");
    let limit = packets(link, "pie", lacks);
    let full = link.frame_bytes();
    let Pie { target, update_interval, max_burst, mean_packet_bytes, derandomise, max_mark_probability, .. } = *config;
    let fixed = |what: &str| format!("{what}, which is fixed in the kernel");
    lacks.ensure(max_burst == PIE_BURST_NS, field("max_burst"), fixed("150ms"), format!("{max_burst} ns"));
    let expected = fixed(&format!("{full}, a full packet"));
    lacks.ensure(u64::from(mean_packet_bytes) == full, field("mean_packet_bytes"), expected, mean_packet_bytes);
    lacks.ensure(derandomise, field("derandomise"), fixed("true"), derandomise);
    let expected = fixed(&PIE_MAX_MARK.to_string());
    lacks.ensure(max_mark_probability == PIE_MAX_MARK, field("max_mark_probability"), expected, max_mark_probability);
    let [alpha, beta] = [("alpha", config.alpha), ("beta", config.beta)].map(|(name, weight)| {
        let scaled = weight * PIE_WEIGHT_SCALE;
        // tc takes a weight of 0 for none given.
        let fits = scaled.fract() == 0.0 && (1.0..=PIE_MAX_WEIGHT).contains(&scaled);
        lacks.ensure(fits, field(name), "a sixteenth or a multiple of it up to 2", weight);
        scaled as u32
    });
    let expected = "a multiple of 20ms, which is whole ticks of every kernel";
    let whole_ticks = update_interval.is_multiple_of(PIE_TICKS_NS) && update_interval > 0;
    lacks.ensure(whole_ticks, field("update_interval"), expected, format!("{update_interval} ns"));
    let target_us = micros(&field("target"), target, lacks);
    let update_us = update_interval / 1000;
    let ecn = ecn(config.ecn);
    format!("limit {limit} target {target_us}us tupdate {update_us}us alpha {alpha} beta {beta} {ecn} nobytemode")
}
