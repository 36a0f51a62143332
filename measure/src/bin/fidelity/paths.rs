//! The paths on which twins are compared, as scenarios.

/// A path and what goes over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// Short name, also of folders.
    pub name: &'static str,
    /// In words.
    pub what: &'static str,
    /// Length of a run.
    duration_s: u32,
    /// Fields of the link.
    link: &'static str,
    /// When a second flow of the same algorithm joins.
    joins_s: Option<u32>,
    /// Only for algorithms that need marks.
    pub marks: bool,
}

/// In the order of the tables.
pub const PATHS: &[Path] = &[
    Path {
        name: "20m",
        what: "20 Mbit/s, 20 ms, 1 BDP",
        duration_s: 4,
        link: "rate = '20Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'\n",
        joins_s: None,
        marks: false,
    },
    Path {
        name: "50m-shallow",
        what: "50 Mbit/s, 40 ms, 0.5 BDP",
        duration_s: 3,
        link: "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '0.5bdp'\n",
        joins_s: None,
        marks: false,
    },
    Path {
        name: "50m-deep",
        what: "50 Mbit/s, 40 ms, 2 BDP",
        duration_s: 3,
        link: "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '2bdp'\n",
        joins_s: None,
        marks: false,
    },
    Path {
        name: "10m-loss",
        what: "10 Mbit/s, 100 ms, 1 BDP, 0.5 % random loss",
        duration_s: 6,
        link: "rate = '10Mbit/s'\nbase_rtt = '100ms'\nbuffer = '1bdp'\nloss = 0.005\n",
        joins_s: None,
        marks: false,
    },
    Path {
        name: "late",
        what: "20 Mbit/s, 20 ms, 1 BDP, a second flow after 2 s",
        duration_s: 5,
        link: "rate = '20Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'\n",
        joins_s: Some(2),
        marks: false,
    },
    Path {
        name: "marks",
        what: "20 Mbit/s, 20 ms, 2 BDP, marks beyond 20 packets",
        duration_s: 4,
        link: "rate = '20Mbit/s'\nbase_rtt = '20ms'\nbuffer = '2bdp'\necn_threshold = '20p'\n",
        joins_s: None,
        marks: true,
    },
];

/// Algorithm, and its name in the kernel's own tree.
pub const TWINS: &[(&str, &str)] = &[
    ("reno", "reno"),
    ("cubic", "cubic"),
    ("bbr", "bbr"),
    ("bic", "bic"),
    ("cdg", "cdg"),
    ("dctcp", "dctcp"),
    ("hstcp", "highspeed"),
    ("htcp", "htcp"),
    ("hybla", "hybla"),
    ("illinois", "illinois"),
    ("lp", "lp"),
    ("nv", "nv"),
    ("scalable", "scalable"),
    ("vegas", "vegas"),
    ("veno", "veno"),
    ("westwood", "westwood"),
    ("yeah", "yeah"),
];

/// Where the other algorithm goes.
const SIDE: &str = "[[hop]]\nname = 'side'\nrate = '1Mbit/s'\ndelay = '1ms'\nbuffer = { packets = 10 }\n";

impl Path {
    /// Whether a twin is measured on it.
    pub fn is_for(&self, twin: &str) -> bool {
        // Without marks, dctcp is reno after its first loss: there is nothing of its own to compare.
        self.marks == (twin == "dctcp")
    }

    /// The scenario with `main` under test. `other` is registered as well, so that both sides boot alike: its flow opens when everything
    /// is over, on a link of its own, where no full queue takes its SYN.
    pub fn scenario(&self, main: &str, other: &str) -> String {
        let joiner = self.joins_s.map_or_else(String::new, |start_s| flow("joiner", main, &format!("{start_s}s")));
        let end_ms = self.duration_s * 1000 - 300;
        // lp takes the offset of the timestamps, which is drawn at random per connection, for a part of the delay.
        let hosts = if main.ends_with("lp") { "[host.all]\nsysctl = { 'ipv4/tcp_timestamps' = 2 }\n" } else { "" };
        format!(
            "name = 'fidelity-{}'\ndescription = '{}'\nduration = '{}s'\nevery = 'ack'\n[link]\n{}{SIDE}{hosts}{}{joiner}{}path = ['side']\n",
            self.name,
            self.what,
            self.duration_s,
            self.link,
            flow("main", main, "0s"),
            flow("other", other, &format!("{end_ms}ms")),
        )
    }
}

fn flow(name: &str, algorithm: &str, start: &str) -> String {
    format!("[[flow]]\nname = '{name}'\nalgorithm = '{algorithm}'\nstart = '{start}'\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_scenario::Scenario;

    #[test]
    fn every_path_is_a_scenario() {
        for path in PATHS {
            let scenario = Scenario::parse("x.toml", &path.scenario("reno", "native:reno")).unwrap();
            assert_eq!(scenario.flows.first().unwrap().algorithm, "reno");
            assert_eq!(scenario.flows.last().unwrap().algorithm, "native:reno");
        }
    }

    #[test]
    fn every_twin_has_paths() {
        for (ours, native) in TWINS {
            assert!(ccactl_abi::Algorithm::by_name(ours).is_some() && ccactl_abi::native::NAMES.contains(native));
            assert!(PATHS.iter().any(|path| path.is_for(ours)), "{ours}");
        }
    }
}
