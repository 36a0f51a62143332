//! Scenarios that are part of the binary, from the folder `scenarios/`.

use std::path::Path;

/// A scenario inside the binary.
#[derive(Debug, Clone, Copy)]
pub struct Shipped {
    /// Name on the command line.
    pub name: &'static str,
    /// TOML.
    pub text: &'static str,
}

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped { name: $name, text: include_str!(concat!("../../../scenarios/", $name, ".toml")) }),*]
    };
}

/// All of them; a test compares the list with the folder.
pub const SHIPPED: &[Shipped] = shipped![
    "aca-cwnd",
    "aca-delivered",
    "aca-estimator",
    "aca-fairness",
    "aca-friendliness",
    "aca-loss",
    "aca-rtt",
    "aca-throughput",
    "aqm",
    "bbr-vs-cubic",
    "bbrv2-vs-cubic",
    "bufferbloat",
    "dctcp",
    "fbbrv2-beside",
    "fbbrv2-rtprop",
    "fbbrv2-single",
    "fbbrv2-staggered",
    "fbbrv2-timeline",
    "fbbrv2-vs-cubic",
    "interaction-late-joiner",
    "interaction-pairs",
    "interaction-rtt",
    "interaction-single",
    "l4s",
    "p4",
    "p4-upload",
    "rivals",
    "rmem-sweep",
    "single",
    "single-p1",
    "single-p1-loss",
    "single-small",
    "swap-bbr-cubic",
    "swap-tour",
    "wmem-sweep",
];

impl Shipped {
    /// Looks one up.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Shipped> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }

    /// Whether a file in the current folder goes before this one. A folder does not: `bench` may have written one of its name.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        Path::new(self.name).is_file()
    }
}
