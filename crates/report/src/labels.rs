//! Names and colours of algorithms and flows.

use std::collections::{BTreeSet, HashMap};

use crate::summary::Side;
use ccactl_recording::read::{AlgorithmInfo, FlowInfo, Metadata, ValueInfo};

/// For algorithms that the recording gives no colour: Okabe and Ito's set, told apart by most colour-blind readers.
const PALETTE: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];

/// Names and colours of the algorithms of one recording.
pub struct Algorithms {
    by_kernel_name: HashMap<String, (String, String)>,
}

impl Algorithms {
    /// Labels for the kernel names seen in a recording.
    pub fn new(metadata: &Metadata, kernel_names: &BTreeSet<String>) -> Algorithms {
        let info = |kernel_name: &str| metadata.algorithms.iter().flatten().find(|a| a.kernel_name == kernel_name);
        let name = |kernel_name: &str| match info(kernel_name) {
            Some(AlgorithmInfo { algorithm, .. }) if !algorithm.is_empty() => algorithm.clone(),
            _ => kernel_name.to_owned(),
        };
        let by_kernel_name = kernel_names
            .iter()
            .enumerate()
            .map(|(index, kernel_name)| {
                let plain = name(kernel_name);
                // Two variants of one algorithm, or a native one of the same name: the kernel name tells them apart.
                let shared = kernel_names.iter().any(|other| other != kernel_name && name(other) == plain);
                let label = if shared && plain != *kernel_name { format!("{plain} [{kernel_name}]") } else { plain };
                let color = info(kernel_name).and_then(|a| a.color.clone()).filter(|c| is_color(c));
                let color = color.unwrap_or_else(|| PALETTE[index % PALETTE.len()].to_owned());
                (kernel_name.clone(), (label, color))
            })
            .collect();
        Algorithms { by_kernel_name }
    }

    /// What the user calls the algorithm.
    pub fn name(&self, kernel_name: &str) -> String {
        self.by_kernel_name.get(kernel_name).map_or_else(|| kernel_name.to_owned(), |(label, _)| label.clone())
    }

    /// `#rrggbb`.
    pub fn color(&self, kernel_name: &str) -> String {
        self.by_kernel_name.get(kernel_name).map_or_else(|| PALETTE[0].to_owned(), |(_, color)| color.clone())
    }
}

fn is_color(text: &str) -> bool {
    text.len() == 7 && text.starts_with('#') && text[1..].bytes().all(|b| b.is_ascii_hexdigit())
}

/// Name and meaning of each column of inner state, in the order of [`crate::measure::inner::COLUMNS`]; `None` when the
/// algorithm gives it no name.
pub fn inner_labels(metadata: &Metadata, kernel_name: &str) -> [Option<ValueInfo>; 4] {
    let value = |name: &str, doc: &str| Some(ValueInfo { name: name.to_owned(), doc: doc.to_owned() });
    let info = metadata.algorithms.iter().flatten().find(|a| a.kernel_name == kernel_name);
    [
        value("bw_bps", "the algorithm's bandwidth estimate"),
        value("min_rtt_us", "the algorithm's estimate of the RTT without a queue"),
        info.and_then(|info| info.v0.clone()).filter(is_quantity),
        info.and_then(|info| info.v1.clone()).filter(is_quantity),
    ]
}

/// Whether a mean or a line says anything of it. Sums of bits and names of connections are numbers by chance.
fn is_quantity(value: &ValueInfo) -> bool {
    !["_bits", "_token"].iter().any(|kind| value.name.ends_with(kind))
}

/// What a flow without a name of its own is known by.
pub struct Labelled {
    /// Its algorithms.
    pub algorithm: String,
    /// Its side in a roll-out.
    pub side: Option<Side>,
    /// cgroup2 id, which may have a name.
    pub cgroup_id: u64,
    /// Local address and port.
    pub local: String,
    /// Remote address and port.
    pub remote: String,
}

/// A name for each flow: that of the scenario where there is one, with that of the path for a subflow of MPTCP, else
/// algorithm, or side of a roll-out, and addresses.
///
/// Flows of one name (parallel connections of one cgroup) are numbered.
pub fn flow_names(metadata: &Metadata, flows: &[Labelled]) -> Vec<String> {
    let given =
        |of: &Labelled| metadata.flows.iter().flatten().find(|f| f.cgroup_id == of.cgroup_id && !f.name.is_empty());
    let plain: Vec<String> = flows
        .iter()
        .map(|of| match given(of) {
            Some(flow) => match path_of(flow, of) {
                Some(path) => format!("{} ({path})", flow.name),
                None => flow.name.clone(),
            },
            None => {
                let kind: &str = of.side.map_or(&of.algorithm, |side| side.word());
                format!("{kind} {}→{}", of.local, of.remote)
            }
        })
        .collect();
    let mut of_name: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *of_name.entry(name).or_default() += 1;
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    plain
        .iter()
        .map(|name| {
            let number = seen.entry(name).or_default();
            *number += 1;
            if of_name[name.as_str()] == 1 { name.clone() } else { format!("{name} #{number}") }
        })
        .collect()
}

/// The path whose address one end of a subflow has.
fn path_of<'a>(flow: &'a FlowInfo, of: &Labelled) -> Option<&'a String> {
    let has = |end: &str, address: &str| end.strip_prefix(address).is_some_and(|port| port.starts_with(':'));
    let mut paths = flow.paths.iter();
    paths.find(|(address, _)| has(&of.local, address) || has(&of.remote, address)).map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    fn info(kernel_name: &str, algorithm: &str, color: Option<&str>) -> AlgorithmInfo {
        AlgorithmInfo {
            kernel_name: kernel_name.to_owned(),
            algorithm: algorithm.to_owned(),
            color: color.map(str::to_owned),
            ..Default::default()
        }
    }

    fn flow(algorithm: &str, cgroup_id: u64, port: u64) -> Labelled {
        Labelled {
            algorithm: algorithm.into(),
            side: None,
            cgroup_id,
            local: format!("[fd00::1]:{port}"),
            remote: "10.0.0.2:80".into(),
        }
    }

    #[test]
    fn what_is_a_number_by_chance_has_no_mean() {
        let value = |name: &str| Some(ValueInfo { name: name.to_owned(), doc: String::new() });
        let of = AlgorithmInfo { v0: value("bounds_bits"), v1: value("loss_milli"), ..info("bpf_bbr2", "bbrv2", None) };
        let metadata = Metadata { algorithms: Some(vec![of]), ..Default::default() };
        let names = inner_labels(&metadata, "bpf_bbr2").map(|value| value.map(|value| value.name));
        assert_eq!(names.map(Option::unwrap_or_default), ["bw_bps", "min_rtt_us", "", "loss_milli"]);
    }

    #[test]
    fn the_registry_name_wins_over_the_kernel_name() {
        let metadata =
            Metadata { algorithms: Some(vec![info("bpf_cubic", "cubic", Some("#123456"))]), ..Default::default() };
        let labels = Algorithms::new(&metadata, &names(&["bpf_cubic", "dctcp"]));
        assert_eq!((labels.name("bpf_cubic"), labels.color("bpf_cubic")), ("cubic".into(), "#123456".into()));
        assert_eq!(labels.name("dctcp"), "dctcp");
    }

    #[test]
    fn algorithms_of_one_name_are_told_apart_by_kernel_name() {
        let algorithms =
            vec![info("bpf_cubic", "cubic", None), info("f_bbrv2", "f-bbrv2", None), info("fbbr-a13", "f-bbrv2", None)];
        let metadata = Metadata { algorithms: Some(algorithms), ..Default::default() };
        let labels = Algorithms::new(&metadata, &names(&["bpf_cubic", "cubic", "f_bbrv2", "fbbr-a13"]));
        assert_eq!(labels.name("bpf_cubic"), "cubic [bpf_cubic]");
        assert_eq!(labels.name("cubic"), "cubic");
        assert_eq!(labels.name("f_bbrv2"), "f-bbrv2 [f_bbrv2]");
        assert_eq!(labels.name("fbbr-a13"), "f-bbrv2 [fbbr-a13]");
    }

    #[test]
    fn a_color_that_is_none_is_replaced() {
        let metadata =
            Metadata { algorithms: Some(vec![info("a", "a", Some("red\"><script>"))]), ..Default::default() };
        assert_eq!(Algorithms::new(&metadata, &names(&["a"])).color("a"), PALETTE[0]);
    }

    #[test]
    fn flows_are_named_by_scenario_or_by_address_and_numbered() {
        let named = FlowInfo { cgroup_id: 7, name: "left".into(), ..Default::default() };
        let metadata = Metadata { flows: Some(vec![named]), ..Default::default() };
        let flows = [flow("cubic", 7, 1), flow("cubic", 7, 2), flow("bbr", 9, 3)];
        assert_eq!(flow_names(&metadata, &flows), ["left #1", "left #2", "bbr [fd00::1]:3→10.0.0.2:80"]);
    }

    #[test]
    fn flows_of_a_roll_out_are_named_by_their_side() {
        let of = |port, side| Labelled { side: Some(side), ..flow("cubic", 7, port) };
        let names = flow_names(&Metadata::default(), &[of(1, Side::Canary), of(2, Side::Baseline)]);
        assert_eq!(names, ["canary [fd00::1]:1→10.0.0.2:80", "baseline [fd00::1]:2→10.0.0.2:80"]);
    }

    #[test]
    fn subflows_are_named_by_their_paths() {
        let paths = [("10.200.1.1", "wifi"), ("10.200.1.12", "lte")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let named = FlowInfo { cgroup_id: 7, name: "both".into(), paths: paths.into(), ..Default::default() };
        let metadata = Metadata { flows: Some(vec![named]), ..Default::default() };
        let subflow =
            |local: &str, remote: &str| Labelled { local: local.into(), remote: remote.into(), ..flow("lia", 7, 1) };
        let (up, down) = (subflow("10.200.1.1:9", "10.200.0.1:1"), subflow("10.200.0.1:1", "10.200.1.12:9"));
        assert_eq!(flow_names(&metadata, &[up, down]), ["both (wifi)", "both (lte)"]);
    }
}
