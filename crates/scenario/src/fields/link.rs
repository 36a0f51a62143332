//! Fields of links: the bottleneck and further hops.

use super::{ANY, Field, Kind, Table, optional, required};

/// Lowest MTU that IPv4 hosts must take.
const MIN_MTU: u64 = 576;
/// Packets of the testbed live in slots of this many bytes; jumbo frames are out of scope.
const MAX_MTU: u64 = 9000;

/// Leaves room for the seeds of hops, runs and directions, which are derived from it.
const MAX_SEED: u64 = 1 << 53;

const RATE: Field = optional(
    "rate",
    Kind::Rate,
    "mean rate of `rate_trace`",
    "bits per second on the wire; required without `rate_trace`. With a trace, this rate \
     only counts a BDP, and the utilisation is a share of the opportunities in the run",
);
const BUFFER: Field = required(
    "buffer",
    Kind::Size,
    "room for waiting packets: `{ bdp = 4 }`, `{ bytes = 625000 }`, `{ packets = 412 }`; also `\"4bdp\"`, `\"625000B\"`, `\"412p\"`",
);
const QUEUE: Field = optional(
    "queue",
    Kind::Queue,
    "`\"drop-tail\"`",
    "a [discipline](#queue-disciplines) by name, or a table with its parameters",
);
const ECN_THRESHOLD: Field = optional(
    "ecn_threshold",
    Kind::Size,
    "none",
    "queue beyond which ECN-capable packets are marked, in the forms of `buffer`",
);
const LOSS_FIELD: Field = optional(
    "loss",
    Kind::Loss,
    "0",
    "probability that a packet which has left the buffer is lost, or `{ gilbert_elliott = { … } }`",
);
const RATE_STEPS: Field = optional(
    "rate_steps",
    Kind::Tables(&RATE_STEP),
    "none",
    "later rates: `[{ at = \"10s\", rate = \"20Mbit/s\" }, …]`, ascending",
);
const RATE_TRACE: Field = optional(
    "rate_trace",
    Kind::TextOr(&TRACE),
    "none",
    "a file of packet-delivery opportunities in mahimahi's format, relative to the scenario's folder",
);
const JITTER_FIELD: Field = optional(
    "jitter",
    Kind::SpanOr(&JITTER),
    "none",
    "a random time on top of the delay of each packet; `\"2ms\"` is uniform from 0 to 2 ms without reordering",
);
const WIRELESS_FIELD: Field = optional(
    "wireless",
    Kind::Table(&WIRELESS),
    "none",
    "retransmission below IP, in order; it occupies the transmitter",
);
const SNOOP: Field = optional(
    "snoop",
    Kind::Size,
    "none",
    "cache of a Snoop agent where packets enter the link, in the forms of `buffer`; only beside `loss` or `wireless`. The mobile is the \
     receiver of the data: the flow's host in a download, the server in an upload",
);
const DUPLEX: Field = optional(
    "duplex",
    Kind::Flag,
    "false",
    "a second, independent transmitter of the same kind in the other direction; without it the way back has the propagation delay alone",
);
const DOWN_BUFFER: Field = optional(
    "down_buffer",
    Kind::Size,
    "as `buffer`",
    "room for waiting packets in the other direction of a duplex link, in the forms of `buffer`",
);
const OVERHEAD_BYTES: Field = optional(
    "overhead_bytes",
    Kind::Count(0, 1000),
    "14",
    "what the wire adds to an IP packet; 14 is an Ethernet header",
);
const BDP_RTT: Field = optional(
    "bdp_rtt",
    Kind::Span,
    "`base_rtt` of `[link]`",
    "the RTT that a BDP is counted with, for paths whose RTT differs because of hops or `extra_rtt`",
);

const ACK_BATCH: Field = optional(
    "ack_batch",
    Kind::Span,
    "none",
    "what goes back arrives at multiples of this time only, all of it at once, as from a Wi-Fi station or a modem that gathers ACKs; not beside `duplex`",
);

const ACK_FILTER: Field = optional(
    "ack_filter",
    Kind::Flag,
    "false",
    "of the ACKs of a connection that `ack_batch` hands over together only the latest goes on, as through a cable modem; those with blocks of selective acknowledgement all do",
);
const HIDE_MARKS: Field = optional(
    "hide_marks",
    Kind::Flag,
    "false",
    "takes the marks of congestion off again behind the link, as a receiver does that hides them from the sender",
);

/// `[link]`
pub(crate) const LINK: Table = Table {
    title: "`[link]`",
    fields: &[
        RATE,
        required("base_rtt", Kind::Span, "propagation delay of the round trip, half of it in each direction"),
        BUFFER,
        QUEUE,
        ECN_THRESHOLD,
        LOSS_FIELD,
        RATE_STEPS,
        RATE_TRACE,
        optional(
            "base_rtt_steps",
            Kind::Tables(&RTT_STEP),
            "none",
            "later delays: `[{ at = \"10s\", base_rtt = \"60ms\" }, …]`, ascending",
        ),
        JITTER_FIELD,
        ACK_BATCH,
        ACK_FILTER,
        HIDE_MARKS,
        WIRELESS_FIELD,
        SNOOP,
        DUPLEX,
        DOWN_BUFFER,
        OVERHEAD_BYTES,
        BDP_RTT,
        optional("mtu", Kind::Count(MIN_MTU, MAX_MTU), "1500", "MTU of every device"),
        optional("seed", Kind::Count(0, MAX_SEED), "1", "seed of all random events; run N uses seed + N"),
    ],
};

/// `[[hop]]`
pub(crate) const HOP: Table = Table {
    title: "`[[hop]]`",
    fields: &[
        required("name", Kind::Name, "unique; not `link`"),
        RATE,
        required("delay", Kind::Span, "propagation delay of one direction, the same in the other"),
        BUFFER,
        QUEUE,
        ECN_THRESHOLD,
        LOSS_FIELD,
        RATE_STEPS,
        RATE_TRACE,
        optional(
            "delay_steps",
            Kind::Tables(&DELAY_STEP),
            "none",
            "later delays: `[{ at = \"10s\", delay = \"30ms\" }, …]`, ascending",
        ),
        JITTER_FIELD,
        ACK_BATCH,
        ACK_FILTER,
        HIDE_MARKS,
        WIRELESS_FIELD,
        SNOOP,
        DUPLEX,
        DOWN_BUFFER,
        OVERHEAD_BYTES,
        BDP_RTT,
        optional("seed", Kind::Count(0, ANY), "from that of `[link]`", "seed of the random events of this hop"),
    ],
};

const AT: Field = required("at", Kind::Span, "relative to the beginning of the run");

/// A later rate.
pub(crate) const RATE_STEP: Table =
    Table { title: "Steps of a rate", fields: &[AT, required("rate", Kind::Rate, "rate from then on")] };

/// A later round-trip delay.
pub(crate) const RTT_STEP: Table = Table {
    title: "Steps of a base RTT",
    fields: &[AT, required("base_rtt", Kind::Span, "base RTT of packets that are sent from then on")],
};

/// A later one-way delay.
pub(crate) const DELAY_STEP: Table = Table {
    title: "Steps of a delay",
    fields: &[AT, required("delay", Kind::Span, "delay of packets that are sent from then on")],
};

/// `jitter = { … }`
pub(crate) const JITTER: Table = Table {
    title: "`jitter`",
    fields: &[
        required("max", Kind::Span, "largest time on top of the delay"),
        optional(
            "distribution",
            Kind::Word(&["uniform", "normal"]),
            "`\"uniform\"`",
            "`\"uniform\"`: from 0 to `max`; `\"normal\"`: drawn again until it lies between 0 and `max`",
        ),
        optional("mean", Kind::Span, "required by `\"normal\"`", "mean of the normal distribution, at most `max`"),
        optional(
            "std_dev",
            Kind::Span,
            "required by `\"normal\"`",
            "standard deviation of the normal distribution, at most `max`",
        ),
        optional(
            "reorder",
            Kind::Flag,
            "false",
            "whether packets may overtake each other; otherwise a packet arrives with the one before it at the earliest",
        ),
    ],
};

/// `loss = { … }`
pub(crate) const LOSS: Table = Table {
    title: "`loss`",
    fields: &[required("gilbert_elliott", Kind::Table(&GILBERT_ELLIOTT), "losses in bursts")],
};

/// `loss = { gilbert_elliott = { … } }`
pub(crate) const GILBERT_ELLIOTT: Table = Table {
    title: "`gilbert_elliott`",
    fields: &[
        required(
            "good_to_bad",
            Kind::Number(0.0, 1.0),
            "probability, per packet, to go from the good to the bad state",
        ),
        required(
            "bad_to_good",
            Kind::Number(0.0, 1.0),
            "probability, per packet, to go back; the mean burst is 1 / `bad_to_good` packets",
        ),
        optional("loss_good", Kind::Number(0.0, 1.0), "0", "loss probability in the good state"),
        optional("loss_bad", Kind::Number(0.0, 1.0), "1", "loss probability in the bad state"),
    ],
};

/// `wireless = { … }`
pub(crate) const WIRELESS: Table = Table {
    title: "`wireless`",
    fields: &[
        required("error", Kind::Number(0.0, 1.0), "probability that one attempt fails"),
        optional("retries", Kind::Count(0, 255), "7", "further attempts before the packet is lost"),
        optional("retry_delay", Kind::Span, "0s", "between two attempts, in addition to the transmission"),
    ],
};

/// `rate_trace = { … }`
pub(crate) const TRACE: Table = Table {
    title: "`rate_trace`",
    fields: &[
        required("file", Kind::Text, "path, relative to the scenario's folder"),
        optional("hash", Kind::Text, "not compared", "SipHash-1-3 of the content, 128 bits in hexadecimal digits"),
    ],
};
