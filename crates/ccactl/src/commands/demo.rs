//! `ccactl demo`: BBRv2 and F-BBRv2, each against CUBIC, and what the paper printed.

use super::bench_view::{self, mbit, millis, number};
use super::carry_out::{How, carry_out, interrupt_flag, utc_now};
use super::output;
use crate::error::Result;
use ccactl_abi::exit;
use ccactl_host::units::duration_text;
use ccactl_host::{outln, terminal};
use ccactl_scenario::Override;
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::{self, Backend, BenchResult};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The two pairs, in this order.
const SCENARIOS: [&str; 2] = ["bbrv2-vs-cubic", "fbbrv2-vs-cubic"];

#[derive(clap::Args)]
pub struct Args {
    /// Length of each of the two runs
    #[arg(long, value_name = "TIME", default_value = "60s")]
    duration: String,
    /// Folder for the results [default: ./ccactl-demo-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print the two results as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let changes = [Override::text("duration", args.duration)];
    let scenarios = SCENARIOS
        .map(|name| Scenario::open(name, &changes))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(ccactl_testbed::Error::from)?;
    let folder = args.output.unwrap_or_else(|| format!("ccactl-demo-{}", utc_now()).into());
    let interrupt = interrupt_flag()?;
    terminal::note(&announcement(&scenarios));
    let mut results = Vec::new();
    for (i, scenario) in scenarios.iter().enumerate() {
        let heading = format!("{}/{}", i + 1, scenarios.len());
        let how = How { attempts: bench::ATTEMPTS, backend: Backend::Emulator, phase: None };
        results.push(carry_out(scenario, &folder.join(&scenario.name), how, Some(&heading), &interrupt)?);
    }
    if args.json {
        output::json_list("results", &results)?;
    } else {
        print(&results, &folder)?;
    }
    let all_valid = results.iter().all(|result| result.aggregate.is_some());
    Ok(if all_valid { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) })
}

/// How long it takes: a run that does not count is run again.
fn announcement(scenarios: &[Scenario]) -> String {
    let runs: Duration = scenarios.iter().map(|scenario| Duration::from(scenario.with_warm_up())).sum();
    let (count, attempts) = (scenarios.len(), bench::ATTEMPTS);
    format!(
        "{count} runs, {} in all and some seconds around each; one that is not valid is repeated, {attempts} attempts at most",
        duration_text(runs)
    )
}

fn print(results: &[BenchResult], folder: &Path) -> Result<()> {
    if results.iter().flat_map(|result| &result.runs).any(|run| !run.valid) {
        terminal::note(bench::REMEDY);
    }
    let header =
        ["pair", "goodput Mbit/s", "gap Mbit/s", "printed", "Jain index", "printed", "mean RTT ms", "retransmitted"];
    output::table(header, &results.iter().map(row).collect::<Vec<_>>())?;
    outln!("gap: between the two goodputs; Jain index: 1 when both have the same, 0.5 when one has all");
    let source = results.iter().find_map(|result| Some(result.published.as_ref()?.source.as_str()));
    outln!("printed: {} (ns-3, 150 s)", source.unwrap_or("-"));
    for result in results {
        outln!("page: {}", folder.join(&result.scenario).join(bench_view::PAGE).display());
    }
    Ok(())
}

/// The flows' figures side by side, in the order of the pair's name.
fn row(result: &BenchResult) -> [String; 8] {
    let pair = result.scenario.replace("-vs-", " vs ");
    let Some(sum) = &result.aggregate else {
        let mut row: [String; 8] = std::array::from_fn(|_| "-".to_owned());
        row[0] = format!("{pair} (no valid run)");
        return row;
    };
    let both = |cell: &dyn Fn(&ccactl_testbed::bench::FlowAggregate) -> String| {
        sum.flows.iter().map(cell).collect::<Vec<_>>().join(" / ")
    };
    let published = result.published.as_ref();
    let printed = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    [
        sum.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>().join(" / "),
        both(&|flow| mbit(flow.goodput_bps)),
        mbit(sum.gap_bps),
        printed(published.and_then(|p| p.gap).map(|gap| format!("{:.1}", gap.bps as f64 / 1e6))),
        number(sum.jain, 2),
        printed(published.and_then(|p| p.jain).map(|jain| format!("{jain:.2}"))),
        both(&|flow| millis(flow.rtt_mean_us)),
        both(&|flow| number(flow.retrans_pkts, 0)),
    ]
}
