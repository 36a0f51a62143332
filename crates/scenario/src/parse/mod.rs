//! From text to a [`Scenario`]: fields and defaults. What the fields mean together is checked in `check`.

mod host;
mod link;
mod proxy;
mod traffic;

use crate::fields::{DOCUMENT, PUBLISHED, THRESHOLDS};
use crate::reader::{Fields, Source, offset_of};
use crate::{Published, Scenario, ScenarioError, Thresholds, check, many, swaps};
use ccactl_abi::ALGORITHMS;
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;
use toml::de::DeTable;

/// The experiment of a document, without its sweep; every field of it is checked.
pub(crate) fn scenario(source: &Source<'_>, document: &Spanned<DeTable<'_>>) -> Result<Scenario, ScenarioError> {
    let fields = Fields::new(source, document).only(&DOCUMENT)?;
    let duration = fields.required("duration")?;
    let link = link::bottleneck(fields.table("link")?)?;
    let hops = fields
        .optional_tables("hop")?
        .into_iter()
        .zip(1..)
        .map(|(f, i)| link::hop(f, &link, i))
        .collect::<Result<_, _>>()?;
    let paths = fields.optional_tables("path")?.into_iter().map(traffic::named_path).collect::<Result<Vec<_>, _>>()?;
    let preset = preset(&fields)?;
    let (flows, further): (Vec<_>, Vec<_>) = fields
        .tables("flow")?
        .into_iter()
        .map(|f| traffic::flow(f, duration, preset.as_deref()))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .unzip();
    let (tours, many): (Vec<_>, Vec<_>) = further.into_iter().unzip();
    let swaps = fields
        .optional_tables("swap")?
        .into_iter()
        .map(|f| traffic::swap(f, preset.as_deref()))
        .collect::<Result<Vec<_>, _>>()?;
    let planned = swaps::plan(&flows, swaps, tours);
    let udp = fields
        .optional_tables("udp")?
        .into_iter()
        .map(|f| traffic::udp(f, duration, link.mtu))
        .collect::<Result<_, _>>()?;
    let mut scenario = Scenario {
        name: fields.or("name", stem(source.origin))?,
        description: fields.or("description", String::new())?,
        duration,
        warm_up: fields.optional("warm_up")?,
        repeat: fields.or("repeat", 1)?,
        every: fields.or("every", "ack".to_owned())?,
        link,
        hops,
        paths,
        proxies: fields.optional_tables("proxy")?.into_iter().map(proxy::proxy).collect::<Result<_, _>>()?,
        hosts: host::hosts(fields.optional_table("host")?)?,
        flows,
        swaps: Vec::new(),
        udp,
        thresholds: fields.optional_table("thresholds")?.map(thresholds).transpose()?.unwrap_or_default(),
        published: fields.optional_table("published")?.map(published).transpose()?,
    };
    check::check(&scenario)
        .and_then(|()| swaps::check(&scenario, &planned))
        .map_err(|problem| source.error(offset_of(document, &problem.field), &problem.field, problem.message))?;
    scenario.swaps = swaps::within(&scenario, planned);
    many::multiply(&mut scenario, &many)
        .map_err(|problem| source.error(offset_of(document, &problem.field), &problem.field, problem.message))?;
    Ok(scenario)
}

/// A name that some algorithm knows: a misspelt one would change nothing.
fn preset(fields: &Fields<'_, '_>) -> Result<Option<String>, ScenarioError> {
    let preset: Option<String> = fields.optional("preset")?;
    let known: BTreeSet<&str> = ALGORITHMS.iter().flat_map(|row| row.presets).map(|preset| preset.name).collect();
    match preset {
        Some(name) if !known.contains(name.as_str()) => {
            let known: Vec<&str> = known.into_iter().collect();
            let message = format!("expected a preset of a built-in algorithm ({}), found {name:?}", known.join(", "));
            Err(fields.error("preset", message))
        }
        preset => Ok(preset),
    }
}

fn stem(origin: &str) -> String {
    Path::new(origin).file_stem().map_or_else(|| "scenario".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

fn thresholds(fields: Fields<'_, '_>) -> Result<Thresholds, ScenarioError> {
    let fields = fields.only(&THRESHOLDS)?;
    Ok(Thresholds {
        jain_min: fields.optional("jain_min")?,
        utilisation_min: fields.optional("utilisation_min")?,
        rtt_mean_max: fields.optional("rtt_mean_max")?,
        retransmissions_max: fields.optional("retransmissions_max")?,
    })
}

fn published(fields: Fields<'_, '_>) -> Result<Published, ScenarioError> {
    let fields = fields.only(&PUBLISHED)?;
    Ok(Published {
        source: fields.required("source")?,
        jain: fields.optional("jain")?,
        gap: fields.optional("gap")?,
        goodput: fields.optional("goodput")?,
    })
}
