//! From fields to a discipline of the link model.

use super::{CLASS, DISCIPLINES, row};
use crate::ScenarioError;
use crate::reader::{Fields, FromValue};
use crate::units::{Buffer, Span};
use ccactl_link::queue::{Class, Classes, CoDel, Discipline, Drr, ExponentialRed, FqCoDel, Pie, Red, Rem, Sfq};
use ccactl_link::{Capacity, Nanos};

/// What sizes of a link are counted with.
pub(crate) struct Sizes<'a> {
    /// From the form of a scenario to bytes or packets.
    pub capacity: &'a dyn Fn(Buffer) -> Capacity,
    /// A full packet on the wire.
    pub frame_bytes: u32,
}

/// The discipline of the field `queue` of a link.
pub(crate) fn queue(fields: &Fields<'_, '_>, sizes: &Sizes<'_>) -> Result<Discipline, ScenarioError> {
    if !fields.is_table("queue") {
        let name: Option<String> = fields.optional("queue")?;
        let name = name.as_deref().unwrap_or(DISCIPLINES[0].name);
        return match row(name) {
            Some(_) => Ok(discipline(name, &Parameters { fields: None, sizes })?),
            None => Err(fields.error("queue", unknown(name))),
        };
    }
    let table = fields.table("queue")?;
    // Which fields there may be depends on one of them.
    let name: String = table.required("discipline")?;
    let row = row(&name).ok_or_else(|| table.error("discipline", unknown(&name)))?;
    discipline(row.name, &Parameters { fields: Some(table.only(&row.table)?), sizes })
}

fn unknown(found: &str) -> String {
    let names: Vec<&str> = DISCIPLINES.iter().map(|row| row.name).collect();
    format!("expected a queue discipline ({}), found {found:?}", names.join(", "))
}

/// The parameters that the scenario sets, none beside a mere name.
struct Parameters<'p, 's, 'd> {
    fields: Option<Fields<'s, 'd>>,
    sizes: &'p Sizes<'p>,
}

impl Parameters<'_, '_, '_> {
    fn or<T: FromValue>(&self, name: &'static str, default: T) -> Result<T, ScenarioError> {
        self.fields.as_ref().map_or(Ok(None), |fields| fields.optional(name)).map(|set| set.unwrap_or(default))
    }

    fn span(&self, name: &'static str, default: Nanos) -> Result<Nanos, ScenarioError> {
        self.or(name, Span { ns: default }).map(|span| span.ns)
    }

    fn capacity(&self, name: &'static str, default: Capacity) -> Result<Capacity, ScenarioError> {
        let set: Option<Buffer> = self.fields.as_ref().map_or(Ok(None), |fields| fields.optional(name))?;
        Ok(set.map_or(default, self.sizes.capacity))
    }
}

type Read<T> = Result<T, ScenarioError>;

fn discipline(name: &str, set: &Parameters<'_, '_, '_>) -> Read<Discipline> {
    Ok(match name {
        "drop-tail" => Discipline::DropTail,
        "drop-head" => Discipline::DropHead,
        "red" => Discipline::Red(red(set)?),
        "exponential-red" => Discipline::ExponentialRed(exponential_red(set)?),
        "rem" => Discipline::Rem(rem(set)?),
        "codel" => Discipline::CoDel(codel(set, CoDel::default())?),
        "pie" => Discipline::Pie(pie(set)?),
        "fq-codel" => Discipline::FqCoDel(fq_codel(set)?),
        "sfq" => Discipline::Sfq(sfq(set)?),
        "drr" => Discipline::Drr(drr(set)?),
        "classes" => Discipline::Classes(classes(set)?),
        "ack-first" => Discipline::AckFirst,
        other => unreachable!("{other} is a row of the table without a discipline"),
    })
}

fn red(set: &Parameters<'_, '_, '_>) -> Read<Red> {
    let default = Red::default();
    Ok(Red {
        min_threshold: set.capacity("min_threshold", default.min_threshold)?,
        max_threshold: set.capacity("max_threshold", default.max_threshold)?,
        weight: set.or("weight", default.weight)?,
        max_probability: set.or("max_probability", default.max_probability)?,
        gentle: set.or("gentle", default.gentle)?,
        mean_packet_bytes: set.or("mean_packet_bytes", default.mean_packet_bytes)?,
        ecn: set.or("ecn", default.ecn)?,
    })
}

fn exponential_red(set: &Parameters<'_, '_, '_>) -> Read<ExponentialRed> {
    let default = ExponentialRed::default();
    Ok(ExponentialRed {
        min_threshold_bytes: set.or("min_threshold_bytes", default.min_threshold_bytes)?,
        max_threshold_bytes: set.or("max_threshold_bytes", default.max_threshold_bytes)?,
        min_probability: set.or("min_probability", default.min_probability)?,
        max_probability: set.or("max_probability", default.max_probability)?,
        virtual_capacity: set.or("virtual_capacity", default.virtual_capacity)?,
        ecn: set.or("ecn", default.ecn)?,
    })
}

fn rem(set: &Parameters<'_, '_, '_>) -> Read<Rem> {
    let default = Rem::default();
    Ok(Rem {
        gamma: set.or("gamma", default.gamma)?,
        alpha: set.or("alpha", default.alpha)?,
        phi: set.or("phi", default.phi)?,
        target_packets: set.or("target_packets", default.target_packets)?,
        interval: set.span("interval", default.interval)?,
        ecn: set.or("ecn", default.ecn)?,
    })
}

fn codel(set: &Parameters<'_, '_, '_>, default: CoDel) -> Read<CoDel> {
    Ok(CoDel {
        target: set.span("target", default.target)?,
        interval: set.span("interval", default.interval)?,
        mtu_bytes: set.or("mtu_bytes", set.sizes.frame_bytes)?,
        ecn: set.or("ecn", default.ecn)?,
    })
}

fn pie(set: &Parameters<'_, '_, '_>) -> Read<Pie> {
    let default = Pie::default();
    Ok(Pie {
        target: set.span("target", default.target)?,
        update_interval: set.span("update_interval", default.update_interval)?,
        max_burst: set.span("max_burst", default.max_burst)?,
        alpha: set.or("alpha", default.alpha)?,
        beta: set.or("beta", default.beta)?,
        mean_packet_bytes: set.or("mean_packet_bytes", default.mean_packet_bytes)?,
        derandomise: set.or("derandomise", default.derandomise)?,
        ecn: set.or("ecn", default.ecn)?,
        max_mark_probability: set.or("max_mark_probability", default.max_mark_probability)?,
    })
}

fn fq_codel(set: &Parameters<'_, '_, '_>) -> Read<FqCoDel> {
    let default = FqCoDel::default();
    Ok(FqCoDel {
        codel: codel(set, default.codel)?,
        queues: set.or("queues", default.queues)?,
        quantum_bytes: set.or("quantum_bytes", set.sizes.frame_bytes)?,
    })
}

fn sfq(set: &Parameters<'_, '_, '_>) -> Read<Sfq> {
    let default = Sfq::default();
    let perturbation = set.span("perturbation", default.perturbation.unwrap_or(0))?;
    Ok(Sfq { queues: set.or("queues", default.queues)?, perturbation: (perturbation > 0).then_some(perturbation) })
}

fn drr(set: &Parameters<'_, '_, '_>) -> Read<Drr> {
    let default = Drr::default();
    Ok(Drr {
        queues: set.or("queues", default.queues)?,
        quantum_bytes: set.or("quantum_bytes", set.sizes.frame_bytes)?,
        weights: set.or("weights", default.weights)?,
    })
}

fn classes(set: &Parameters<'_, '_, '_>) -> Read<Classes> {
    let written = match &set.fields {
        Some(fields) if fields.has("classes") => Some(fields.optional_tables("classes")?),
        _ => None,
    };
    let class = |fields: Fields<'_, '_>| {
        let fields = fields.only(&CLASS)?;
        Ok(Class { share_permille: fields.required("share_permille")?, borrow: fields.or("borrow", true)? })
    };
    Ok(Classes {
        classes: match written {
            Some(tables) => tables.into_iter().map(class).collect::<Read<_>>()?,
            None => Classes::default().classes,
        },
        burst_bytes: set.or("burst_bytes", set.sizes.frame_bytes.saturating_mul(2))?,
    })
}
