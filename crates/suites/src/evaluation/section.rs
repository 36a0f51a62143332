//! The sections of RFC 9743 that measurements answer, with the words in which they ask.

use serde::Serialize;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Section {
    /// Number in the RFC.
    pub number: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it asks for, quoted.
    pub words: &'static str,
}

/// In the order of the RFC.
pub const SECTIONS: &[Section] = &[
    Section {
        number: "5.1.1",
        title: "Protection Against Congestion Collapse",
        words: "this requirement is crucial to protect the network in times of extreme (persistent) congestion",
    },
    Section {
        number: "5.1.2",
        title: "Protection Against Bufferbloat",
        words: "should try to avoid maintaining excessive queues in the network",
    },
    Section {
        number: "5.1.3",
        title: "Protection Against High Packet Loss",
        words: "should try to avoid causing excessively high rates of packet loss",
    },
    Section {
        number: "5.1.4",
        title: "Fairness Within the Proposed Congestion Control Algorithm",
        words: "should explore how the capacity is shared among the competing flows",
    },
    Section {
        number: "5.1.5",
        title: "Short Flows",
        words: "MUST consider how new and short-lived flows affect long-lived flows, and vice versa",
    },
    Section {
        number: "5.2.1",
        title: "Existing General-Purpose Congestion Control",
        words: "could result in more harm than previous Standards Track algorithms",
    },
    Section {
        number: "5.2.2",
        title: "Real-Time Congestion Control",
        words: "need to coexist in the Internet with real-time congestion control algorithms",
    },
    Section {
        number: "5.2.3",
        title: "Short and Long Flows",
        words: "the effect on short-lived and long-lived flows using other common congestion control algorithms MUST be evaluated",
    },
    Section {
        number: "6.1",
        title: "Paths with Tail-Drop Queues",
        words: "the drop-tail queue discipline (using a FIFO buffer) MUST be evaluated",
    },
    Section {
        number: "6.4",
        title: "Wireless Paths",
        words: "some packet losses are due to radio effects, rather than router queue drops",
    },
    Section {
        number: "7.1",
        title: "Active Queue Management",
        words: "SHOULD be evaluated under a variety of bottleneck queue disciplines",
    },
    Section {
        number: "7.1.1",
        title: "Operation with the Envelope Set by Network Circuit Breakers",
        words: "ought to react before the flow uses excessive resources",
    },
    Section {
        number: "7.2",
        title: "Paths with Varying Delay",
        words: "its operation is robust when there is a significant change in the minimum delay",
    },
    Section {
        number: "7.3",
        title: "Internet of Things",
        words: "well below the standard operating range of most Internet flows",
    },
    Section {
        number: "7.4",
        title: "Paths with High Delay",
        words: "ought not to presume that all general Internet paths have a low delay",
    },
    Section {
        number: "7.5",
        title: "Misbehaving Nodes",
        words: "should explore how the algorithm performs with non-compliant senders, receivers, or routers",
    },
    Section {
        number: "7.6",
        title: "Extreme Packet Reordering",
        words: "ought not to presume that all general Internet paths reliably deliver packets in order",
    },
    Section {
        number: "7.7",
        title: "Transient Events",
        words: "sudden onset of congestion, a routing change, or a mobility event",
    },
    Section {
        number: "7.8",
        title: "Multipath Transport",
        words: "MUST evaluate the potential harm to other flows when the multiple paths share a common congested bottleneck",
    },
    Section { number: "7.9", title: "Data Centers", words: "very low latencies (< 2 ms)" },
];

/// What this evaluation says nothing of.
pub const NOT_COVERED: &str = "Not measured here: 5.3 (what the specification has to explain), 6.2 (tunnels), 6.3 (wired paths are \
those of the other sections).";

impl Section {
    /// Looks one up.
    #[must_use]
    pub fn by_number(number: &str) -> Option<&'static Section> {
        SECTIONS.iter().find(|section| section.number == number)
    }
}
