//! `queue = …`: the disciplines of the link model as a scenario writes them. Here is which parameters there are and where
//! the link model has them; reading and writing go through this one table.

mod check;
mod entry;
mod parameter;

pub(crate) use check::check_queue;
pub(crate) use parameter::{Sizes, queue, serialize};

use crate::fields::{ANY, Field, Kind, Table, optional, required};
use ccactl_link::queue::{
    Cba, Cbq, Classes, CoDel, Discipline, Drr, DualPi2, ExponentialRed, FqCoDel, PRIORITIES, Pie, Policer, Red, Rem,
    Sfq, Wfq,
};
use parameter::Parameter;

/// A discipline of the link model.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    /// What it does and where it is from.
    pub doc: &'static str,
    /// Its parameters, after the field `discipline`.
    pub table: Table,
    /// Where the link model has each of them, in the order of the table.
    places: &'static [Place],
    /// What holds when a scenario sets nothing, on a link with such full packets.
    default: fn(frame_bytes: u32) -> Discipline,
}

type Place = fn(&mut Discipline) -> &mut dyn Parameter;

impl Row {
    fn parameters(&self) -> impl Iterator<Item = (&'static Field, Place)> {
        self.table.fields[1..].iter().zip(self.places.iter().copied())
    }
}

/// A row from the part of the model that has the parameters, and each parameter with what it is.
macro_rules! row {
    ($name:literal, $doc:literal, $default:expr $(, $model:pat $(, $part:expr => {
        $($field:ident: $of:expr,)*
    })*)?) => {
        Row {
            name: $name,
            doc: $doc,
            table: Table {
                title: $name,
                fields: &[DISCIPLINE $($($(, Field { name: stringify!($field), ..$of })*)*)?],
            },
            places: &[$($($({
                fn place(discipline: &mut Discipline) -> &mut dyn Parameter {
                    match discipline {
                        $model => &mut $part.$field,
                        _ => unreachable!("a discipline is the one of its row"),
                    }
                }
                place
            },)*)*)?],
            default: $default,
        }
    };
}

const DISCIPLINE: Field = required("discipline", Kind::Discipline, "the name");
const PROBABILITY: Kind = Kind::Number(0.0, 1.0);
const POSITIVE: Kind = Kind::Number(0.0, 1e6);
/// Sizes of queues and packets of the link model.
const MAX_BYTES: u64 = u32::MAX as u64;
const PACKET: Kind = Kind::Count(1, MAX_BYTES);
const WHOLE: Kind = Kind::Count(0, ANY);
const GROUP: Kind = Kind::Count(0, 65_535);
const QUEUES: Kind = Kind::Count(1, 65_536);
const FULL_PACKET: &str = "a full packet";

const ECN: Field = ecn("false");
const CODEL_TARGET: Field = of(Kind::Span, "5ms", "TARGET, standing delay that is tolerated");
const CODEL_INTERVAL: Field = of(Kind::Span, "100ms", "INTERVAL, about a worst-case RTT");
const CODEL_MTU: Field = of(PACKET, FULL_PACKET, "MAXPACKET, bytes that may always wait");

const FLOW_QUEUES: Field = of(QUEUES, "1024", "flow n uses queue n modulo this");
const WEIGHTS: Field =
    of(Kind::Counts, "none", "weights by `class` of flow or UDP source; classes beyond the last have 1");

const fn ecn(default: &'static str) -> Field {
    of(Kind::Flag, default, "ECN-capable packets are marked where others are dropped (RFC 3168)")
}

/// A parameter whose name is that of the field in the model.
const fn of(kind: Kind, default: &'static str, doc: &'static str) -> Field {
    optional("", kind, default, doc)
}

/// The disciplines, in the order of the reference. The defaults in words are those of the link model; a test compares
/// them.
#[rustfmt::skip]
pub(crate) const DISCIPLINES: &[Row] = &[
    row!("drop-tail", "First in, first out; what finds no room is dropped.", |_| Discipline::DropTail),
    row!(
        "drop-head", "First in, first out; the oldest packets make room for the newest.",
        |_| Discipline::DropHead
    ),
    row!(
        "red", "Random early detection, gentle (Floyd, Jacobson 1993).",
        |_| Discipline::Red(Red::default()),
        Discipline::Red(red), red => {
            min_threshold: of(Kind::Size, "5p", "average queue from which on packets are signalled"),
            max_threshold: of(Kind::Size, "15p", "average queue at `max_probability`; in the same unit"),
            weight: of(PROBABILITY, "0.002", "w_q of the newest queue in the average"),
            max_probability: of(PROBABILITY, "0.1", "max_p"),
            gentle: of(Kind::Flag, "true", "beyond `max_threshold` the probability rises to 1 at twice of it"),
            mean_packet_bytes: of(PACKET, "1000", "its transmission is the unit of idle time"),
            ecn: ECN,
        }
    ),
    row!(
        "exponential-red", "Probability exponential in a virtual queue (Liu, Başar, Srikant 2005).",
        |_| Discipline::ExponentialRed(ExponentialRed::default()),
        Discipline::ExponentialRed(red), red => {
            min_threshold_bytes: of(WHOLE, "5000", "virtual queue from which on packets are signalled"),
            max_threshold_bytes: of(WHOLE, "15000", "virtual queue at `max_probability`"),
            min_probability: of(PROBABILITY, "0.001", "at the lower threshold; not 0"),
            max_probability: of(PROBABILITY, "0.1", "at the upper threshold"),
            virtual_capacity: of(PROBABILITY, "0.98", "rate that serves the virtual queue, as a share of the link's"),
            ecn: ECN,
        }
    ),
    row!(
        "rem", "Random exponential marking (Athuraliya, Low, Li, Yin 2001).",
        |_| Discipline::Rem(Rem::default()),
        Discipline::Rem(rem), rem => {
            gamma: of(POSITIVE, "0.001", "γ, step of the price"),
            alpha: of(POSITIVE, "0.1", "α, weight of the backlog against the mismatch of rates"),
            phi: of(Kind::Number(1.0, 1e6), "1.001", "φ, base of the probability; above 1"),
            target_packets: of(WHOLE, "20", "b*, backlog to be reached"),
            interval: of(Kind::Span, "2ms", "time between two updates of the price"),
            ecn: ECN,
        }
    ),
    row!(
        "codel", "Controlled delay (RFC 8289).",
        |frame_bytes| Discipline::CoDel(CoDel { mtu_bytes: frame_bytes, ..CoDel::default() }),
        Discipline::CoDel(codel), codel => {
            target: CODEL_TARGET,
            interval: CODEL_INTERVAL,
            mtu_bytes: CODEL_MTU,
            ecn: ECN,
        }
    ),
    row!(
        "pie", "Proportional integral controller enhanced (RFC 8033).",
        |_| Discipline::Pie(Pie::default()),
        Discipline::Pie(pie), pie => {
            target: of(Kind::Span, "15ms", "QDELAY_REF"),
            update_interval: of(Kind::Span, "15ms", "T_UPDATE"),
            max_burst: of(Kind::Span, "150ms", "MAX_BURST"),
            alpha: of(POSITIVE, "0.125", "weight of the distance to the target, per second"),
            beta: of(POSITIVE, "1.25", "weight of the change of the delay, per second"),
            mean_packet_bytes: of(PACKET, "1024", "MEAN_PKTSIZE"),
            derandomise: of(Kind::Flag, "false", "spread the signals more evenly (section 5.4)"),
            ecn: ECN,
            max_mark_probability:
                of(PROBABILITY, "0.1", "MAX_ECNTH: beyond it ECN-capable packets are dropped too"),
        }
    ),
    row!(
        "policer", "Token bucket: what comes faster is dropped at once, and a queue is behind it (Flach et al. 2016).",
        |_| Discipline::Policer(Policer::default()),
        Discipline::Policer(policer), policer => {
            rate_bps: of(Kind::Count(1, ANY), "10000000", "rate of the contract on the wire, in bit/s"),
            burst_bytes: of(WHOLE, "125000", "what may come at once; nothing passes that is larger than this"),
        }
    ),
    row!(
        "dual-pi2", "Two coupled queues, for scalable senders (ECT(1)) and for classic ones (RFC 9332).",
        |frame_bytes| Discipline::DualPi2(DualPi2 { mtu_bytes: frame_bytes, ..DualPi2::default() }),
        Discipline::DualPi2(dual), dual => {
            target: of(Kind::Span, "15ms", "delay to be reached in the classic queue"),
            update_interval: of(Kind::Span, "16ms", "Tupdate"),
            alpha: of(POSITIVE, "0.16", "weight of the distance to the target, per second"),
            beta: of(POSITIVE, "3.2", "weight of the change of the delay, per second"),
            coupling: of(Kind::Number(1.0, 100.0), "2", "k: scalable senders get k√p where classic ones get p"),
            threshold: of(Kind::Span, "1ms", "delay from which the L queue marks by itself"),
            range: of(Kind::Span, "0s", "how much longer it is when every packet is marked; `\"0s\"` is a step"),
            classic_share_permille:
                of(Kind::Count(0, 1000), "100", "thousandths of the link's rate that the classic queue has at least"),
            mtu_bytes: of(PACKET, FULL_PACKET, "below two of them in both queues there is no coupled signal"),
        }
    ),
    row!(
        "fq-codel", "Fair queueing by flow with CoDel on each (RFC 8290).",
        |frame_bytes| {
            let FqCoDel { codel, queues, .. } = FqCoDel::default();
            let codel = CoDel { mtu_bytes: frame_bytes, ..codel };
            Discipline::FqCoDel(FqCoDel { codel, queues, quantum_bytes: frame_bytes })
        },
        Discipline::FqCoDel(fq), fq.codel => {
            target: CODEL_TARGET,
            interval: CODEL_INTERVAL,
            mtu_bytes: CODEL_MTU,
            ecn: ecn("true"),
        }, fq => {
            queues: of(QUEUES, "1024", "number of queues that flows are hashed to"),
            quantum_bytes: of(PACKET, FULL_PACKET, "bytes that a queue may send per turn"),
        }
    ),
    row!(
        "sfq", "Stochastic fairness queueing (McKenney 1990).",
        |_| Discipline::Sfq(Sfq::default()),
        Discipline::Sfq(sfq), sfq => {
            queues: of(QUEUES, "1024", "number of queues that flows are hashed to"),
            perturbation: of(Kind::Span, "10s", "time after which the hash changes; `\"0s\"` is never"),
        }
    ),
    row!(
        "drr",
        "Deficit round robin by flow, with weights by class (Shreedhar, Varghese 1995).",
        |frame_bytes| Discipline::Drr(Drr { quantum_bytes: frame_bytes, ..Drr::default() }),
        Discipline::Drr(drr), drr => {
            queues: FLOW_QUEUES,
            quantum_bytes: of(PACKET, FULL_PACKET, "bytes that a queue of weight 1 may send per turn"),
            weights: WEIGHTS,
        }
    ),
    row!(
        "wfq",
        "Weighted fair queueing by flow, with weights by class (Demers, Keshav, Shenker 1989; Parekh, Gallager 1993).",
        |_| Discipline::Wfq(Wfq::default()),
        Discipline::Wfq(wfq), wfq => {
            queues: FLOW_QUEUES,
            weights: WEIGHTS,
        }
    ),
    row!(
        "classes", "Shares of classes with borrowing, one level of CBQ (Floyd, Van Jacobson 1995).",
        |frame_bytes| {
            Discipline::Classes(Classes { burst_bytes: frame_bytes.saturating_mul(2), ..Classes::default() })
        },
        Discipline::Classes(classes), classes => {
            classes: of(
                Kind::Tables(&CLASS),
                "two halves that borrow",
                "shares by `class` of flow or UDP source; higher classes belong to the last"
            ),
            burst_bytes: of(PACKET, "two full packets", "bytes that a class may send at once after a pause"),
        }
    ),
    row!(
        "cbq", "Class-based queueing: a tree of shares, borrowing between levels, priorities (Floyd, Van Jacobson 1995).",
        |frame_bytes| Discipline::Cbq(Cbq { quantum_bytes: frame_bytes, ..Cbq::default() }),
        Discipline::Cbq(cbq), cbq => {
            groups: of(Kind::Tables(&CBQ_GROUP), "none", "shares of several classes or groups together, by number from 0"),
            classes: of(
                Kind::Tables(&CBQ_CLASS),
                "two halves that borrow",
                "by `class` of flow or UDP source; higher classes belong to the last"
            ),
            weight: of(PROBABILITY, "0.0625", "w of the newest idle time in the average; above 0 and below 1"),
            burst_packets: of(Kind::Count(0, 1000), "16", "packets at once after a pause, beyond the first"),
            quantum_bytes: of(PACKET, FULL_PACKET, "bytes per turn of a class with the mean share of its priority"),
        }
    ),
    row!(
        "ack-first", "Pure ACKs before everything else (Kalampoukas, Varma, Ramakrishnan 1998).",
        |_| Discipline::AckFirst
    ),
    row!(
        "cba", "A share for pure ACKs and one for the rest (Kalampoukas, Varma, Ramakrishnan 1998).",
        |_| Discipline::Cba(Cba::default()),
        Discipline::Cba(cba), cba => {
            ack_share_permille:
                of(Kind::Count(1, 999), "500", "thousandths of the link's rate that pure ACKs have; the rest is the data's"),
        }
    ),
];

const SHARE: Field =
    required("share_permille", Kind::Count(1, 1000), "thousandths of the link's rate; all together at most 1000");
const BORROW: Field =
    optional("borrow", Kind::Flag, "true", "it may use what others do not; if not, its share is its limit");
const CBQ_SHARE: Field = required(
    "share_permille",
    Kind::Count(1, 1000),
    "thousandths of the link's rate; all in one group together at most the group's, and those in none at most 1000",
);

/// `classes = [{ … }]`
const CLASS: Table = Table { title: "`classes` of `classes`", fields: &[SHARE, BORROW] };

/// `groups = [{ … }]` of CBQ.
const CBQ_GROUP: Table = Table {
    title: "`groups` of `cbq`",
    fields: &[
        optional("group", GROUP, "none", "number of the group that it is in, which is an earlier one"),
        CBQ_SHARE,
        optional(
            "borrow",
            Kind::Flag,
            "true",
            "what is in it may use what others do not; if not, its share is its limit",
        ),
    ],
};

/// `classes = [{ … }]` of CBQ.
const CBQ_CLASS: Table = Table {
    title: "`classes` of `cbq`",
    fields: &[
        optional("group", GROUP, "none", "number of the group that it is in"),
        CBQ_SHARE,
        BORROW,
        optional("priority", Kind::Count(0, PRIORITIES as u64 - 1), "0", "0 goes first"),
    ],
};
