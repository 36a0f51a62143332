//! The paths on which twins are compared, as scenarios.

use serde::Deserialize;
use std::sync::LazyLock;

/// A path and what goes over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(default)]
    pub marks: bool,
    /// Not for twins: only for the simulator beside the lab.
    #[serde(default)]
    simulator_only: bool,
}

/// In the order of the tables.
pub static PATHS: LazyLock<Vec<Path>> = LazyLock::new(|| {
    let List { path } = toml::from_str(include_str!("../../../paths.toml")).expect("measure/paths.toml");
    path.into_iter().filter(|path| !path.simulator_only).collect()
});

// Texts are those of the file, which is in the program.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'static"))]
struct List {
    path: Vec<Path>,
}

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
        for path in PATHS.iter() {
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
