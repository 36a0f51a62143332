//! Fields of flows, swaps and UDP sources.

use super::{ANY, Field, Kind, RATE_STEP, Table, optional, required};

/// IPv4 and UDP headers, and a little payload.
const MIN_UDP_BYTES: u64 = 64;
/// The largest MTU.
const MAX_UDP_BYTES: u64 = 9000;

const ALGORITHM: Field = required(
    "algorithm",
    Kind::Text,
    "a name of `ccactl list`, a file (`.bpf.c`, `.bpf.o`) relative to the scenario, or `native:NAME` for the \
     kernel's own. Linux lets no BPF program choose `native:cdg`: the sender of an upload chooses it itself",
);
const SET: Field = optional("set", Kind::Settings, "none", "tunables, as for `ccactl load --set`");
const PRESET: Field = optional(
    "preset",
    Kind::Text,
    "none",
    "a named set of tunables of the algorithm, as for `ccactl load --preset`; `set` comes on top",
);
const AS: Field = optional("as", Kind::Text, "made from code and tunables", "kernel name; needed only to choose it");
const START: Field = optional("start", Kind::Span, "0s", "relative to the beginning of the run");
const STOP: Field = optional("stop", Kind::Span, "end of the run", "relative to the beginning of the run");
const PATH: Field = optional(
    "path",
    Kind::Strings,
    "`[\"link\"]`",
    "links in the order from the flow's host to the server: `link` and names of `[[hop]]`",
);

const CLASS: Field = optional(
    "class",
    Kind::Count(0, 255),
    "0",
    "class of its packets, both ways, for a [discipline](#queue-disciplines) with classes",
);

/// What a run in the simulator has memory for.
const MAX_COUNT: u64 = 10_000;

/// `sizes`
pub(crate) const SIZES: Table = Table {
    title: "`sizes` of a flow",
    fields: &[
        required("median", Kind::Count(1, ANY), "payload that half of the flows exceed, bytes"),
        required(
            "sigma",
            Kind::Number(0.0, 10.0),
            "standard deviation of the logarithm of the payload, which is normally distributed; 0 gives all the median",
        ),
        required("most", Kind::Count(1, ANY), "larger payloads are cut to this, bytes"),
    ],
};

/// `[[flow]]`
pub(crate) const FLOW: Table = Table {
    title: "`[[flow]]`",
    fields: &[
        required("name", Kind::Name, "unique; letters, digits, `-`, `_`, `.`"),
        ALGORITHM,
        PRESET,
        SET,
        AS,
        optional(
            "receive",
            Kind::Text,
            "the kernel's window",
            "of a download: the [receiving algorithm](how-to/receive.md) of its client, a name of `ccactl list` or a file",
        ),
        optional("receive_set", Kind::Settings, "none", "tunables of it"),
        PATH,
        optional(
            "paths",
            Kind::Strings,
            "plain TCP over `path`",
            "names of `[[path]]`: an MPTCP connection with a subflow on each, the first of them on the first",
        ),
        optional(
            "direction",
            Kind::Word(&["upload", "download"]),
            "`\"upload\"`",
            "`\"upload\"`: the flow's host sends to the server; `\"download\"`: the server sends, the host opens the connection",
        ),
        optional("extra_rtt", Kind::Span, "0s", "added to the base RTT of this flow, half of it in each direction"),
        CLASS,
        START,
        STOP,
        optional(
            "bytes",
            Kind::Count(1, ANY),
            "endless",
            "payload of a transfer; the transfer ends when all of it is received, at the latest at `stop`",
        ),
        optional(
            "repeat",
            Kind::Repeat,
            "1",
            "number of transfers of `bytes`, each on a new connection, or `\"until-stop\"`",
        ),
        optional("gap", Kind::Span, "0s", "from the end of a transfer to the beginning of the next"),
        optional(
            "count",
            Kind::Count(1, MAX_COUNT),
            "1",
            "so many flows of this kind, each with a host of its own: `NAME-1`, `NAME-2` and so on; more than 200 in the simulator only",
        ),
        optional(
            "arrivals",
            Kind::Span,
            "all at `start`",
            "mean time from one of them to the next, exponentially distributed (a Poisson process); whoever would come after `stop` \
             does not",
        ),
        optional(
            "sizes",
            Kind::Table(&SIZES),
            "`bytes`",
            "payloads that differ from flow to flow, in place of `bytes`",
        ),
        optional(
            "application",
            Kind::Table(&APPLICATION),
            "there is always more to send",
            "what makes the data of an endless flow, a piece at a time; TCP is limited by the application when it has sent a piece",
        ),
        optional(
            "command",
            Kind::Strings,
            "built-in sender",
            "program and arguments, run in the sender's namespace and cgroup",
        ),
        optional("tour", Kind::Table(&TOUR), "none", "a series of [swaps](#swap) at even intervals"),
    ],
};

/// `application = { … }`
pub(crate) const APPLICATION: Table = Table {
    title: "`application`",
    fields: &[
        required("rate", Kind::Rate, "payload per second from the flow's start on; `\"0bit/s\"` is a pause"),
        optional(
            "every",
            Kind::Span,
            "20ms",
            "from one piece to the next, each of rate × `every`. One that TCP has not taken by then is finished first, and the next follows at once; nothing is made up later",
        ),
        optional(
            "steps",
            Kind::Tables(&RATE_STEP),
            "none",
            "later rates: `[{ at = \"10s\", rate = \"10Mbit/s\" }, …]`, ascending",
        ),
    ],
};

/// `[[path]]`
pub(crate) const PATHS: Table = Table {
    title: "`[[path]]`",
    fields: &[
        required("name", Kind::Name, "unique"),
        optional(
            "links",
            Kind::Strings,
            "`[\"link\"]`",
            "links in the order from the flow's host to the server: `link` and names of `[[hop]]`",
        ),
        optional("extra_rtt", Kind::Span, "0s", "added to the base RTT of this path, half of it in each direction"),
    ],
};

/// `tour = { … }`
pub(crate) const TOUR: Table = Table {
    title: "`tour`",
    fields: &[
        required("every", Kind::Span, "time between two swaps"),
        optional("from", Kind::Span, "`every` after the start of the flow", "first swap"),
        required("through", Kind::Through, "names of algorithms in their order, or `\"all\"`: those of `ccactl list`"),
    ],
};

/// `[[swap]]`
pub(crate) const SWAP: Table = Table {
    title: "`[[swap]]`",
    fields: &[
        required(
            "at",
            Kind::Span,
            "relative to the beginning of the run; after the start of the flow and its previous swap, and before its stop",
        ),
        required("flow", Kind::Text, "name of a flow"),
        required(
            "algorithm",
            Kind::Text,
            "as in a flow; the algorithm or its tunables have to differ from what the flow has by then",
        ),
        PRESET,
        SET,
        AS,
    ],
};

/// `[[udp]]`
pub(crate) const UDP: Table = Table {
    title: "`[[udp]]`",
    fields: &[
        required("name", Kind::Name, "unique among flows and UDP sources"),
        PATH,
        CLASS,
        START,
        STOP,
        required("rate", Kind::Rate, "rate from the start on; `\"0bit/s\"` is a pause"),
        optional(
            "packet_bytes",
            Kind::Count(MIN_UDP_BYTES, MAX_UDP_BYTES),
            "`mtu`",
            "size of the IP packets, headers included",
        ),
        optional(
            "steps",
            Kind::Tables(&RATE_STEP),
            "none",
            "later rates: `[{ at = \"10s\", rate = \"10Mbit/s\" }, …]`, ascending",
        ),
    ],
};
