//! A case as a scenario: what the simulator, the emulator and the lab run.

use crate::case::{Case, Event, Gene, Kind};
use crate::error::Result;
use ccactl_scenario::units::{Rate, Span};
use ccactl_scenario::{Scenario, ScenarioFile};
use std::fmt::Write;

/// Flows of the algorithm in question are named so, with a number where there are more.
pub const SUBJECT: &str = "subject";
/// Flows beside it.
pub const RIVAL: &str = "rival";

/// Size of the IP packets of a burst.
const BURST_PACKET_BYTES: u32 = 1500;
/// From one flow of a side to the next, ms: flows in lock-step are no measure of anything.
const APART_MS: u32 = 100;

/// What is the same for all cases of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Name of the scenario.
    pub name: String,
    /// Length of a run, ms.
    pub duration_ms: u32,
    /// What the flows beside the subject have; none where there are none.
    pub rival: Option<String>,
}

/// What the flows named [`SUBJECT`] have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contestant {
    /// As a scenario names it.
    pub algorithm: String,
    /// Named set of tunables.
    pub preset: Option<String>,
    /// Tunables, as written.
    pub set: Vec<(String, String)>,
}

impl Contestant {
    /// With its tunables as they are.
    #[must_use]
    pub fn plain(algorithm: &str) -> Contestant {
        Contestant { algorithm: algorithm.to_owned(), preset: None, set: Vec::new() }
    }

    fn fields(&self) -> String {
        let mut text = format!("algorithm = {:?}\n", self.algorithm);
        if let Some(preset) = &self.preset {
            let _ = writeln!(text, "preset = {preset:?}");
        }
        if !self.set.is_empty() {
            let pairs: Vec<String> = self.set.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
            let _ = writeln!(text, "set = {{ {} }}", pairs.join(", "));
        }
        text
    }
}

impl Setting {
    /// The scenario of a case.
    ///
    /// # Errors
    /// When the algorithm cannot be used.
    pub fn scenario(&self, case: &Case, subject: &Contestant) -> Result<Scenario> {
        let text = self.text(case, subject, "", 1);
        Ok(ScenarioFile::parse("a case", &text, &[]).map_err(ccactl_testbed::Error::from)?.scenario)
    }

    /// The text of the same.
    #[must_use]
    pub fn text(&self, case: &Case, subject: &Contestant, description: &str, repeat: u32) -> String {
        let value = |gene| case.value(gene);
        let mut text = format!(
            "name = {:?}\ndescription = {description:?}\nduration = \"{}\"\nrepeat = {repeat}\nevery = \"rtt\"\n\n[link]\n\
             rate = \"{}\"\nbase_rtt = \"{}ms\"\nbuffer = {{ bdp = {} }}\n",
            self.name,
            ms(self.duration_ms),
            kbps(value(Gene::Rate)),
            value(Gene::Rtt),
            f64::from(value(Gene::Buffer)) / 100.0,
        );
        let mut line = |is_there: bool, line: String| {
            if is_there {
                text.push_str(&line);
            }
        };
        line(value(Gene::Loss) > 0, format!("loss = {}\n", f64::from(value(Gene::Loss)) / 1e6));
        line(value(Gene::Jitter) > 0, format!("jitter = \"{}ms\"\n", value(Gene::Jitter)));
        line(value(Gene::AckBatch) > 0, format!("ack_batch = \"{}ms\"\n", value(Gene::AckBatch)));
        let rates = steps(case, Kind::Rate, "rate", |percent| percent_of(value(Gene::Rate), percent).to_string());
        line(!rates.is_empty(), rates);
        // Two halves, each of whole microseconds.
        let rtts = steps(case, Kind::Rtt, "base_rtt", |percent| {
            let us = u64::from(value(Gene::Rtt)) * 10 * u64::from(percent);
            Span { ns: us.max(2) / 2 * 2 * 1000 }.to_string()
        });
        line(!rtts.is_empty(), rtts);
        let flows = value(Gene::Flows);
        text.push_str(&side(SUBJECT, &subject.fields(), 0, flows));
        if let Some(rival) = &self.rival {
            text.push_str(&side(RIVAL, &Contestant::plain(rival).fields(), value(Gene::RivalStart), flows));
        }
        let bursts = case.events().iter().filter(|event| event.kind == Kind::Burst);
        text.extend((1..).zip(bursts).map(|(number, event)| burst(number, *event, value(Gene::Rate))));
        text
    }
}

fn steps(case: &Case, kind: Kind, field: &str, quantity: impl Fn(u32) -> String) -> String {
    let steps: Vec<String> = case
        .steps(kind)
        .into_iter()
        // At the beginning the link has its own.
        .map(|(at_ms, percent)| {
            format!("    {{ at = \"{}\", {field} = {:?} }},\n", ms(at_ms.max(1)), quantity(percent))
        })
        .collect();
    if steps.is_empty() { String::new() } else { format!("{field}_steps = [\n{}]\n", steps.concat()) }
}

fn side(name: &str, fields: &str, start_ms: u32, flows: u32) -> String {
    let flow = |number: u32| {
        let name = if flows == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let start = match start_ms + (number - 1) * APART_MS {
            0 => String::new(),
            start_ms => format!("start = \"{}\"\n", ms(start_ms)),
        };
        format!("\n[[flow]]\nname = {name:?}\n{start}{fields}")
    };
    (1..=flows).map(flow).collect()
}

fn burst(number: u32, event: Event, rate_kbps: u32) -> String {
    format!(
        "\n[[udp]]\nname = \"burst-{number}\"\nstart = \"{}\"\nstop = \"{}\"\nrate = \"{}\"\npacket_bytes = {BURST_PACKET_BYTES}\n",
        ms(event.at_ms),
        ms(event.end_ms()),
        percent_of(rate_kbps, event.percent)
    )
}

fn ms(ms: u32) -> Span {
    Span { ns: u64::from(ms) * 1_000_000 }
}

fn kbps(kbps: u32) -> Rate {
    Rate { bps: u64::from(kbps) * 1000 }
}

fn percent_of(rate_kbps: u32, percent: u32) -> Rate {
    Rate { bps: u64::from(rate_kbps) * 10 * u64::from(percent) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;
    use crate::evolve::Space;
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    #[test]
    fn every_case_is_a_scenario() {
        let bounds = Bounds {
            domains: {
                let mut all = Bounds::of_run(20_000).domains;
                all[Gene::Flows as usize] = 1..=4;
                all
            },
            ..Bounds::of_run(20_000)
        };
        let setting = Setting { name: "x".to_owned(), duration_ms: 20_000, rival: Some("native:cubic".to_owned()) };
        let subject = Contestant { set: vec![("alpha".to_owned(), "1.2".to_owned())], ..Contestant::plain("f-bbrv2") };
        let mut rng = StdRng::seed_from_u64(3);
        for _ in 0..300 {
            let case = bounds.draw(&mut rng);
            let scenario = setting.scenario(&case, &subject).unwrap();
            let flows = case.value(Gene::Flows) as usize;
            assert_eq!(scenario.flows.len(), 2 * flows);
            assert_eq!(scenario.link.rate.bps, u64::from(case.value(Gene::Rate)) * 1000);
            assert_eq!(scenario.link.rate_steps.len(), case.steps(Kind::Rate).len());
            assert_eq!(scenario.udp.len(), case.events().iter().filter(|event| event.kind == Kind::Burst).count());
        }
    }

    #[test]
    fn what_does_not_happen_is_not_written() {
        let setting = Setting { name: "x".to_owned(), duration_ms: 20_000, rival: None };
        let case = Case::new([10_000, 40, 100, 0, 0, 0, 0, 1], Vec::new());
        let text = setting.text(&case, &Contestant::plain("reno"), "One flow", 3);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            [
                "name = \"x\"",
                "description = \"One flow\"",
                "duration = \"20s\"",
                "repeat = 3",
                "every = \"rtt\"",
                "[link]",
                "rate = \"10Mbit/s\"",
                "base_rtt = \"40ms\"",
                "buffer = { bdp = 1 }",
                "[[flow]]",
                "name = \"subject\"",
                "algorithm = \"reno\"",
            ]
        );
    }
}
