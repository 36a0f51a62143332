//! `[[flow]]`, `[[swap]]`, `[[udp]]`

use super::link::rate_step;
use crate::fields::{APPLICATION, FLOW, PATHS, SIZES, SWAP, TOUR, UDP};
use crate::many::{Many, Sizes};
use crate::reader::Fields;
use crate::spec::LINK;
use crate::swaps::{Through, Tour, settled};
use crate::units::Span;
use crate::{ApplicationSpec, Direction, FlowSpec, PathSpec, Repeat, ScenarioError, SwapSpec, UdpSpec};
use ccactl_loader::Choice;
use std::collections::BTreeMap;

/// `preset` is that of the document.
pub(super) fn flow(
    fields: Fields<'_, '_>,
    duration: Span,
    preset: Option<&str>,
) -> Result<(FlowSpec, (Option<Tour>, Many)), ScenarioError> {
    let fields = fields.only(&FLOW)?;
    let tour = fields.optional_table("tour")?.map(tour).transpose()?;
    let many = many(&fields)?;
    let algorithm = algorithm(&fields)?;
    let flow = FlowSpec {
        name: fields.required("name")?,
        set: settings(&fields, &algorithm, preset)?,
        algorithm,
        alias: fields.optional("as")?,
        receive: receive(&fields)?,
        receive_set: fields.optional("receive_set")?.unwrap_or_default(),
        path: if fields.has("paths") { Vec::new() } else { path(&fields)? },
        paths: paths(&fields)?,
        class: fields.or("class", 0)?,
        direction: fields.or("direction", Direction::Upload)?,
        extra_rtt: fields.or("extra_rtt", Span::default())?,
        start: fields.or("start", Span::default())?,
        // A stop after the end of the run is the end of the run: a shortened run needs no other scenario.
        stop: fields.or("stop", duration)?.min(duration),
        bytes: fields.optional("bytes")?,
        repeat: fields.or("repeat", Repeat::Times(1))?,
        gap: fields.or("gap", Span::default())?,
        application: fields.optional_table("application")?.map(application).transpose()?,
        command: fields.optional("command")?,
    };
    Ok((flow, (tour, many)))
}

fn many(fields: &Fields<'_, '_>) -> Result<Many, ScenarioError> {
    let sizes = fields.optional_table("sizes")?.map(|fields| {
        let fields = fields.only(&SIZES)?;
        Ok::<_, ScenarioError>(Sizes {
            median_bytes: fields.required("median")?,
            sigma: fields.required("sigma")?,
            most_bytes: fields.required("most")?,
        })
    });
    if sizes.is_some() {
        let other = ["bytes", "application", "command"].into_iter().find(|name| fields.has(name));
        if let Some(other) = other {
            return Err(fields.error("sizes", format!("expected either sizes or {other}, found both")));
        }
    }
    let many =
        Many { count: fields.optional("count")?, arrivals: fields.optional("arrivals")?, sizes: sizes.transpose()? };
    if many.arrivals.is_some() && many.count.is_none() {
        return Err(fields.error("arrivals", "expected a count of flows beside it, found none".to_owned()));
    }
    let only_one = ["tour", "as", "command"].into_iter().find(|name| many.count.is_some() && fields.has(name));
    match only_one {
        Some(name) => Err(fields.error("count", format!("expected one flow where it has {name}, found a count"))),
        None => Ok(many),
    }
}

fn application(fields: Fields<'_, '_>) -> Result<ApplicationSpec, ScenarioError> {
    let fields = fields.only(&APPLICATION)?;
    Ok(ApplicationSpec {
        rate: fields.required("rate")?,
        every: fields.or("every", ApplicationSpec::EVERY)?,
        steps: fields.optional_tables("steps")?.into_iter().map(rate_step).collect::<Result<_, _>>()?,
    })
}

fn algorithm(fields: &Fields<'_, '_>) -> Result<String, ScenarioError> {
    let written: String = fields.required("algorithm")?;
    settled(fields.folder(), &written).map_err(|error| fields.error("algorithm", error.to_string()))
}

fn receive(fields: &Fields<'_, '_>) -> Result<Option<String>, ScenarioError> {
    let Some(written) = fields.optional::<String>("receive")? else { return Ok(None) };
    settled(fields.folder(), &written).map(Some).map_err(|error| fields.error("receive", error.to_string()))
}

/// The tunables as written, and those of the preset that are not.
fn settings(
    fields: &Fields<'_, '_>,
    algorithm: &str,
    of_document: Option<&str>,
) -> Result<BTreeMap<String, String>, ScenarioError> {
    let mut set: BTreeMap<String, String> = fields.optional("set")?.unwrap_or_default();
    let own: Option<String> = fields.optional("preset")?;
    // What is wrong with the algorithm is said where it is checked.
    let Ok(choice) = Choice::parse(algorithm, &[], None) else { return Ok(set) };
    let preset = own.as_deref().or(of_document.filter(|name| choice.has_preset(name)));
    let choice = choice.preset(preset).map_err(|error| fields.error("preset", error.to_string()))?;
    for (tunable, raw) in choice.tunables() {
        set.entry(tunable.name.to_owned()).or_insert_with(|| tunable.display(*raw));
    }
    Ok(set)
}

/// Most flows pass the bottleneck and nothing else.
fn path(fields: &Fields<'_, '_>) -> Result<Vec<String>, ScenarioError> {
    fields.or("path", vec![LINK.to_owned()])
}

/// Of an MPTCP flow.
fn paths(fields: &Fields<'_, '_>) -> Result<Vec<String>, ScenarioError> {
    let paths: Vec<String> = fields.optional("paths")?.unwrap_or_default();
    if fields.has("paths") && fields.has("path") {
        return Err(fields.error("paths", "expected either path or paths, found both".to_owned()));
    }
    if fields.has("paths") && paths.is_empty() {
        return Err(fields.error("paths", "expected at least one name of a [[path]], found none".to_owned()));
    }
    Ok(paths)
}

pub(super) fn named_path(fields: Fields<'_, '_>) -> Result<PathSpec, ScenarioError> {
    let fields = fields.only(&PATHS)?;
    Ok(PathSpec {
        name: fields.required("name")?,
        links: fields.or("links", vec![LINK.to_owned()])?,
        extra_rtt: fields.or("extra_rtt", Span::default())?,
    })
}

fn tour(fields: Fields<'_, '_>) -> Result<Tour, ScenarioError> {
    let fields = fields.only(&TOUR)?;
    let through: Through = fields.required("through")?;
    let through = through.settled(fields.folder()).map_err(|error| fields.error("through", error.to_string()))?;
    Ok(Tour { every: fields.required("every")?, from: fields.optional("from")?, through })
}

/// `preset` is that of the document.
pub(super) fn swap(fields: Fields<'_, '_>, preset: Option<&str>) -> Result<SwapSpec, ScenarioError> {
    let fields = fields.only(&SWAP)?;
    let algorithm = algorithm(&fields)?;
    Ok(SwapSpec {
        at: fields.required("at")?,
        flow: fields.required("flow")?,
        set: settings(&fields, &algorithm, preset)?,
        algorithm,
        alias: fields.optional("as")?,
    })
}

pub(super) fn udp(fields: Fields<'_, '_>, duration: Span, mtu: u32) -> Result<UdpSpec, ScenarioError> {
    let fields = fields.only(&UDP)?;
    Ok(UdpSpec {
        name: fields.required("name")?,
        path: path(&fields)?,
        class: fields.or("class", 0)?,
        start: fields.or("start", Span::default())?,
        stop: fields.or("stop", duration)?.min(duration),
        rate: fields.required("rate")?,
        packet_bytes: fields.or("packet_bytes", mtu)?,
        steps: fields.optional_tables("steps")?.into_iter().map(rate_step).collect::<Result<_, _>>()?,
    })
}
