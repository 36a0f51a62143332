//! The Markdown tables.

use crate::loopback::Transfers;
use crate::path::Runs;
use crate::{BASELINE, Subject};
use std::fmt::Write;

/// Most that ours may cost per megabyte, of the kernel's own.
const GOAL: f64 = 1.01;
/// Largest difference in payload between two runs that count as the same work. Over the path a part of the cost goes with time, not
/// with bytes: `dctcp`, which moves a fifth less than `scalable`, costs 3 % more per megabyte. Within this limit it is 0.3 %.
const SAME_WORK: f64 = 0.02;
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
    /// Payload that was moved without and with the recording, in MB.
    moved_mb: [f64; 2],
}

impl Cost {
    /// With every ACK recorded, over without.
    fn recorded(&self) -> Quotient {
        Quotient { value: self.recorded, same_work: same_work(self.moved_mb[0], self.moved_mb[1]) }
    }

    /// Per megabyte, over another's.
    fn over(&self, other: &Cost) -> Quotient {
        Quotient {
            value: self.per_megabyte_us / other.per_megabyte_us,
            same_work: same_work(self.moved_mb[0], other.moved_mb[0]),
        }
    }
}

fn same_work(one_mb: f64, other_mb: f64) -> bool {
    (one_mb - other_mb).abs() <= SAME_WORK * one_mb.max(other_mb)
}

/// One run's cost per megabyte over another's.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Quotient {
    value: f64,
    /// Otherwise the runs went different ways, by chance or by what they saw, and this is not the price of a program or a recording.
    same_work: bool,
}

impl Quotient {
    /// In parentheses when it is not that of the same work.
    fn text(self, digits: usize) -> String {
        let Quotient { value, same_work } = self;
        if same_work { format!("{value:.digits$}") } else { format!("({value:.digits$})") }
    }
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
    fn over_twin(&self) -> Option<[Quotient; 2]> {
        let twin = self.twin?;
        Some([0, 1].map(|place| self.ours[place].over(&twin[place])))
    }

    /// Whether it costs no more than the kernel's own, where there is one and both did the same work.
    pub fn reaches_the_goal(&self) -> bool {
        let reached = |quotient: &Quotient| !quotient.same_work || quotient.value <= GOAL;
        self.over_twin().is_none_or(|quotients| quotients.iter().all(reached))
    }

    /// Why it was not judged over the path, if so. Over loopback all transfers have one size.
    pub fn not_judged(&self) -> Option<String> {
        let (twin, quotient) = (self.twin?[1], self.over_twin()?[1]);
        (!quotient.same_work).then(|| {
            format!(
                "{}: not judged over the path, where it moved {:.2} MB and its twin {:.2} MB; longer runs (--seconds) may agree",
                self.name, self.ours[1].moved_mb[0], twin.moved_mb[0]
            )
        })
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
pub fn markdown(release: &str, megabytes: u64, seconds: u32, rows: &[Row]) -> String {
    let mut text = format!("Linux {release}. An instruction is a nanosecond.\n");
    for (place, heading) in [
        (0, format!("Loopback, {megabytes} MiB after a warm-up, one thread at both ends")),
        (
            1,
            format!(
                "100 Mbit/s, 20 ms, 1 BDP, marks beyond 40 packets, {seconds} s: sender, receiver, emulator and kernel. In parentheses: \
                 the two runs moved payloads more than {:.0} % apart, so this is not the price of a program or a recording alone",
                SAME_WORK * 100.0
            ),
        ),
    ] {
        let _ = write!(
            text,
            "\n{heading}:\n\n| algorithm | µs per MB | ns per ACK | over native cubic | over its twin, per MB | every ACK recorded | \
             the same, twin | MB without, with that | the same, twin |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        );
        for row in rows {
            let Cost { per_megabyte_us, per_ack_ns, .. } = row.ours[place];
            let over_baseline = row.ours[place].over(&row.baseline[place]).text(3);
            let recorded = row.ours[place].recorded().text(3);
            let twin = row.over_twin().map_or_else(|| "—".to_owned(), |quotients| quotients[place].text(4));
            let of_twin = |text: fn(Cost) -> String| row.twin.map_or_else(|| "—".to_owned(), |twin| text(twin[place]));
            let twin_recorded = of_twin(|twin| twin.recorded().text(3));
            let moved = |Cost { moved_mb: [bare, recorded], .. }: Cost| format!("{bare:.2}, {recorded:.2}");
            let (ours_moved, twin_moved) = (moved(row.ours[place]), of_twin(moved));
            let _ = writeln!(
                text,
                "| {} | {per_megabyte_us:.1} | {per_ack_ns:.0} | {over_baseline} | {twin} | {recorded} | {twin_recorded} | {ours_moved} | {twin_moved} |",
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
        let same = |value| Quotient { value, same_work: true };
        assert_eq!((rows[0].over_twin(), rows[0].reaches_the_goal()), (Some([same(1.02), same(1.0)]), false));
        assert_eq!(rows[0].not_judged(), None);
        let unmeasured =
            [Subject { name: "reno", twin: None }, Subject { name: "cubic", twin: Some("native:bic".to_owned()) }];
        assert!(super::rows(&unmeasured, &transfers, &runs).is_empty());
        let text = markdown("6.18", 2, 3, &rows);
        let expected = "| cubic | 1020.0 | 20400 | 1.020 | 1.0200 | 1.000 | 1.500 | 2.00, 2.00 | 2.00, 2.00 |";
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn runs_that_moved_different_payloads_are_marked_and_not_judged() {
        let cost = |per_megabyte_us, moved_mb| Cost { per_megabyte_us, per_ack_ns: 1.0, recorded: 1.0, moved_mb };
        let twin = [cost(100.0, [5.0, 5.0]), cost(100.0, [22.0, 22.0])];
        let row = |path| Row { name: "cdg", ours: [cost(100.0, [5.0, 5.0]), path], twin: Some(twin), baseline: twin };
        let apart = row(cost(102.0, [21.0, 20.0]));
        assert!(apart.reaches_the_goal());
        assert_eq!(
            apart.not_judged().unwrap(),
            "cdg: not judged over the path, where it moved 21.00 MB and its twin 22.00 MB; longer runs (--seconds) may agree"
        );
        let text = markdown("6.18", 5, 2, &[apart]);
        assert!(text.contains("| cdg | 102.0 | 1 | (1.020) | (1.0200) | (1.000) | 1.000 | 21.00, 20.00 |"), "{text}");
        let alike = row(cost(102.0, [21.8, 21.8]));
        assert_eq!((alike.reaches_the_goal(), alike.not_judged()), (false, None));
    }
}
