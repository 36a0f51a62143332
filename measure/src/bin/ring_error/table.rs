//! What the measuring programs counted, and the Markdown table.

use crate::Failure;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Layout of `struct ring_errors` (bpf/measure/ring_error.bpf.c).
const BINS: usize = 512;
const BINS_BELOW: i64 = 64;
const COUNTS: usize = 5;
/// Of the truth, in the bins by share.
const SHARE_UNIT: f64 = 256.0;

/// How far the ring was from the truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Rate samples compared.
    samples: u64,
    /// Rate samples of packets that were not seen leaving.
    unknown: u64,
    /// Without an entry in the ring.
    missed: u64,
    /// Sum of what was in flight in truth, in packets.
    in_flight_pkts: u64,
    /// Samples with another count of losses before the packet left.
    lost_differs: u64,
    /// By error in packets, from −64 on; the outermost hold all beyond.
    by_packets: Vec<u64>,
    /// By error in 1/256 of the truth, from −64 on.
    by_share: Vec<u64>,
}

impl Errors {
    /// From the value of the map.
    pub fn of_bytes(bytes: &[u8]) -> Result<Errors, Failure> {
        let words: Vec<u64> =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes"))).collect();
        if words.len() != COUNTS + 2 * BINS {
            return Err(format!("expected {} counters, found {}", COUNTS + 2 * BINS, words.len()).into());
        }
        let (by_packets, by_share) = words[COUNTS..].split_at(BINS);
        Ok(Errors {
            samples: words[0],
            unknown: words[1],
            missed: words[2],
            in_flight_pkts: words[3],
            lost_differs: words[4],
            by_packets: by_packets.to_vec(),
            by_share: by_share.to_vec(),
        })
    }

    fn share(&self, count: u64) -> f64 {
        count as f64 / self.samples.max(1) as f64
    }

    fn all(&self) -> u64 {
        self.samples + self.unknown + self.missed
    }
}

/// The value that a share of all do not exceed, as a bin's number from zero error on.
fn percentile(bins: &[u64], share: f64) -> i64 {
    let (all, mut sum) = (bins.iter().sum::<u64>() as f64, 0);
    let at = bins.iter().position(|count| {
        sum += count;
        sum as f64 >= share * all
    });
    i64::try_from(at.unwrap_or(0)).expect("few bins") - BINS_BELOW
}

fn mean(bins: &[u64]) -> f64 {
    let all: u64 = bins.iter().sum();
    let sum: f64 =
        bins.iter().zip(0..).map(|(count, bin): (&u64, i64)| *count as f64 * (bin - BINS_BELOW) as f64).sum();
    sum / all.max(1) as f64
}

/// An algorithm on a path.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub algorithm: &'static str,
    /// In words.
    pub path: &'static str,
    /// What was counted.
    pub errors: Errors,
}

/// The table.
pub fn markdown(release: &str, duration_s: u32, rows: &[Row]) -> String {
    let mut text = format!(
        "Linux {release}, {duration_s} s each.\n\n| algorithm | path | rate samples | no entry | mean in flight [packets] | error [packets]: mean, p1, p50, p99 | \
         error [% of the truth]: p50, p99 | exact | other count of losses |\n|---|---|---:|---:|---:|---|---|---:|---:|\n"
    );
    for Row { algorithm, path, errors } in rows {
        let packets = |share| percentile(&errors.by_packets, share);
        let percent = |share| percentile(&errors.by_share, share) as f64 / SHARE_UNIT * 100.0;
        let _ = writeln!(
            text,
            "| {algorithm} | {path} | {} | {:.2} % | {:.1} | {:.2}, {}, {}, {} | {:.1}, {:.1} | {:.1} % | {:.2} % |",
            errors.samples,
            errors.missed as f64 / errors.all().max(1) as f64 * 100.0,
            errors.share(errors.in_flight_pkts),
            mean(&errors.by_packets),
            packets(0.01),
            packets(0.5),
            packets(0.99),
            percent(0.5),
            percent(0.99),
            errors.share(errors.by_packets[BINS_BELOW as usize]) * 100.0,
            errors.share(errors.lost_differs) * 100.0,
        );
    }
    let unknown: Vec<f64> =
        rows.iter().map(|row| row.errors.unknown as f64 / row.errors.all().max(1) as f64 * 100.0).collect();
    let most = unknown.iter().copied().fold(0.0, f64::max);
    let _ =
        writeln!(text, "\nSamples of packets that were not seen leaving, and are not compared: at most {most:.2} %.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors() -> Errors {
        let mut words = vec![100_u64, 5, 1, 20_000, 2];
        let mut bins = vec![0_u64; BINS];
        (bins[64], bins[65], bins[74]) = (90, 8, 2);
        words.extend(&bins);
        words.extend(&bins);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Errors::of_bytes(&bytes).unwrap()
    }

    #[test]
    fn the_value_of_the_map_is_read_as_it_is_laid_out() {
        let errors = errors();
        assert_eq!((errors.samples, errors.unknown, errors.missed, errors.lost_differs), (100, 5, 1, 2));
        assert_eq!((mean(&errors.by_packets), percentile(&errors.by_packets, 0.5)), (0.28, 0));
        assert_eq!((percentile(&errors.by_packets, 0.98), percentile(&errors.by_packets, 0.99)), (1, 10));
        assert!(Errors::of_bytes(&[0; 16]).is_err());
    }

    #[test]
    fn a_row_has_means_percentiles_and_shares() {
        let text = markdown("6.18", 10, &[Row { algorithm: "bbrv2", path: "p", errors: errors() }]);
        let row = "| bbrv2 | p | 100 | 0.94 % | 200.0 | 0.28, 0, 0, 10 | 0.0, 3.9 | 90.0 % | 2.00 % |";
        assert!(text.contains(row), "{text}");
        assert!(text.ends_with("at most 4.72 %.\n"), "{text}");
    }
}
