//! From text to a [`Scenario`]: fields and defaults. What the fields mean together is checked in `check`.

use super::reader::{Fields, Source, offset_of};
use super::swaps::{self, Tour};
use super::{FlowSpec, LinkSpec, Published, RateStep, Scenario, ScenarioError, SwapSpec, Thresholds, UdpSpec, check};
use crate::units::Span;
use std::path::Path;

/// Ethernet header: a TUN device carries IP packets, a wire carries frames.
const DEFAULT_OVERHEAD_BYTES: u32 = 14;
const DEFAULT_MTU: u32 = 1500;
const DEFAULT_SEED: u64 = 1;

impl Scenario {
    /// Parses a scenario; `origin` is the file name that errors show.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn parse(origin: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let source = Source { origin, text };
        let document = source.parse()?;
        let fields = Fields::new(&source, &document).only(&[
            "name",
            "description",
            "duration",
            "repeat",
            "every",
            "link",
            "flow",
            "swap",
            "udp",
            "thresholds",
            "published",
        ])?;
        let duration = fields.required("duration")?;
        let link = link(fields.table("link")?)?;
        let mtu = link.mtu;
        let (flows, tours): (Vec<_>, Vec<_>) = fields
            .tables("flow")?
            .into_iter()
            .map(|f| flow(f, duration))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .unzip();
        let swaps = fields.optional_tables("swap")?.into_iter().map(swap).collect::<Result<Vec<_>, _>>()?;
        let planned = swaps::plan(&flows, swaps, tours);
        let mut scenario = Scenario {
            name: fields.or("name", stem(origin))?,
            description: fields.or("description", String::new())?,
            duration,
            repeat: fields.or("repeat", 1)?,
            every: fields.or("every", "ack".to_owned())?,
            link,
            flows,
            swaps: Vec::new(),
            udp: fields.optional_tables("udp")?.into_iter().map(|f| udp(f, duration, mtu)).collect::<Result<_, _>>()?,
            thresholds: fields.optional_table("thresholds")?.map(thresholds).transpose()?.unwrap_or_default(),
            published: fields.optional_table("published")?.map(published).transpose()?,
        };
        check::check(&scenario)
            .and_then(|()| swaps::check(&scenario, &planned))
            .map_err(|problem| source.error(offset_of(&document, &problem.field), &problem.field, problem.message))?;
        scenario.swaps = swaps::within(&scenario, planned);
        Ok(scenario)
    }
}

fn stem(origin: &str) -> String {
    Path::new(origin).file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn link(fields: Fields<'_, '_>) -> Result<LinkSpec, ScenarioError> {
    let fields =
        fields.only(&["rate", "base_rtt", "buffer", "ecn_threshold", "loss", "overhead_bytes", "mtu", "seed"])?;
    Ok(LinkSpec {
        rate: fields.required("rate")?,
        base_rtt: fields.required("base_rtt")?,
        buffer: fields.required("buffer")?,
        ecn_threshold: fields.optional("ecn_threshold")?,
        loss: fields.or("loss", 0.0)?,
        overhead_bytes: fields.or("overhead_bytes", DEFAULT_OVERHEAD_BYTES)?,
        mtu: fields.or("mtu", DEFAULT_MTU)?,
        seed: fields.or("seed", DEFAULT_SEED)?,
    })
}

fn flow(fields: Fields<'_, '_>, duration: Span) -> Result<(FlowSpec, Option<Tour>), ScenarioError> {
    let fields =
        fields.only(&["name", "algorithm", "set", "as", "extra_rtt", "start", "stop", "bytes", "command", "tour"])?;
    let tour = fields.optional_table("tour")?.map(tour).transpose()?;
    let flow = FlowSpec {
        name: fields.required("name")?,
        algorithm: fields.required("algorithm")?,
        set: fields.optional("set")?.unwrap_or_default(),
        alias: fields.optional("as")?,
        extra_rtt: fields.or("extra_rtt", Span::default())?,
        start: fields.or("start", Span::default())?,
        // A stop after the end of the run is the end of the run: a shortened run needs no other scenario.
        stop: fields.or("stop", duration)?.min(duration),
        bytes: fields.optional("bytes")?,
        command: fields.optional("command")?,
    };
    Ok((flow, tour))
}

fn tour(fields: Fields<'_, '_>) -> Result<Tour, ScenarioError> {
    let fields = fields.only(&["every", "from", "through"])?;
    Ok(Tour { every: fields.required("every")?, from: fields.optional("from")?, through: fields.required("through")? })
}

fn swap(fields: Fields<'_, '_>) -> Result<SwapSpec, ScenarioError> {
    let fields = fields.only(&["at", "flow", "algorithm", "set", "as"])?;
    Ok(SwapSpec {
        at: fields.required("at")?,
        flow: fields.required("flow")?,
        algorithm: fields.required("algorithm")?,
        set: fields.optional("set")?.unwrap_or_default(),
        alias: fields.optional("as")?,
    })
}

fn udp(fields: Fields<'_, '_>, duration: Span, mtu: u32) -> Result<UdpSpec, ScenarioError> {
    let fields = fields.only(&["name", "start", "stop", "rate", "packet_bytes", "steps"])?;
    Ok(UdpSpec {
        name: fields.required("name")?,
        start: fields.or("start", Span::default())?,
        stop: fields.or("stop", duration)?.min(duration),
        rate: fields.required("rate")?,
        packet_bytes: fields.or("packet_bytes", mtu)?,
        steps: fields.optional_tables("steps")?.into_iter().map(rate_step).collect::<Result<_, _>>()?,
    })
}

fn rate_step(fields: Fields<'_, '_>) -> Result<RateStep, ScenarioError> {
    let fields = fields.only(&["at", "rate"])?;
    Ok(RateStep { at: fields.required("at")?, rate: fields.required("rate")? })
}

fn thresholds(fields: Fields<'_, '_>) -> Result<Thresholds, ScenarioError> {
    let fields = fields.only(&["jain_min", "utilisation_min", "rtt_mean_max", "retransmissions_max"])?;
    Ok(Thresholds {
        jain_min: fields.optional("jain_min")?,
        utilisation_min: fields.optional("utilisation_min")?,
        rtt_mean_max: fields.optional("rtt_mean_max")?,
        retransmissions_max: fields.optional("retransmissions_max")?,
    })
}

fn published(fields: Fields<'_, '_>) -> Result<Published, ScenarioError> {
    let fields = fields.only(&["source", "jain", "gap", "goodput"])?;
    Ok(Published {
        source: fields.required("source")?,
        jain: fields.optional("jain")?,
        gap: fields.optional("gap")?,
        goodput: fields.optional("goodput")?,
    })
}
