//! Many flows of one kind: one table of a document that stands for hundreds.

use crate::check::{Check, check_count, ensure};
use crate::spec::{FlowSpec, Scenario};
use crate::units::Span;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};

/// How many flows a table stands for, and how they differ.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Many {
    /// One, under its own name, when absent.
    pub count: Option<u32>,
    /// Mean time from one to the next.
    pub arrivals: Option<Span>,
    /// Their payloads.
    pub sizes: Option<Sizes>,
}

/// Payloads by a log-normal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    pub median_bytes: u64,
    /// Standard deviation of the logarithm.
    pub sigma: f64,
    pub most_bytes: u64,
}

impl Many {
    fn is_one(&self) -> bool {
        self.count.is_none() && self.sizes.is_none()
    }

    /// The flows that a table stands for.
    fn of(&self, flow: &FlowSpec, rng: &mut StdRng) -> Vec<FlowSpec> {
        let Some(count) = self.count else {
            let bytes = self.sizes.map(|sizes| sizes.draw(rng)).or(flow.bytes);
            return vec![FlowSpec { bytes, ..flow.clone() }];
        };
        let mut start = flow.start;
        let mut flows = Vec::new();
        for number in 1..=count {
            if let Some(mean) = self.arrivals.filter(|_| number > 1) {
                // 1 - u is never 0.
                let gap_ns = -(1.0 - rng.random::<f64>()).ln() * mean.ns as f64;
                start = Span { ns: start.ns.saturating_add(gap_ns as u64) };
            }
            let bytes = self.sizes.map(|sizes| sizes.draw(rng)).or(flow.bytes);
            if start < flow.stop {
                flows.push(FlowSpec { name: format!("{}-{number}", flow.name), start, bytes, ..flow.clone() });
            }
        }
        flows
    }
}

impl Sizes {
    fn draw(&self, rng: &mut StdRng) -> u64 {
        let normal = Normal::standard().inverse_cdf(rng.random_range(f64::EPSILON..1.0));
        let bytes = self.median_bytes as f64 * (self.sigma * normal).exp();
        (bytes as u64).clamp(1, self.most_bytes)
    }
}

/// Puts the flows that each table stands for in its place, with the settings of its host. The same seed of the link gives the same.
pub(crate) fn multiply(scenario: &mut Scenario, many: &[Many]) -> Check {
    if many.iter().all(Many::is_one) {
        return check_count(scenario);
    }
    let tables = std::mem::take(&mut scenario.flows);
    for (i, (table, many)) in tables.iter().zip(many).enumerate() {
        ensure(
            many.count.is_none() || scenario.swaps.iter().all(|swap| swap.flow != table.name),
            format!("flow[{i}].count"),
            || "expected one flow where a swap names it, found a count".to_owned(),
        )?;
        let mut rng = StdRng::seed_from_u64(scenario.link.seed.wrapping_add(i as u64));
        let flows = many.of(table, &mut rng);
        if let Some(host) = scenario.hosts.get(&table.name).filter(|_| many.count.is_some()).cloned() {
            scenario.hosts.remove(&table.name);
            scenario.hosts.extend(flows.iter().map(|flow| (flow.name.clone(), host.clone())));
        }
        for flow in &flows {
            let others = tables.iter().filter(|other| other.name != table.name);
            ensure(others.clone().all(|other| other.name != flow.name), format!("flow[{i}].name"), || {
                format!("expected names {}-1 and so on that no other flow has, found {:?} twice", table.name, flow.name)
            })?;
        }
        scenario.flows.extend(flows);
    }
    check_count(scenario)
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, ScenarioError};

    fn parse(flow: &str) -> Result<Scenario, ScenarioError> {
        let head = "duration = \"100s\"\n[link]\nrate = \"10Mbit/s\"\nbase_rtt = \"40ms\"\nbuffer = \"1bdp\"\n";
        Scenario::parse("many.toml", &format!("{head}[[flow]]\nname = \"web\"\nalgorithm = \"reno\"\n{flow}"))
    }

    #[test]
    fn flows_come_as_a_poisson_process_and_have_the_sizes_that_were_asked_for() {
        let many = "count = 2000\narrivals = \"20ms\"\nsizes = { median = 10000, sigma = 1.5, most = 1000000 }\n";
        let scenario = parse(&format!("start = \"2s\"\n{many}")).unwrap();
        assert_eq!(
            (scenario.flows.len(), &*scenario.flows[0].name, scenario.flows[0].start.ns),
            (2000, "web-1", 2_000_000_000)
        );
        let starts: Vec<f64> = scenario.flows.iter().map(|flow| flow.start.secs_f64()).collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Of 2000 exponential gaps mean and deviation are within four standard errors.
        assert!((mean / 0.020 - 1.0).abs() < 0.09 && (variance.sqrt() / 0.020 - 1.0).abs() < 0.13, "{mean} {variance}");
        let mut sizes: Vec<u64> = scenario.flows.iter().map(|flow| flow.bytes.unwrap()).collect();
        sizes.sort_unstable();
        assert!((9_000..11_200).contains(&sizes[1000]), "{}", sizes[1000]);
        // 84 % of a log-normal distribution are below median · e^sigma.
        assert!((38_000..53_000).contains(&sizes[1683]), "{}", sizes[1683]);
        assert_eq!(sizes[1999], 1_000_000, "cut");
        assert_eq!(scenario, parse(&format!("start = \"2s\"\n{many}")).unwrap(), "the same each time");
        let written = Scenario::parse("many.toml", &scenario.to_toml()).unwrap();
        assert_eq!(written.flows, scenario.flows, "each flow stands in the resolved scenario");
    }

    #[test]
    fn who_would_come_after_the_stop_does_not_come() {
        let scenario = parse("count = 1000\narrivals = \"1s\"\nstop = \"50s\"\n").unwrap();
        assert!((30..75).contains(&scenario.flows.len()), "{}", scenario.flows.len());
        assert_eq!(parse("count = 3\n").unwrap().flows.iter().filter(|flow| flow.start.ns == 0).count(), 3);
    }

    #[test]
    fn a_host_of_many_is_the_host_of_each() {
        let scenario = parse("count = 2\n[host.web]\ngso_max_segs = 1\n").unwrap();
        assert!(scenario.flows.iter().all(|flow| scenario.host(&flow.name).gso_max_segs == Some(1)));
    }

    #[test]
    fn what_only_one_can_have_is_refused_for_many() {
        let refused = |flow: &str, expected: &str| {
            let error = parse(flow).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("many.toml"), "{error}");
        };
        refused("count = 2\nas = \"x\"\n", "flow[0].count: expected one flow where it has as");
        refused("arrivals = \"1s\"\n", "expected a count");
        refused("bytes = 5\nsizes = { median = 5, sigma = 1, most = 9 }\n", "expected either sizes or bytes");
        refused("count = 20000\n", "count");
        refused("count = 2\n[[swap]]\nat = \"1s\"\nflow = \"web\"\nalgorithm = \"cubic\"\n", "where a swap names it");
        refused("count = 2\n[[flow]]\nname = \"web-2\"\nalgorithm = \"reno\"\n", "\"web-2\" twice");
    }
}
