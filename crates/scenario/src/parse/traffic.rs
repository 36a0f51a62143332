//! `[[flow]]`, `[[swap]]`, `[[udp]]`

use super::link::rate_step;
use crate::fields::{FLOW, SWAP, TOUR, UDP};
use crate::reader::Fields;
use crate::spec::LINK;
use crate::swaps::{Through, Tour, settled};
use crate::units::Span;
use crate::{Direction, FlowSpec, Repeat, ScenarioError, SwapSpec, UdpSpec};

pub(super) fn flow(fields: Fields<'_, '_>, duration: Span) -> Result<(FlowSpec, Option<Tour>), ScenarioError> {
    let fields = fields.only(&FLOW)?;
    let tour = fields.optional_table("tour")?.map(tour).transpose()?;
    let flow = FlowSpec {
        name: fields.required("name")?,
        algorithm: algorithm(&fields)?,
        set: fields.optional("set")?.unwrap_or_default(),
        alias: fields.optional("as")?,
        path: path(&fields)?,
        class: fields.or("class", 0)?,
        direction: fields.or("direction", Direction::Upload)?,
        extra_rtt: fields.or("extra_rtt", Span::default())?,
        start: fields.or("start", Span::default())?,
        // A stop after the end of the run is the end of the run: a shortened run needs no other scenario.
        stop: fields.or("stop", duration)?.min(duration),
        bytes: fields.optional("bytes")?,
        repeat: fields.or("repeat", Repeat::Times(1))?,
        gap: fields.or("gap", Span::default())?,
        command: fields.optional("command")?,
    };
    Ok((flow, tour))
}

fn algorithm(fields: &Fields<'_, '_>) -> Result<String, ScenarioError> {
    let written: String = fields.required("algorithm")?;
    settled(fields.folder(), &written).map_err(|error| fields.error("algorithm", error.to_string()))
}

/// Most flows pass the bottleneck and nothing else.
fn path(fields: &Fields<'_, '_>) -> Result<Vec<String>, ScenarioError> {
    fields.or("path", vec![LINK.to_owned()])
}

fn tour(fields: Fields<'_, '_>) -> Result<Tour, ScenarioError> {
    let fields = fields.only(&TOUR)?;
    let through: Through = fields.required("through")?;
    let through = through.settled(fields.folder()).map_err(|error| fields.error("through", error.to_string()))?;
    Ok(Tour { every: fields.required("every")?, from: fields.optional("from")?, through })
}

pub(super) fn swap(fields: Fields<'_, '_>) -> Result<SwapSpec, ScenarioError> {
    let fields = fields.only(&SWAP)?;
    Ok(SwapSpec {
        at: fields.required("at")?,
        flow: fields.required("flow")?,
        algorithm: algorithm(&fields)?,
        set: fields.optional("set")?.unwrap_or_default(),
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
