//! What the traces say, as Markdown.

use crate::Failure;
use crate::compare::{Comparison, distance, mean, windows};
use crate::paths::{PATHS, Path};
use crate::runs::{Guests, PHASES_US, Side};
use crate::trace::{self, Ack};
use std::fmt::Write;

/// A twin on a path.
pub struct Row {
    twin: &'static str,
    path: &'static str,
    /// Ours beside the native one, by phase.
    comparisons: Vec<Comparison>,
    /// Distance of their windows over a whole run at the same phase, mean over the phases, in packets.
    apart_pkts: f64,
    /// The same of the native one with itself at other phases: mean over all pairs, and the largest.
    native_apart_pkts: (f64, f64),
    /// Mean window over the phases, and its standard deviation: ours and native, in packets.
    cwnd_pkts: [(f64, f64); 2],
    /// The same of the goodput, in Mbit/s.
    goodput_mbps: [(f64, f64); 2],
}

impl Row {
    /// Whether nothing differs before the first loss or mark, at any phase.
    pub fn holds(&self) -> bool {
        self.comparisons.iter().all(Comparison::holds)
    }

    /// Whether ours is as near to the native one as that is to itself; nobody knows from a single phase.
    fn is_within(&self) -> Option<bool> {
        (self.comparisons.len() > 1).then_some(self.apart_pkts <= self.native_apart_pkts.1)
    }
}

/// Reads every trace that is there of these twins and paths.
pub fn rows(guests: &Guests, twins: &[(&'static str, &'static str)], paths: &[Path]) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (twin, _) in twins {
        for path in paths.iter().filter(|path| path.is_for(twin)) {
            let has = |phase: &u32| [Side::Ours, Side::Native].iter().all(|side| guests.has(path, twin, *side, *phase));
            let phases: Vec<u32> = PHASES_US.into_iter().filter(has).collect();
            let of = |side| -> Result<Vec<Vec<Ack>>, Failure> {
                phases.iter().map(|phase| trace::of_main(&guests.folder(path, twin, side, *phase))).collect()
            };
            if !phases.is_empty() {
                rows.push(row(twin, path, &of(Side::Ours)?, &of(Side::Native)?));
            }
        }
    }
    Ok(rows)
}

fn row(twin: &'static str, path: &Path, ours: &[Vec<Ack>], native: &[Vec<Ack>]) -> Row {
    let grids = |traces: &[Vec<Ack>]| traces.iter().map(|trace| windows(trace)).collect::<Vec<_>>();
    let (our_windows, native_windows) = (grids(ours), grids(native));
    let among: Vec<f64> = (0..native.len())
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| distance(&native_windows[i], &native_windows[j]))
        .collect();
    let cwnd = |windows: &[Vec<f64>]| spread(windows.iter().map(|points| mean(points.iter().copied())));
    let goodput = |traces: &[Vec<Ack>]| spread(traces.iter().filter_map(|trace| goodput_mbps(trace)));
    Row {
        twin,
        path: path.name,
        comparisons: ours.iter().zip(native).map(|(ours, native)| Comparison::of(ours, native)).collect(),
        apart_pkts: mean(our_windows.iter().zip(&native_windows).map(|(ours, native)| distance(ours, native))),
        native_apart_pkts: (mean(among.iter().copied()), among.iter().copied().fold(0.0, f64::max)),
        cwnd_pkts: [cwnd(&our_windows), cwnd(&native_windows)],
        goodput_mbps: [goodput(ours), goodput(native)],
    }
}

fn goodput_mbps(trace: &[Ack]) -> Option<f64> {
    let last = trace.last().filter(|last| last.t_us > 0)?;
    Some(last.seen.bytes_acked as f64 * 8.0 / last.t_us as f64)
}

/// Mean and standard deviation.
fn spread(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let middle = mean(values.iter().copied());
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (middle, (squares / (values.len().max(2) - 1) as f64).sqrt())
}

/// What is meant by the names of the paths that have a row.
fn paths_in_words(rows: &[Row]) -> String {
    let has_row = |path: &&Path| rows.iter().any(|row| row.path == path.name);
    let words: Vec<_> = PATHS.iter().filter(has_row).map(|path| format!("{}: {}", path.name, path.what)).collect();
    format!("Paths: {}.", words.join("; "))
}

/// The table, and below it where each twin parts from the native one at the first phase.
pub fn markdown(release: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "Linux {release}, up to {} start phases, spread over the 4 ms between two timer interrupts. {}\n\n| algorithm | path | equal up to the first loss or mark, as long as the same was seen | ours from native [packets] | native from itself: mean, most | within | \
         mean cwnd, ours | native | goodput, ours | native |\n|---|---|---|---:|---:|---|---:|---:|---:|---:|\n",
        rows.iter().map(|row| row.comparisons.len()).max().unwrap_or(0),
        paths_in_words(rows),
    );
    for row in rows {
        let equal = row.comparisons.iter().filter(|comparison| comparison.holds()).count();
        let figure = |(mean, sd): (f64, f64)| format!("{mean:.2} ± {sd:.2}");
        let _ = writeln!(
            text,
            "| {} | {} | {equal} of {} | {:.2} | {:.2}, {:.2} | {} | {} | {} | {} | {} |",
            row.twin,
            row.path,
            row.comparisons.len(),
            row.apart_pkts,
            row.native_apart_pkts.0,
            row.native_apart_pkts.1,
            row.is_within().map_or("—", |within| if within { "yes" } else { "no" }),
            figure(row.cwnd_pkts[0]),
            figure(row.cwnd_pkts[1]),
            figure(row.goodput_mbps[0]),
            figure(row.goodput_mbps[1]),
        );
    }
    text += "\n| algorithm | path | first loss or mark at ACK | not the same seen from | before that apart by at most: RTT [µs] | pacing rate | first difference (ours/native), first phase |\n|---|---|---:|---:|---:|---:|---|\n";
    for row in rows {
        let first = &row.comparisons[0];
        let at = |pair: Option<usize>| pair.map_or_else(|| "none".to_owned(), |at| at.to_string());
        let (trouble, apart) = (at(first.trouble), at(first.seen_apart));
        let _ = writeln!(
            text,
            "| {} | {} | {trouble} | {apart} | {} | {:.3} % | {} |",
            row.twin,
            row.path,
            first.rtt_us,
            first.pacing * 100.0,
            first.told()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Decided;

    fn trace(cwnd: u32) -> Vec<Ack> {
        (0..20)
            .map(|i| Ack {
                t_us: i * 50_000,
                decided: Decided { cwnd_pkts: cwnd, ..Decided::default() },
                ..Ack::default()
            })
            .collect()
    }

    #[test]
    fn a_twin_is_within_when_it_is_as_near_as_the_native_one_is_to_itself() {
        let native = [trace(10), trace(12)];
        let near = row("reno", &PATHS[0], &[trace(11), trace(12)], &native);
        assert_eq!(
            (near.apart_pkts, near.native_apart_pkts, near.is_within(), near.holds()),
            (0.5, (2.0, 2.0), Some(true), false)
        );
        let far = row("reno", &PATHS[0], &[trace(15), trace(15)], &native);
        assert_eq!(far.is_within(), Some(false));
        assert_eq!(row("reno", &PATHS[0], &[trace(11)], &native[..1]).is_within(), None);
        let text = markdown("6.18", &[near, far]);
        assert!(text.starts_with("Linux 6.18, up to 2 start phases, "), "{text}");
        assert!(text.contains(" Paths: 20m: 20 Mbit/s, 20 ms, 1 BDP.\n"), "{text}");
        assert!(text.contains("| reno | 20m | 1 of 2 | 0.50 | 2.00, 2.00 | yes |"), "{text}");
    }
}
