//! Fields of the document itself, of hosts, matrix, quick runs and expectations.

use super::{ANY, FLOW, Field, HOP, Kind, LINK, PATHS, SWAP, Table, UDP, optional, required};

/// First value of `tcp_rmem`: less is less than what the kernel gives under memory pressure.
const MIN_BUFFER_BYTES: u64 = 4096;
/// The sysctls are `int`.
const MAX_BUFFER_BYTES: u64 = i32::MAX as u64;

/// `GSO_MAX_SEGS` of a device that sets none (include/linux/netdevice.h).
const MAX_GSO_SEGMENTS: u64 = 65_535;

/// The document.
pub(crate) const DOCUMENT: Table = Table {
    title: "The document",
    fields: &[
        optional("name", Kind::Name, "name of the file", "name of the output folder and of the report"),
        optional("description", Kind::Text, "empty", "one sentence, with what the source leaves open"),
        required("duration", Kind::Span, "length of a run"),
        optional(
            "warm_up",
            Kind::Span,
            "none",
            "before each run and not recorded: every flow sends for so long and closes, and the hosts remember what the \
             kernel keeps of a path (ssthresh, RTT); only with the emulator",
        ),
        optional("repeat", Kind::Count(1, 1000), "1", "number of runs"),
        optional(
            "preset",
            Kind::Text,
            "none",
            "the preset of each flow and `[[swap]]` that names none and whose algorithm has one of this name",
        ),
        optional("every", Kind::Sampling, "`\"ack\"`", "sampling of the recording: `\"ack\"`, `\"rtt\"` or a time"),
        required("link", Kind::Table(&LINK), "the bottleneck"),
        required("flow", Kind::Tables(&FLOW), "the TCP flows"),
        optional("hop", Kind::Tables(&HOP), "none", "further links"),
        optional("path", Kind::Tables(&PATHS), "none", "paths of MPTCP flows"),
        optional("swap", Kind::Tables(&SWAP), "none", "changes of algorithm during the run"),
        optional("udp", Kind::Tables(&UDP), "none", "traffic that responds to nothing"),
        optional("proxy", Kind::Tables(&PROXY), "none", "a proxy on the path that splits connections; one at the most"),
        optional("host", Kind::Map(&HOST), "none", "settings of the hosts"),
        optional("thresholds", Kind::Table(&THRESHOLDS), "none", "what the result must reach"),
        optional("published", Kind::Table(&PUBLISHED), "none", "printed figures"),
        optional("matrix", Kind::Tables(&MATRIX), "none", "axes of a sweep"),
        optional("quick", Kind::Table(&QUICK), "none", "what `--quick` changes"),
        optional("as-printed", Kind::Table(&AS_PRINTED), "none", "what `--as-printed` changes"),
    ],
};

/// `[[proxy]]`
pub(crate) const PROXY: Table = Table {
    title: "`[[proxy]]`",
    fields: &[
        optional("name", Kind::Name, "`\"proxy\"`", "name of its host, for `[host.NAME]`"),
        required(
            "after",
            Kind::Text,
            "the link behind which it stands, as the flows' hosts see it; every flow with this link in its path is split \
             there, unseen by both ends, and needs another link behind it",
        ),
        required("client_algorithm", Kind::Text, "algorithm of its legs to the flows' hosts: data of downloads"),
        required("server_algorithm", Kind::Text, "algorithm of its legs to the server: data of uploads"),
        optional(
            "upload_target",
            Kind::Span,
            "none",
            "it offers the flows' hosts a window with which their queue stays near this delay (rLEDBAT), in ms",
        ),
    ],
};

/// `[host.NAME]`
pub(crate) const HOST: Table = Table {
    title: "`[host.NAME]`",
    fields: &[
        optional(
            "rcvbuf_max",
            Kind::Count(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
            "four times what the fullest path of a flow holds, 67108864 or more",
            "bytes; third value of `net.ipv4.tcp_rmem`, the ceiling of a receive buffer that tunes itself",
        ),
        optional(
            "sndbuf_max",
            Kind::Count(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
            "four times what the fullest path of a flow holds, 67108864 or more",
            "bytes; third value of `net.ipv4.tcp_wmem`",
        ),
        optional(
            "gso_max_segs",
            Kind::Count(1, MAX_GSO_SEGMENTS),
            "65535",
            "most segments that a sender hands to its device at once; 1 = as without segmentation offload",
        ),
        optional(
            "sysctl",
            Kind::Settings,
            "none",
            "by path below `/proc/sys/net`: `{ \"ipv4/tcp_slow_start_after_idle\" = 0 }`",
        ),
    ],
};

/// `[thresholds]`
pub(crate) const THRESHOLDS: Table = Table {
    title: "`[thresholds]`",
    fields: &[
        optional("jain_min", Kind::Number(0.0, 1.0), "none", "Jain index of the goodputs, at least"),
        optional("utilisation_min", Kind::Number(0.0, 1.0), "none", "link utilisation, at least"),
        optional("rtt_mean_max", Kind::Span, "none", "mean RTT over the samples of all flows, at most"),
        optional("retransmissions_max", Kind::Count(0, ANY), "none", "retransmitted packets of all flows, at most"),
    ],
};

/// `[published]`
pub(crate) const PUBLISHED: Table = Table {
    title: "`[published]`",
    fields: &[
        required("source", Kind::Text, "paper and figure"),
        optional("jain", Kind::Number(0.0, 1.0), "none", "Jain index"),
        optional("gap", Kind::Rate, "none", "difference of the two goodputs"),
        optional("goodput", Kind::Rate, "none", "goodput of a single flow"),
    ],
};

/// `[[matrix]]`
pub(crate) const MATRIX: Table = Table {
    title: "`[[matrix]]`",
    fields: &[
        required("name", Kind::Name, "name of the axis"),
        optional("field", Kind::Text, "none", "the field that takes each of `values`"),
        optional("fields", Kind::Strings, "none", "several fields: all take the value, or with `pairs` one each"),
        optional("values", Kind::Values, "none", "text, numbers and flags; each is a point of the axis"),
        optional("pairs", Kind::Values, "none", "all unordered pairs with repetition, for two `fields`"),
        optional("cells", Kind::Tables(&CELL), "none", "points that set several fields, written out"),
    ],
};

/// `[[matrix]] cells`
pub(crate) const CELL: Table = Table {
    title: "`[[matrix]]` `cells`",
    fields: &[
        required("label", Kind::Text, "unique on the axis"),
        required("set", Kind::Changes, "`{ \"flow[0].algorithm\" = \"reno\", … }`"),
    ],
};

const SET: Field = optional("set", Kind::Changes, "none", "`{ duration = \"20s\", … }`, any field that no axis sets");
const KEEP: Field = optional("keep", Kind::Labels, "all", "`{ buffer = [\"5bdp\"] }`: the points that stay, by axis");

/// `[as-printed]`
pub(crate) const AS_PRINTED: Table = Table {
    title: "`[as-printed]`",
    fields: &[
        required(
            "assumed",
            Kind::Strings,
            "sentences: each condition of the paper that it does not state, and the printed figures that it was inferred from",
        ),
        SET,
        KEEP,
        optional(
            "instead",
            Kind::Exchanges,
            "none",
            "`{ algorithm = { new-vegas = \"nv\" } }`: values that take the place of others, by axis; the points keep \
             their labels",
        ),
    ],
};

/// `[quick]`
pub(crate) const QUICK: Table = Table { title: "`[quick]`", fields: &[SET, KEEP] };
