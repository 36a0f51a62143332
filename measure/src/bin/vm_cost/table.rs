//! The Markdown tables.

use crate::loopback::Transfers;
use crate::path::{Run, Runs};
use crate::transfer::Transfer;
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
pub struct Row<'a> {
    subject: &'a Subject,
    ours: [Cost; 2],
    twin: Option<[Cost; 2]>,
    baseline: [Cost; 2],
    /// Ours and the twin's, in longer runs over the path.
    longer: Option<[Cost; 2]>,
}

impl<'a> Row<'a> {
    /// Per megabyte over the twin, at each place.
    fn over_twin(&self) -> Option<[Quotient; 2]> {
        let twin = self.twin?;
        Some([0, 1].map(|place| self.ours[place].over(&twin[place])))
    }

    /// The one over the path that counts: of the longer runs, where there are any.
    fn over_twin_on_the_path(&self) -> Option<Quotient> {
        self.longer.map(|[ours, twin]| ours.over(&twin)).or(self.over_twin().map(|[_, path]| path))
    }

    /// The algorithm, if a longer run over the path may say something else of it and its twin: where packets and timers meet makes 1 %
    /// of a short one.
    pub fn unsettled(&self) -> Option<&'a Subject> {
        let quotient = self.over_twin_on_the_path()?;
        (!quotient.same_work || quotient.value > GOAL).then_some(self.subject)
    }

    /// Whether it costs no more than the kernel's own, where there is one and both did the same work.
    pub fn reaches_the_goal(&self) -> bool {
        let reached = |quotient: Quotient| !quotient.same_work || quotient.value <= GOAL;
        // Over loopback all transfers have one size.
        let loopback = self.over_twin().map(|[loopback, _]| loopback);
        loopback.is_none_or(reached) && self.over_twin_on_the_path().is_none_or(reached)
    }

    /// Why it was not judged over the path, if so.
    pub fn not_judged(&self) -> Option<String> {
        let [ours, twin] = self.longer.or(self.twin.map(|twin| [self.ours[1], twin[1]]))?;
        (!ours.over(&twin).same_work).then(|| {
            format!(
                "{}: not judged over the path, where it moved {:.2} MB and its twin {:.2} MB; longer runs (--seconds) may agree",
                self.subject.name, ours.moved_mb[0], twin.moved_mb[0]
            )
        })
    }
}

/// One per subject that was measured at both places, as were its twin and the baseline. `longer` has runs over the path of some.
pub fn rows<'a>(subjects: &'a [Subject], transfers: &Transfers, runs: &Runs, longer: &Runs) -> Vec<Row<'a>> {
    let moved_mb = |bytes: [u64; 2]| bytes.map(|bytes| bytes as f64 / MEGABYTE);
    let loopback = |name: &str| {
        let [bare, recorded] = transfers.get(name)?;
        let per_byte = |transfer: &Transfer| transfer.busy_ns as f64 / transfer.bytes as f64;
        Some(Cost {
            per_megabyte_us: per_byte(bare) * MEGABYTE / 1e3,
            per_ack_ns: bare.busy_ns as f64 / bare.acks as f64,
            recorded: per_byte(recorded) / per_byte(bare),
            moved_mb: moved_mb([bare.bytes, recorded.bytes]),
        })
    };
    let path = |runs: &Runs, name: &str| {
        let [bare, recorded] = runs.get(name)?;
        let per_byte = |run: &Run| run.busy_s / run.bytes as f64;
        Some(Cost {
            per_megabyte_us: per_byte(bare) * MEGABYTE * 1e6,
            per_ack_ns: bare.busy_s * 1e9 / bare.acks as f64,
            recorded: per_byte(recorded) / per_byte(bare),
            moved_mb: moved_mb([bare.bytes, recorded.bytes]),
        })
    };
    let both = |name: &str| Some([loopback(name)?, path(runs, name)?]);
    let row = |subject: &'a Subject| {
        let twin = match &subject.twin {
            Some(twin) => Some(both(twin)?),
            None => None,
        };
        let in_longer_runs = |twin: &String| Some([path(longer, subject.name)?, path(longer, twin)?]);
        Some(Row {
            subject,
            ours: both(subject.name)?,
            twin,
            baseline: both(BASELINE)?,
            longer: subject.twin.as_ref().and_then(in_longer_runs),
        })
    };
    subjects.iter().filter_map(row).collect()
}

/// A table per place, and one of the longer runs, which took `longer_s`.
pub fn markdown(release: &str, megabytes: u64, seconds: u32, longer_s: u32, rows: &[Row]) -> String {
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
            let (ours_moved, twin_moved) = (moved(row.ours[place]), of_twin(moved));
            let _ = writeln!(
                text,
                "| {} | {per_megabyte_us:.1} | {per_ack_ns:.0} | {over_baseline} | {twin} | {recorded} | {twin_recorded} | {ours_moved} | {twin_moved} |",
                row.subject.name
            );
        }
    }
    if rows.iter().any(|row| row.longer.is_some()) {
        let _ = write!(
            text,
            "\nOver the same path for {longer_s} s, those that cost more than {GOAL} of their twin in {seconds} s or moved another payload:\n\n\
             | algorithm | µs per MB | ns per ACK | over its twin, per MB | every ACK recorded | the same, twin | \
             MB without, with that | the same, twin |\n|---|---:|---:|---:|---:|---:|---:|---:|\n"
        );
    }
    for row in rows {
        let Some([ours, twin]) = row.longer else { continue };
        let _ = writeln!(
            text,
            "| {} | {:.1} | {:.0} | {} | {} | {} | {} | {} |",
            row.subject.name,
            ours.per_megabyte_us,
            ours.per_ack_ns,
            ours.over(&twin).text(4),
            ours.recorded().text(3),
            twin.recorded().text(3),
            moved(ours),
            moved(twin)
        );
    }
    text
}

/// Payload without and with the recording.
fn moved(Cost { moved_mb: [bare, recorded], .. }: Cost) -> String {
    format!("{bare:.2}, {recorded:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let rows = rows(&subjects, &transfers, &runs, &Runs::new());
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
        assert!(super::rows(&unmeasured, &transfers, &runs, &Runs::new()).is_empty());
        let text = markdown("6.18", 2, 3, 15, &rows);
        let expected = "| cubic | 1020.0 | 20400 | 1.020 | 1.0200 | 1.000 | 1.500 | 2.00, 2.00 | 2.00, 2.00 |";
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("15 s"), "{text}");
    }

    fn cost(per_megabyte_us: f64, moved_mb: f64) -> Cost {
        Cost { per_megabyte_us, per_ack_ns: 1.0, recorded: 1.0, moved_mb: [moved_mb, moved_mb] }
    }

    /// Beside a twin that costs 100 µs per MB and moves 22 MB over the path, in longer runs 110 MB.
    fn row(subject: &Subject, path: Cost, longer: Option<Cost>) -> Row<'_> {
        let twin = [cost(100.0, 5.0), cost(100.0, 22.0)];
        Row {
            subject,
            ours: [cost(100.0, 5.0), path],
            twin: Some(twin),
            baseline: twin,
            longer: longer.map(|ours| [ours, cost(100.0, 110.0)]),
        }
    }

    #[test]
    fn runs_that_moved_different_payloads_are_marked_and_not_judged() {
        let subject = Subject { name: "cdg", twin: Some("native:cdg".to_owned()) };
        let apart = row(&subject, cost(102.0, 21.0), None);
        assert!(apart.reaches_the_goal());
        assert_eq!(apart.unsettled().map(|subject| subject.name), Some("cdg"));
        assert_eq!(
            apart.not_judged().unwrap(),
            "cdg: not judged over the path, where it moved 21.00 MB and its twin 22.00 MB; longer runs (--seconds) may agree"
        );
        let text = markdown("6.18", 5, 2, 10, &[apart]);
        assert!(text.contains("| cdg | 102.0 | 1 | (1.020) | (1.0200) | 1.000 | 1.000 | 21.00, 21.00 |"), "{text}");
    }

    #[test]
    fn longer_runs_decide_about_the_path() {
        let subject = Subject { name: "cdg", twin: Some("native:cdg".to_owned()) };
        let dear = cost(102.0, 21.8);
        let verdict = |path, longer| {
            let row = row(&subject, path, longer);
            (row.unsettled().is_some(), row.reaches_the_goal(), row.not_judged().is_some())
        };
        assert_eq!(verdict(cost(100.9, 21.8), None), (false, true, false));
        assert_eq!(verdict(dear, None), (true, false, false));
        assert_eq!(verdict(dear, Some(cost(100.9, 109.0))), (false, true, false));
        assert_eq!(verdict(dear, Some(cost(101.1, 109.0))), (true, false, false));
        assert_eq!(verdict(dear, Some(cost(101.1, 90.0))), (true, true, true));
        let text = markdown("6.18", 5, 2, 10, &[row(&subject, dear, Some(cost(100.9, 109.0)))]);
        assert!(text.contains("for 10 s, those that cost more than 1.01 of their twin in 2 s"), "{text}");
        assert!(
            text.contains("| cdg | 100.9 | 1 | 1.0090 | 1.000 | 1.000 | 109.00, 109.00 | 110.00, 110.00 |"),
            "{text}"
        );
    }
}
