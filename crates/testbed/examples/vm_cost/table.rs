//! The Markdown tables.

use crate::loopback::Transfers;
use crate::path::Runs;
use crate::{BASELINE, Subject};
use std::fmt::Write;

/// Most that ours may cost per megabyte, of the kernel's own.
const GOAL: f64 = 1.01;
const MEGABYTE: f64 = 1e6;

/// Costs of one algorithm at one place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cost {
    /// Guest time per megabyte, in µs.
    per_megabyte_us: f64,
    /// Per ACK that the sender got, in ns.
    per_ack_ns: f64,
    /// With every ACK recorded, over without.
    recorded: f64,
    /// Payload that was moved without and with the recording, in MB. Where it differs, the two did not do the same work, and their
    /// quotient is not the price of the recording alone.
    moved_mb: [f64; 2],
}

/// An algorithm over loopback and over the path, beside its twin and the baseline.
pub struct Row {
    name: &'static str,
    ours: [Cost; 2],
    twin: Option<[Cost; 2]>,
    baseline: [Cost; 2],
}

impl Row {
    /// Per megabyte over the twin, at each place.
    fn over_twin(&self) -> Option<[f64; 2]> {
        let twin = self.twin?;
        Some([0, 1].map(|place| self.ours[place].per_megabyte_us / twin[place].per_megabyte_us))
    }

    /// Whether it costs no more than the kernel's own, where there is one.
    pub fn reaches_the_goal(&self) -> bool {
        self.over_twin().is_none_or(|ratios| ratios.iter().all(|ratio| *ratio <= GOAL))
    }
}

/// One per subject that was measured at both places, as were its twin and the baseline.
pub fn rows(subjects: &[Subject], transfers: &Transfers, runs: &Runs) -> Vec<Row> {
    let both = |name: &str| -> Option<[Cost; 2]> {
        let [bare, recorded] = transfers.get(name)?;
        let per_byte = |busy_ns: u64, bytes: u64| busy_ns as f64 / bytes as f64;
        let moved_mb = |bytes: [u64; 2]| bytes.map(|bytes| bytes as f64 / MEGABYTE);
        let loopback = Cost {
            per_megabyte_us: per_byte(bare.busy_ns, bare.bytes) * MEGABYTE / 1e3,
            per_ack_ns: bare.busy_ns as f64 / bare.acks as f64,
            recorded: per_byte(recorded.busy_ns, recorded.bytes) / per_byte(bare.busy_ns, bare.bytes),
            moved_mb: moved_mb([bare.bytes, recorded.bytes]),
        };
        let [bare, recorded] = runs.get(name)?;
        let path = Cost {
            per_megabyte_us: bare.busy_s / bare.bytes as f64 * MEGABYTE * 1e6,
            per_ack_ns: bare.busy_s * 1e9 / bare.acks as f64,
            recorded: (recorded.busy_s / recorded.bytes as f64) / (bare.busy_s / bare.bytes as f64),
            moved_mb: moved_mb([bare.bytes, recorded.bytes]),
        };
        Some([loopback, path])
    };
    let row = |subject: &Subject| {
        let twin = match &subject.twin {
            Some(twin) => Some(both(twin)?),
            None => None,
        };
        Some(Row { name: subject.name, ours: both(subject.name)?, twin, baseline: both(BASELINE)? })
    };
    subjects.iter().filter_map(row).collect()
}

/// A table per place.
pub fn markdown(release: &str, megabytes: u64, rows: &[Row]) -> String {
    let mut text = format!("Linux {release}. An instruction is a nanosecond.\n");
    for (place, heading) in [
        (0, format!("Loopback, {megabytes} MiB after a warm-up, one thread at both ends")),
        (1, "100 Mbit/s, 20 ms, 1 BDP, marks beyond 40 packets, 2 s: sender, receiver, emulator and kernel".to_owned()),
    ] {
        let _ = write!(
            text,
            "\n{heading}:\n\n| algorithm | µs per MB | ns per ACK | over native cubic | over its twin, per MB | every ACK recorded | \
             the same, twin | MB without, with that | the same, twin |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        for row in rows {
            let Cost { per_megabyte_us, per_ack_ns, recorded, .. } = row.ours[place];
            let over_baseline = per_megabyte_us / row.baseline[place].per_megabyte_us;
            let twin = row.over_twin().map_or_else(|| "—".to_owned(), |ratios| format!("{:.4}", ratios[place]));
            let of_twin = |text: fn(Cost) -> String| row.twin.map_or_else(|| "—".to_owned(), |twin| text(twin[place]));
            let twin_recorded = of_twin(|twin| format!("{:.3}", twin.recorded));
            let moved = |Cost { moved_mb: [bare, recorded], .. }: Cost| format!("{bare:.2}, {recorded:.2}");
            let (ours_moved, twin_moved) = (moved(row.ours[place]), of_twin(moved));
            let _ = writeln!(
                text,
                "| {} | {per_megabyte_us:.1} | {per_ack_ns:.0} | {over_baseline:.3} | {twin} | {recorded:.3} | {twin_recorded} | {ours_moved} | {twin_moved} |",
                row.name
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::Run;
    use crate::transfer::Transfer;

    #[test]
    fn costs_are_per_megabyte_and_beside_the_twin() {
        let transfer = |busy_ns| Transfer { bytes: 2_000_000, busy_ns, acks: 100 };
        let run = |busy_s| Run { bytes: 1_000_000, busy_s, acks: 1000 };
        let transfers: Transfers = [
            ("native:cubic".to_owned(), [transfer(2_000_000), transfer(3_000_000)]),
            ("cubic".to_owned(), [transfer(2_040_000), transfer(2_040_000)]),
        ]
        .into();
        let runs: Runs =
            [("native:cubic".to_owned(), [run(0.5), run(0.5)]), ("cubic".to_owned(), [run(0.5), run(0.75)])].into();
        let subjects = [Subject { name: "cubic", twin: Some("native:cubic".to_owned()) }];
        let rows = rows(&subjects, &transfers, &runs);
        let [loopback, path] = rows[0].ours;
        assert_eq!(
            loopback,
            Cost { per_megabyte_us: 1020.0, per_ack_ns: 20_400.0, recorded: 1.0, moved_mb: [2.0, 2.0] }
        );
        assert_eq!(
            path,
            Cost { per_megabyte_us: 500_000.0, per_ack_ns: 500_000.0, recorded: 1.5, moved_mb: [1.0, 1.0] }
        );
        assert_eq!((rows[0].over_twin(), rows[0].reaches_the_goal()), (Some([1.02, 1.0]), false));
        let unmeasured =
            [Subject { name: "reno", twin: None }, Subject { name: "cubic", twin: Some("native:bic".to_owned()) }];
        assert!(super::rows(&unmeasured, &transfers, &runs).is_empty());
        let text = markdown("6.18", 2, &rows);
        let expected = "| cubic | 1020.0 | 20400 | 1.020 | 1.0200 | 1.000 | 1.500 | 2.00, 2.00 | 2.00, 2.00 |";
        assert!(text.contains(expected), "{text}");
    }
}
