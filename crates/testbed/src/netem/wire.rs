//! What happens to a packet after its transmission, as netem: delay, jitter, loss.

use crate::netem::need::Need;
use crate::unsupported::Lacks;
use ccactl_link::Nanos;
use ccactl_scenario::units::Span;
use ccactl_scenario::{Distribution, JitterSpec, LinkSpec, LossSpec};

/// The smallest frame that a wire may be full of: with it the room of a wire is counted.
const SMALLEST_FRAME_BYTES: u64 = 60;
/// Packets beyond those that fit on the wire at the rate of the link: what a way without a transmitter has at once.
const SPARE_PACKETS: u64 = 20_000;
/// A wire without reordering is one on which no packet is due before the one ahead: netem does that where it has a rate. At this
/// one, the highest, the transmission itself takes 0.4 µs.
const KEEP_ORDER: &str = "rate 34359738360bit";

/// The wire behind a transmitter; none if it does nothing.
pub(crate) fn wire(link: &LinkSpec, lacks: &mut Lacks) -> Option<Need> {
    lacks.ensure(link.base_rtt_steps.is_empty(), "link.base_rtt_steps", "one delay for the whole run", "steps");
    let delay = Span { ns: link.base_rtt.ns / 2 };
    let jitter = link.jitter.map(|jitter| jitter_words(delay, jitter, lacks));
    let field = if link.jitter.is_some() { "link.jitter" } else { "link.base_rtt" };
    let loss = loss_words(link.loss);
    let longest = delay.ns + link.jitter.map_or(0, |jitter| jitter.max.ns);
    let words = [jitter.or_else(|| delay_words(delay)), loss.clone()].into_iter().flatten().collect::<Vec<_>>();
    let field = if delay.ns == 0 && link.jitter.is_none() { "link.loss" } else { field };
    netem(field, link, longest, &words)
}

/// The way back of a link without a transmitter there: propagation alone.
pub(crate) fn way_back(link: &LinkSpec) -> Option<Need> {
    let delay = Span { ns: link.base_rtt.ns / 2 };
    netem("link.base_rtt", link, delay.ns, &delay_words(delay).into_iter().collect::<Vec<_>>())
}

/// What a flow adds to the round trip. Unlike the emulator, which puts a half at the end of each way, all of it lies on the way to
/// the flow's host: the cable to the server is everybody's.
pub(crate) fn extra(link: &LinkSpec, extra_rtt: Span) -> Option<Need> {
    netem("flow.extra_rtt", link, extra_rtt.ns, &delay_words(extra_rtt).into_iter().collect::<Vec<_>>())
}

fn netem(field: &'static str, link: &LinkSpec, longest: Nanos, words: &[String]) -> Option<Need> {
    if words.is_empty() {
        return None;
    }
    let bytes = u128::from(link.rate.bps) * u128::from(longest) / 8_000_000_000;
    let limit = bytes as u64 / SMALLEST_FRAME_BYTES + SPARE_PACKETS;
    Some(Need { kind: "netem", field, words: format!("limit {limit} {}", words.join(" ")) })
}

fn delay_words(delay: Span) -> Option<String> {
    (delay.ns > 0).then(|| format!("delay {}", micros(delay.ns)))
}

/// `tc` counts delays in microseconds and takes fractions of them.
fn micros(ns: Nanos) -> String {
    format!("{}us", ns as f64 / 1000.0)
}

/// netem draws from both sides of a mean, the scenario from the delay upwards.
fn jitter_words(delay: Span, jitter: JitterSpec, lacks: &mut Lacks) -> String {
    let uniform = jitter.distribution == Distribution::Uniform;
    lacks.ensure(uniform, "link.jitter.distribution", "\"uniform\"", "\"normal\" with truncation, which netem has not");
    let half = jitter.max.ns / 2;
    let order = if jitter.reorder { String::new() } else { format!(" {KEEP_ORDER}") };
    format!("delay {} {}{order}", micros(delay.ns + half), micros(half))
}

/// Percent with all digits of the probability.
fn percent(probability: f64) -> String {
    format!("{}%", probability * 100.0)
}

fn loss_words(loss: LossSpec) -> Option<String> {
    match loss {
        LossSpec::Random(0.0) => None,
        LossSpec::Random(probability) => Some(format!("loss random {}", percent(probability))),
        // netem's chain is ours: the loss is that of the state before the change. Its third figure is "1 - h", the loss of the bad state,
        // its fourth the loss of the good one (`tc-netem(8)`, `loss_gilb_ell()` of `net/sched/sch_netem.c`).
        LossSpec::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            let [p, r, bad, good] = [good_to_bad, bad_to_good, loss_bad, loss_good].map(percent);
            Some(format!("loss gemodel {p} {r} {bad} {good}"))
        }
    }
}
