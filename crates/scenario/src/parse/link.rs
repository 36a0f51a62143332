//! `[link]` and `[[hop]]`

use crate::fields::{DELAY_STEP, GILBERT_ELLIOTT, HOP, JITTER, LINK, LOSS, RATE_STEP, RTT_STEP, TRACE, WIRELESS};
use crate::queue::{Sizes, queue};
use crate::reader::Fields;
use crate::spec::{bdp_bytes, queue_size};
use crate::units::Span;
use crate::{
    Distribution, HopSpec, JitterSpec, LinkSpec, LossSpec, RateStep, RttStep, ScenarioError, Trace, WirelessSpec,
};

/// Ethernet header: a TUN device carries IP packets, a wire carries frames.
const DEFAULT_OVERHEAD_BYTES: u32 = 14;
const DEFAULT_MTU: u32 = 1500;
const DEFAULT_SEED: u64 = 1;
/// Default of dot11ShortRetryLimit, IEEE 802.11-2016 annex C.
const DEFAULT_RETRIES: u32 = 7;
/// Seeds of hops lie so far apart that those of many runs do not meet.
const HOP_SEED_STEP: u64 = 1 << 32;

pub(super) fn bottleneck(fields: Fields<'_, '_>) -> Result<LinkSpec, ScenarioError> {
    let fields = fields.only(&LINK)?;
    let base = Base {
        base_rtt: fields.required("base_rtt")?,
        base_rtt_steps: fields
            .optional_tables("base_rtt_steps")?
            .into_iter()
            .map(rtt_step)
            .collect::<Result<_, _>>()?,
        bdp_rtt: None,
        mtu: fields.or("mtu", DEFAULT_MTU)?,
        seed: fields.or("seed", DEFAULT_SEED)?,
    };
    link(&fields, base)
}

/// The hop with this number, from 1.
pub(super) fn hop(fields: Fields<'_, '_>, bottleneck: &LinkSpec, number: u64) -> Result<HopSpec, ScenarioError> {
    let fields = fields.only(&HOP)?;
    let base = Base {
        base_rtt: twice(fields.required("delay")?),
        base_rtt_steps: fields.optional_tables("delay_steps")?.into_iter().map(delay_step).collect::<Result<_, _>>()?,
        // What a hop delays alone says little about the paths through it.
        bdp_rtt: Some(bottleneck.bdp_rtt.unwrap_or(bottleneck.base_rtt)),
        mtu: bottleneck.mtu,
        seed: fields.or("seed", bottleneck.seed.wrapping_add(number.wrapping_mul(HOP_SEED_STEP)))?,
    };
    Ok(HopSpec { name: fields.required("name")?, link: link(&fields, base)? })
}

/// What bottleneck and hop name differently, or have different defaults for.
struct Base {
    base_rtt: Span,
    base_rtt_steps: Vec<RttStep>,
    bdp_rtt: Option<Span>,
    mtu: u32,
    seed: u64,
}

fn link(fields: &Fields<'_, '_>, base: Base) -> Result<LinkSpec, ScenarioError> {
    let rate_trace = rate_trace(fields)?;
    let rate = match (fields.optional("rate")?, &rate_trace) {
        (Some(rate), _) => rate,
        (None, Some(trace)) => trace.mean_rate(),
        (None, None) => return Err(fields.missing("rate")),
    };
    let overhead_bytes = fields.or("overhead_bytes", DEFAULT_OVERHEAD_BYTES)?;
    let bdp_rtt = fields.optional("bdp_rtt")?.or(base.bdp_rtt);
    let bdp_bytes = bdp_bytes(rate, bdp_rtt.unwrap_or(base.base_rtt));
    let sizes = Sizes { capacity: &|size| queue_size(size, bdp_bytes), frame_bytes: base.mtu + overhead_bytes };
    Ok(LinkSpec {
        rate,
        base_rtt: base.base_rtt,
        buffer: fields.required("buffer")?,
        queue: queue(fields, &sizes)?,
        ecn_threshold: fields.optional("ecn_threshold")?,
        loss: loss(fields)?,
        rate_steps: fields.optional_tables("rate_steps")?.into_iter().map(rate_step).collect::<Result<_, _>>()?,
        rate_trace,
        base_rtt_steps: base.base_rtt_steps,
        jitter: jitter(fields)?,
        ack_batch: fields.optional("ack_batch")?,
        ack_filter: fields.or("ack_filter", false)?,
        hide_marks: fields.or("hide_marks", false)?,
        wireless: fields.optional_table("wireless")?.map(wireless).transpose()?,
        snoop: fields.optional("snoop")?,
        duplex: fields.or("duplex", false)?,
        down_buffer: fields.optional("down_buffer")?,
        overhead_bytes,
        bdp_rtt,
        mtu: base.mtu,
        seed: base.seed,
    })
}

fn twice(span: Span) -> Span {
    Span { ns: span.ns.saturating_mul(2) }
}

pub(super) fn rate_step(fields: Fields<'_, '_>) -> Result<RateStep, ScenarioError> {
    let fields = fields.only(&RATE_STEP)?;
    Ok(RateStep { at: fields.required("at")?, rate: fields.required("rate")? })
}

fn rtt_step(fields: Fields<'_, '_>) -> Result<RttStep, ScenarioError> {
    let fields = fields.only(&RTT_STEP)?;
    Ok(RttStep { at: fields.required("at")?, base_rtt: fields.required("base_rtt")? })
}

fn delay_step(fields: Fields<'_, '_>) -> Result<RttStep, ScenarioError> {
    let fields = fields.only(&DELAY_STEP)?;
    Ok(RttStep { at: fields.required("at")?, base_rtt: twice(fields.required("delay")?) })
}

fn rate_trace(fields: &Fields<'_, '_>) -> Result<Option<Trace>, ScenarioError> {
    let read = |file: &str, hash: Option<&str>| {
        Trace::read(fields.folder(), file, hash).map_err(|message| fields.error("rate_trace", message))
    };
    if fields.is_text("rate_trace") {
        let file: String = fields.required("rate_trace")?;
        return read(&file, None).map(Some);
    }
    let Some(table) = fields.optional_table("rate_trace")? else { return Ok(None) };
    let table = table.only(&TRACE)?;
    let (file, hash): (String, Option<String>) = (table.required("file")?, table.optional("hash")?);
    read(&file, hash.as_deref()).map(Some)
}

fn loss(fields: &Fields<'_, '_>) -> Result<LossSpec, ScenarioError> {
    if !fields.is_table("loss") {
        return Ok(LossSpec::Random(fields.or("loss", 0.0)?));
    }
    let chain = fields.table("loss")?.only(&LOSS)?.table("gilbert_elliott")?.only(&GILBERT_ELLIOTT)?;
    Ok(LossSpec::GilbertElliott {
        good_to_bad: chain.required("good_to_bad")?,
        bad_to_good: chain.required("bad_to_good")?,
        loss_good: chain.or("loss_good", 0.0)?,
        loss_bad: chain.or("loss_bad", 1.0)?,
    })
}

fn jitter(fields: &Fields<'_, '_>) -> Result<Option<JitterSpec>, ScenarioError> {
    let uniform = |max| JitterSpec { max, distribution: Distribution::Uniform, reorder: false };
    if !fields.is_table("jitter") {
        return Ok(fields.optional("jitter")?.map(uniform));
    }
    let table = fields.table("jitter")?.only(&JITTER)?;
    let distribution: String = table.or("distribution", "uniform".to_owned())?;
    let distribution = match distribution.as_str() {
        "uniform" => match ["mean", "std_dev"].into_iter().find(|field| table.has(field)) {
            None => Distribution::Uniform,
            Some(field) => {
                return Err(table.error(field, "expected no such field of a uniform distribution".to_owned()));
            }
        },
        "normal" => Distribution::Normal { mean: table.required("mean")?, std_dev: table.required("std_dev")? },
        other => {
            return Err(table.error("distribution", format!("expected \"uniform\" or \"normal\", found {other:?}")));
        }
    };
    Ok(Some(JitterSpec { distribution, reorder: table.or("reorder", false)?, ..uniform(table.required("max")?) }))
}

fn wireless(fields: Fields<'_, '_>) -> Result<WirelessSpec, ScenarioError> {
    let fields = fields.only(&WIRELESS)?;
    Ok(WirelessSpec {
        error: fields.required("error")?,
        retries: fields.or("retries", DEFAULT_RETRIES)?,
        retry_delay: fields.or("retry_delay", Span::default())?,
    })
}
