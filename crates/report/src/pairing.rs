//! What of one side of a comparison stands against what of the other.

use std::collections::HashMap;

use crate::Error;
use crate::summary::{FlowSummary, Summary};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// All flows of an algorithm together.
    Algorithm,
    /// Each flow, by the name that its scenario gives it, whatever its algorithm.
    Flow,
}

/// Two of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// Name of the flow on both sides; none for an algorithm's flows.
    pub flow: Option<String>,
    /// Algorithm on side A.
    pub in_a: String,
    /// Algorithm on side B.
    pub in_b: String,
}

/// The pairs, and what is to be said of them. Algorithms go together by name. Where one on each side is left over, these two do: that is the
/// change of algorithm that was tried. Where more are, flows are compared, if all of them have counterparts by name.
///
/// # Errors
/// [`Error::NoCounterpart`] when flows were asked for and none is on both sides.
pub fn pairs(a: &Summary, b: &Summary, by: Option<By>) -> Result<(Vec<Pair>, Vec<String>), Error> {
    let of_flows = || flow_pairs(a, b);
    match by {
        Some(By::Flow) => {
            let (pairs, notes) = of_flows();
            if pairs.is_empty() { Err(Error::NoCounterpart) } else { Ok((pairs, notes)) }
        }
        Some(By::Algorithm) => Ok(algorithm_pairs(a, b)),
        None => {
            let (pairs, notes) = algorithm_pairs(a, b);
            if notes.is_empty() {
                return Ok((pairs, notes));
            }
            let (flows, missing) = of_flows();
            if flows.is_empty() || !missing.is_empty() {
                return Ok((pairs, notes));
            }
            let why = "flows are compared by name, as the sides have other algorithms".to_owned();
            Ok((flows, vec![why]))
        }
    }
}

fn algorithm_pairs(a: &Summary, b: &Summary) -> (Vec<Pair>, Vec<String>) {
    let names = |summary: &Summary| -> Vec<String> {
        summary.recordings.first().map_or(Vec::new(), |r| r.algorithms.iter().map(|a| a.algorithm.clone()).collect())
    };
    let (in_a, in_b) = (names(a), names(b));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|name| !those.contains(name)).cloned().collect()
    };
    let (only_a, only_b) = (only(&in_a, &in_b), only(&in_b, &in_a));
    let pair = |in_a: &String, in_b: &String| Pair { flow: None, in_a: in_a.clone(), in_b: in_b.clone() };
    let mut pairs: Vec<Pair> = in_a.iter().filter(|name| in_b.contains(name)).map(|name| pair(name, name)).collect();
    if let ([one], [other]) = (only_a.as_slice(), only_b.as_slice()) {
        pairs.push(pair(one, other));
        return (pairs, Vec::new());
    }
    let told = |side: &str, only: &[String]| {
        (!only.is_empty()).then(|| format!("only {side} has {}: not compared", only.join(", ")))
    };
    (pairs, [told("A", &only_a), told("B", &only_b)].into_iter().flatten().collect())
}

fn flow_pairs(a: &Summary, b: &Summary) -> (Vec<Pair>, Vec<String>) {
    let (in_a, in_b) = (flows(a), flows(b));
    let by_name: HashMap<&str, &FlowSummary> = in_b.iter().map(|flow| (flow.name.as_str(), flow)).collect();
    let pair = |one: &FlowSummary| {
        let other = by_name.get(one.name.as_str())?;
        let flow = Some(one.name.clone());
        Some(Pair { flow, in_a: one.algorithm.clone(), in_b: other.algorithm.clone() })
    };
    let pairs: Vec<Pair> = in_a.iter().filter_map(pair).collect();
    let told = |side: &str, all: usize| {
        let alone = all - pairs.len();
        (alone > 0).then(|| format!("{alone} of {all} flows of {side} have no counterpart by name: not compared"))
    };
    let notes = [told("A", in_a.len()), told("B", in_b.len())].into_iter().flatten().collect();
    (pairs, notes)
}

/// Those of the first run; their names are unique.
fn flows(summary: &Summary) -> &[FlowSummary] {
    summary.recordings.first().map_or(&[], |recording| &recording.flows)
}
