//! `queue = …`: the disciplines of the link model as a scenario writes them. Here is which parameters there are; how they are read,
//! checked and written has a file each.

mod check;
mod parse;
mod write;

pub(crate) use check::check_queue;
pub(crate) use parse::{Sizes, queue};
pub(crate) use write::serialize;

use crate::fields::{ANY, Field, Kind, Table, optional, required};

/// A discipline of the link model.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    /// What it does and where it is from.
    pub doc: &'static str,
    /// Its parameters, after the field `discipline`.
    pub table: Table,
}

/// The row of a name.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    DISCIPLINES.iter().find(|row| row.name == name)
}

const DISCIPLINE: Field = required("discipline", Kind::Discipline, "the name");
const ECN: Field = ecn("false");
const PROBABILITY: Kind = Kind::Number(0.0, 1.0);
/// Sizes of queues and packets of the link model.
const MAX_BYTES: u64 = u32::MAX as u64;
const PACKET: Kind = Kind::Count(1, MAX_BYTES);
const QUEUES: Kind = Kind::Count(1, 65_536);
const FULL_PACKET: &str = "a full packet";

const fn ecn(default: &'static str) -> Field {
    optional("ecn", Kind::Flag, default, "ECN-capable packets are marked where others are dropped (RFC 3168)")
}

/// The disciplines, in the order of the reference. The defaults are those of the link model; a test compares them.
pub(crate) const DISCIPLINES: &[Row] = &[
    Row {
        name: "drop-tail",
        doc: "First in, first out; what finds no room is dropped.",
        table: Table { title: "drop-tail", fields: &[DISCIPLINE] },
    },
    Row {
        name: "drop-head",
        doc: "First in, first out; the oldest packets make room for the newest.",
        table: Table { title: "drop-head", fields: &[DISCIPLINE] },
    },
    Row {
        name: "red",
        doc: "Random early detection, gentle (Floyd, Jacobson 1993).",
        table: Table {
            title: "red",
            fields: &[
                DISCIPLINE,
                optional("min_threshold", Kind::Size, "5p", "average queue from which on packets are signalled"),
                optional("max_threshold", Kind::Size, "15p", "average queue at `max_probability`; in the same unit"),
                optional("weight", PROBABILITY, "0.002", "w_q of the newest queue in the average"),
                optional("max_probability", PROBABILITY, "0.1", "max_p"),
                optional(
                    "gentle",
                    Kind::Flag,
                    "true",
                    "beyond `max_threshold` the probability rises to 1 at twice of it",
                ),
                optional("mean_packet_bytes", PACKET, "1000", "its transmission is the unit of idle time"),
                ECN,
            ],
        },
    },
    Row {
        name: "exponential-red",
        doc: "Probability exponential in a virtual queue (Liu, Başar, Srikant 2005).",
        table: Table {
            title: "exponential-red",
            fields: &[
                DISCIPLINE,
                optional(
                    "min_threshold_bytes",
                    Kind::Count(0, ANY),
                    "5000",
                    "virtual queue from which on packets are signalled",
                ),
                optional("max_threshold_bytes", Kind::Count(0, ANY), "15000", "virtual queue at `max_probability`"),
                optional("min_probability", PROBABILITY, "0.001", "at the lower threshold; not 0"),
                optional("max_probability", PROBABILITY, "0.1", "at the upper threshold"),
                optional(
                    "virtual_capacity",
                    PROBABILITY,
                    "0.98",
                    "rate that serves the virtual queue, as a share of the link's",
                ),
                ECN,
            ],
        },
    },
    Row {
        name: "rem",
        doc: "Random exponential marking (Athuraliya, Low, Li, Yin 2001).",
        table: Table {
            title: "rem",
            fields: &[
                DISCIPLINE,
                optional("gamma", Kind::Number(0.0, 1e6), "0.001", "γ, step of the price"),
                optional(
                    "alpha",
                    Kind::Number(0.0, 1e6),
                    "0.1",
                    "α, weight of the backlog against the mismatch of rates",
                ),
                optional("phi", Kind::Number(1.0, 1e6), "1.001", "φ, base of the probability; above 1"),
                optional("target_packets", Kind::Count(0, ANY), "20", "b*, backlog to be reached"),
                optional("interval", Kind::Span, "2ms", "time between two updates of the price"),
                ECN,
            ],
        },
    },
    Row {
        name: "codel",
        doc: "Controlled delay (RFC 8289).",
        table: Table { title: "codel", fields: &[DISCIPLINE, CODEL_TARGET, CODEL_INTERVAL, CODEL_MTU, ECN] },
    },
    Row {
        name: "pie",
        doc: "Proportional integral controller enhanced (RFC 8033).",
        table: Table {
            title: "pie",
            fields: &[
                DISCIPLINE,
                optional("target", Kind::Span, "15ms", "QDELAY_REF"),
                optional("update_interval", Kind::Span, "15ms", "T_UPDATE"),
                optional("max_burst", Kind::Span, "150ms", "MAX_BURST"),
                optional("alpha", Kind::Number(0.0, 1e6), "0.125", "weight of the distance to the target, per second"),
                optional("beta", Kind::Number(0.0, 1e6), "1.25", "weight of the change of the delay, per second"),
                optional("mean_packet_bytes", PACKET, "1024", "MEAN_PKTSIZE"),
                optional("derandomise", Kind::Flag, "false", "spread the signals more evenly (section 5.4)"),
                ECN,
                optional(
                    "max_mark_probability",
                    PROBABILITY,
                    "0.1",
                    "MAX_ECNTH: beyond it ECN-capable packets are dropped too",
                ),
            ],
        },
    },
    Row {
        name: "fq-codel",
        doc: "Fair queueing by flow with CoDel on each (RFC 8290).",
        table: Table {
            title: "fq-codel",
            fields: &[
                DISCIPLINE,
                CODEL_TARGET,
                CODEL_INTERVAL,
                CODEL_MTU,
                ecn("true"),
                optional("queues", QUEUES, "1024", "number of queues that flows are hashed to"),
                optional("quantum_bytes", PACKET, FULL_PACKET, "bytes that a queue may send per turn"),
            ],
        },
    },
    Row {
        name: "sfq",
        doc: "Stochastic fairness queueing (McKenney 1990).",
        table: Table {
            title: "sfq",
            fields: &[
                DISCIPLINE,
                optional("queues", QUEUES, "1024", "number of queues that flows are hashed to"),
                optional("perturbation", Kind::Span, "10s", "time after which the hash changes; `\"0s\"` is never"),
            ],
        },
    },
    Row {
        name: "drr",
        doc: "Deficit round robin by flow, with weights by class as weighted fair queueing (Shreedhar, Varghese 1995).",
        table: Table {
            title: "drr",
            fields: &[
                DISCIPLINE,
                optional("queues", QUEUES, "1024", "flow n uses queue n modulo this"),
                optional("quantum_bytes", PACKET, FULL_PACKET, "bytes that a queue of weight 1 may send per turn"),
                optional(
                    "weights",
                    Kind::Counts,
                    "none",
                    "weights by `class` of flow or UDP source; classes beyond the last have 1",
                ),
            ],
        },
    },
    Row {
        name: "classes",
        doc: "Shares of classes with borrowing, one level of CBQ (Floyd, Van Jacobson 1995).",
        table: Table {
            title: "classes",
            fields: &[
                DISCIPLINE,
                optional(
                    "classes",
                    Kind::Tables(&CLASS),
                    "two halves that borrow",
                    "shares by `class` of flow or UDP source; higher classes belong to the last",
                ),
                optional(
                    "burst_bytes",
                    PACKET,
                    "two full packets",
                    "bytes that a class may send at once after a pause",
                ),
            ],
        },
    },
    Row {
        name: "ack-first",
        doc: "Pure ACKs before everything else.",
        table: Table { title: "ack-first", fields: &[DISCIPLINE] },
    },
];

const CODEL_TARGET: Field = optional("target", Kind::Span, "5ms", "TARGET, standing delay that is tolerated");
const CODEL_INTERVAL: Field = optional("interval", Kind::Span, "100ms", "INTERVAL, about a worst-case RTT");
const CODEL_MTU: Field = optional("mtu_bytes", PACKET, FULL_PACKET, "MAXPACKET, bytes that may always wait");

/// `classes = [{ … }]`
pub(crate) const CLASS: Table = Table {
    title: "classes",
    fields: &[
        required("share_permille", Kind::Count(1, 1000), "thousandths of the link's rate; all together at most 1000"),
        optional("borrow", Kind::Flag, "true", "it may use what others do not; if not, its share is its limit"),
    ],
};
