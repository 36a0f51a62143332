//! From the results to the Markdown tables of `docs/`.

use crate::plans::{self, P0_BUFFERS, P1_ALGORITHMS, P1_BUFFERS, P1_LOSSES, TWINS};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

const P1_FAIRNESS: &str = include_str!("../../../../docs/experiments/published/p1_vs_cubic.csv");
const P1_SINGLE: &str = include_str!("../../../../docs/experiments/published/p1_single_flow.csv");

/// `result.json` of a job; `None` when it has not been run.
pub fn result(dir: &Path, label: &str) -> Result<Option<Value>, String> {
    let path = dir.join(label).join("result.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|e| format!("{}: {e}", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Mean and standard deviation over the valid runs; none when there was no valid run.
pub type Estimate = Option<(f64, f64)>;

/// A number at a JSON pointer.
pub fn number(value: &Value, pointer: &str) -> Option<f64> {
    value.pointer(pointer)?.as_f64()
}

/// An estimate of the aggregate: mean and standard deviation, scaled.
pub fn estimate(result: &Value, pointer: &str, scale: f64) -> Estimate {
    let at = |field: &str| number(result, &format!("/aggregate/{pointer}/{field}"));
    Some((at("mean")? * scale, at("sd").unwrap_or(0.0) * scale))
}

pub fn text(estimate: Estimate, decimals: usize) -> String {
    estimate.map_or("invalid".to_owned(), |(mean, sd)| {
        if sd == 0.0 { format!("{mean:.decimals$}") } else { format!("{mean:.decimals$} ± {sd:.decimals$}") }
    })
}

pub fn worst_lateness_us(result: &Value) -> Option<f64> {
    let runs = result.get("runs")?.as_array()?;
    runs.iter().filter_map(|run| number(run, "/link/lateness/p99_us")).reduce(f64::max)
}

/// Twins beside each other.
pub fn fidelity(dir: &Path) -> Result<String, String> {
    let mut out = String::from(
        "| buffer | algorithm | goodput native | goodput ours | ratio | RTT native | RTT ours | ratio | retransmissions native | ours | cwnd native | ours |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for buffer in P0_BUFFERS {
        for twin in TWINS {
            let native = result(dir, &plans::fidelity_label(&format!("native:{twin}"), buffer))?.unwrap_or_default();
            let ours = result(dir, &plans::fidelity_label(twin, buffer))?.unwrap_or_default();
            let pair = |pointer: &str, scale: f64| (estimate(&native, pointer, scale), estimate(&ours, pointer, scale));
            let ratio = |(native, ours): (Estimate, Estimate)| match (native, ours) {
                (Some((native, _)), Some((ours, _))) if native > 0.0 => format!("{:.3}", ours / native),
                _ => "—".to_owned(),
            };
            let goodput = pair("flows/0/goodput_bps", 1e-6);
            let rtt = pair("flows/0/rtt_mean_us", 1e-3);
            let retrans = pair("flows/0/retrans_pkts", 1.0);
            let cwnd = pair("flows/0/cwnd_mean_pkts", 1.0);
            let _ = writeln!(
                out,
                "| {buffer} BDP | {twin} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                text(goodput.0, 2),
                text(goodput.1, 2),
                ratio(goodput),
                text(rtt.0, 2),
                text(rtt.1, 2),
                ratio(rtt),
                text(retrans.0, 0),
                text(retrans.1, 0),
                text(cwnd.0, 0),
                text(cwnd.1, 0),
            );
        }
    }
    Ok(out)
}

/// Cell of a published table, found by the values of its first two columns.
pub fn published(csv: &str, first: &str, second: &str, column: usize) -> Option<f64> {
    let same = |cell: &str, wanted: &str| {
        cell == wanted || matches!((cell.parse::<f64>(), wanted.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
    };
    csv.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>()).find_map(|cells| {
        let hit = same(cells.first()?, first) && cells.get(1)?.eq_ignore_ascii_case(second);
        if hit { cells.get(column)?.parse().ok() } else { None }
    })
}

/// As the paper writes the names.
fn printed_name(algorithm: &str) -> &str {
    if algorithm == "bbr" { "BBRv1" } else { algorithm }
}

pub fn printed(value: Option<f64>) -> String {
    value.map_or("—".to_owned(), |value| value.to_string())
}

/// The versions of BBR against CUBIC.
pub fn fairness(dir: &Path) -> Result<String, String> {
    let mut out = String::from(
        "| buffer | algorithm | goodput | goodput CUBIC | gap | Jain | Jain printed | gap printed | RTT mean | retrans. | retrans. CUBIC | lateness p99 |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for buffer in P1_BUFFERS {
        for algorithm in P1_ALGORITHMS {
            let result = result(dir, &plans::fairness_label(algorithm, buffer))?.unwrap_or_default();
            let cell = |pointer: &str, scale: f64, decimals: usize| text(estimate(&result, pointer, scale), decimals);
            let from_paper = |column| printed(published(P1_FAIRNESS, buffer, printed_name(algorithm), column));
            let _ = writeln!(
                out,
                "| {buffer} BDP | {algorithm} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |",
                cell("flows/0/goodput_bps", 1e-6, 1),
                cell("flows/1/goodput_bps", 1e-6, 1),
                cell("gap_bps", 1e-6, 1),
                cell("jain", 1.0, 3),
                from_paper(2),
                from_paper(3),
                cell("rtt_mean_us", 1e-3, 1),
                cell("flows/0/retrans_pkts", 1.0, 0),
                cell("flows/1/retrans_pkts", 1.0, 0),
                worst_lateness_us(&result).unwrap_or(f64::NAN),
            );
        }
    }
    Ok(out)
}

/// One flow with and without random loss.
pub fn loss(dir: &Path) -> Result<String, String> {
    let mut out = String::from(
        "| random loss | algorithm | goodput | printed | RTT mean | cwnd | retransmissions | lateness p99 |\n|---|---|---|---|---|---|---|---|\n",
    );
    for percent in P1_LOSSES {
        for algorithm in P1_ALGORITHMS {
            let result = result(dir, &plans::loss_label(algorithm, percent))?.unwrap_or_default();
            let cell = |pointer: &str, scale: f64, decimals: usize| text(estimate(&result, pointer, scale), decimals);
            let _ = writeln!(
                out,
                "| {percent} % | {algorithm} | {} | {} | {} | {} | {} | {:.0} |",
                cell("flows/0/goodput_bps", 1e-6, 2),
                printed(published(P1_SINGLE, percent, printed_name(algorithm), 2)),
                cell("flows/0/rtt_mean_us", 1e-3, 1),
                cell("flows/0/cwnd_mean_pkts", 1.0, 0),
                cell("flows/0/retrans_pkts", 1.0, 0),
                worst_lateness_us(&result).unwrap_or(f64::NAN),
            );
        }
    }
    Ok(out)
}
