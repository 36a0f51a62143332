//! A discipline in the form of a scenario, with every parameter.

use crate::units::{Buffer, Span};
use ccactl_link::{Capacity, Discipline, Nanos};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use toml::{Table, Value};

/// The name alone where there is no parameter.
pub(crate) fn serialize<S: Serializer>(discipline: &Discipline, serializer: S) -> Result<S::Ok, S::Error> {
    let (name, parameters) = written(discipline);
    if parameters.is_empty() {
        return serializer.serialize_str(name);
    }
    let mut table = Table::from_iter([("discipline".to_owned(), Value::from(name))]);
    for (name, value) in parameters {
        table.insert(name.to_owned(), value.map_err(S::Error::custom)?);
    }
    table.serialize(serializer)
}

type Written = Result<Value, toml::ser::Error>;

fn span(ns: Nanos) -> Written {
    Value::try_from(Span { ns })
}

fn size(capacity: Capacity) -> Written {
    Value::try_from(Buffer::from(capacity))
}

fn plain(value: impl Serialize) -> Written {
    Value::try_from(value)
}

fn written(discipline: &Discipline) -> (&'static str, Vec<(&'static str, Written)>) {
    match discipline {
        Discipline::DropTail => ("drop-tail", Vec::new()),
        Discipline::DropHead => ("drop-head", Vec::new()),
        Discipline::AckFirst => ("ack-first", Vec::new()),
        Discipline::Red(red) => (
            "red",
            vec![
                ("min_threshold", size(red.min_threshold)),
                ("max_threshold", size(red.max_threshold)),
                ("weight", plain(red.weight)),
                ("max_probability", plain(red.max_probability)),
                ("gentle", plain(red.gentle)),
                ("mean_packet_bytes", plain(red.mean_packet_bytes)),
                ("ecn", plain(red.ecn)),
            ],
        ),
        Discipline::ExponentialRed(red) => (
            "exponential-red",
            vec![
                ("min_threshold_bytes", plain(red.min_threshold_bytes)),
                ("max_threshold_bytes", plain(red.max_threshold_bytes)),
                ("min_probability", plain(red.min_probability)),
                ("max_probability", plain(red.max_probability)),
                ("virtual_capacity", plain(red.virtual_capacity)),
                ("ecn", plain(red.ecn)),
            ],
        ),
        Discipline::Rem(rem) => (
            "rem",
            vec![
                ("gamma", plain(rem.gamma)),
                ("alpha", plain(rem.alpha)),
                ("phi", plain(rem.phi)),
                ("target_packets", plain(rem.target_packets)),
                ("interval", span(rem.interval)),
                ("ecn", plain(rem.ecn)),
            ],
        ),
        Discipline::CoDel(codel) => ("codel", codel_parameters(codel)),
        Discipline::Pie(pie) => (
            "pie",
            vec![
                ("target", span(pie.target)),
                ("update_interval", span(pie.update_interval)),
                ("max_burst", span(pie.max_burst)),
                ("alpha", plain(pie.alpha)),
                ("beta", plain(pie.beta)),
                ("mean_packet_bytes", plain(pie.mean_packet_bytes)),
                ("derandomise", plain(pie.derandomise)),
                ("ecn", plain(pie.ecn)),
                ("max_mark_probability", plain(pie.max_mark_probability)),
            ],
        ),
        Discipline::FqCoDel(fq) => {
            let mut parameters = codel_parameters(&fq.codel);
            parameters.extend([("queues", plain(fq.queues)), ("quantum_bytes", plain(fq.quantum_bytes))]);
            ("fq-codel", parameters)
        }
        Discipline::Sfq(sfq) => {
            ("sfq", vec![("queues", plain(sfq.queues)), ("perturbation", span(sfq.perturbation.unwrap_or(0)))])
        }
        Discipline::Drr(drr) => (
            "drr",
            vec![
                ("queues", plain(drr.queues)),
                ("quantum_bytes", plain(drr.quantum_bytes)),
                ("weights", plain(&drr.weights)),
            ],
        ),
        Discipline::Classes(classes) => {
            let class = |class: &ccactl_link::queue::Class| {
                Table::from_iter([
                    ("share_permille".to_owned(), Value::from(class.share_permille)),
                    ("borrow".to_owned(), Value::from(class.borrow)),
                ])
            };
            let all: Vec<Table> = classes.classes.iter().map(class).collect();
            ("classes", vec![("classes", plain(all)), ("burst_bytes", plain(classes.burst_bytes))])
        }
    }
}

fn codel_parameters(codel: &ccactl_link::queue::CoDel) -> Vec<(&'static str, Written)> {
    vec![
        ("target", span(codel.target)),
        ("interval", span(codel.interval)),
        ("mtu_bytes", plain(codel.mtu_bytes)),
        ("ecn", plain(codel.ecn)),
    ]
}
