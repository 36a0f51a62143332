//! The rate of a link as a token bucket.

use crate::netem::need::Need;
use crate::unsupported::Lacks;
use ccactl_scenario::LinkSpec;

/// The kernel counts Ethernet frames without their check sequence.
pub(crate) const KERNEL_OVERHEAD_BYTES: u32 = 14;
/// Full packets in the bucket, at least. One alone would lose tokens whenever the timer is late, and with them the rate.
const LEAST_BURST_PACKETS: u64 = 2;
/// How late the timer may be without a loss of rate. After an idle time so much leaves at once.
const BURST_MS: u64 = 1;
/// `tc_ratespec` has bytes per second in 32 bits.
const HIGHEST_BPS: u64 = (u32::MAX as u64) * 8;

pub(crate) fn shaper(link: &LinkSpec, lacks: &mut Lacks) -> Need {
    let bps = link.rate.bps;
    lacks.ensure(
        bps.is_multiple_of(8) && bps <= HIGHEST_BPS,
        "link.rate",
        "whole bytes per second in 32 bits",
        format!("{bps} bit/s"),
    );
    one_rate(link, lacks);
    let expected = format!("{KERNEL_OVERHEAD_BYTES}, what the kernel counts");
    let found = link.overhead_bytes;
    lacks.ensure(found == KERNEL_OVERHEAD_BYTES, "link.overhead_bytes", expected, found);
    let (burst, limit) = (burst_bytes(link), link.buffer_bytes());
    Need { kind: "tbf", field: "link.rate", words: format!("rate {bps}bit burst {burst} limit {limit}") }
}

/// What no transmitter inside the kernel does.
pub(crate) fn one_rate(link: &LinkSpec, lacks: &mut Lacks) {
    lacks.ensure(link.rate_steps.is_empty(), "link.rate_steps", "one rate for the whole run", "steps");
    lacks.ensure(link.rate_trace.is_none(), "link.rate_trace", "a rate", "a trace");
    lacks.ensure(link.wireless.is_none(), "link.wireless", "none: the kernel repeats no transmission", "one");
    lacks.ensure(
        link.ack_batch.is_none(),
        "link.ack_batch",
        "none: the kernel gathers no packets on the way back",
        "one",
    );
    lacks.ensure(!link.hide_marks, "link.hide_marks", "false: the kernel takes no mark off", "true");
    lacks.ensure(link.snoop.is_none(), "link.snoop", "none: the kernel has no such agent", "one");
}

fn burst_bytes(link: &LinkSpec) -> u64 {
    (link.rate.bps / 8 * BURST_MS / 1000).max(LEAST_BURST_PACKETS * link.frame_bytes())
}
