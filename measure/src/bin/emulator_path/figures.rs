//! What the streams say about a path.

use crate::probe::{PACKET_BYTES, Received};
use crate::{ONE_WAY_MS, RATE_BPS};

/// Time of one packet on the wire.
const TRANSMISSION_NS: i64 = (PACKET_BYTES as u64 * 8 * 1_000_000_000 / RATE_BPS) as i64;
/// The saturating stream counts from its second second on, when the buffer has long been full.
const WARM_UP_NS: u64 = 1_000_000_000;

/// Head of the table.
pub const HEADER: &str = "\
| emulator | delay error min / p50 [µs] | lateness p50 / p99 / p99.9 [µs] | lost | CPU | rate error | \
lateness under load p50 / p99 / p99.9 [µs] | CPU under load |
|---|---|---|---:|---:|---:|---|---:|";

/// Percentiles in µs.
struct Percentiles {
    min: f64,
    p50: f64,
    p99: f64,
    p999: f64,
}

impl Percentiles {
    fn of(mut values: Vec<i64>) -> Option<Percentiles> {
        values.sort_unstable();
        let us = |value: i64| value as f64 / 1000.0;
        let at = |share: f64| us(values[((values.len() as f64 * share).ceil() as usize).clamp(1, values.len()) - 1]);
        (!values.is_empty()).then(|| Percentiles { min: us(values[0]), p50: at(0.5), p99: at(0.99), p999: at(0.999) })
    }
}

/// Of the evenly paced stream, every packet of which finds an idle link.
pub struct Paced {
    /// Delay beyond transmission and propagation.
    error: Percentiles,
    /// Later than the most punctual packet.
    lateness: Percentiles,
    lost: u64,
}

impl Paced {
    pub fn of(packets: &[Received]) -> Option<Paced> {
        let ideal = TRANSMISSION_NS + ONE_WAY_MS as i64 * 1_000_000;
        let errors: Vec<i64> =
            packets.iter().map(|p| p.received.cast_signed() - p.sent.cast_signed() - ideal).collect();
        let sent = packets.iter().map(|p| p.number + 1).max()?;
        Some(Paced { lateness: lateness(&errors)?, error: Percentiles::of(errors)?, lost: sent - packets.len() as u64 })
    }
}

/// Of the saturating stream.
pub struct Loaded {
    /// Of the rate at which packets came out.
    rate_error: f64,
    /// Later than the most punctual packet of an exact rate.
    lateness: Percentiles,
}

impl Loaded {
    pub fn of(packets: &[Received]) -> Option<Loaded> {
        let begin = packets.first()?.received + WARM_UP_NS;
        let end = packets.last()?.sent;
        // Until the last packet was sent the buffer was full.
        let packets: Vec<&Received> = packets.iter().filter(|p| (begin..end).contains(&p.received)).collect();
        let (first, last) = (packets.first()?, packets.last()?);
        let took = (last.received - first.received) as f64;
        let due = (packets.len() as i64 - 1) * TRANSMISSION_NS;
        let offsets =
            (0..).zip(&packets).map(|(n, p)| (p.received - first.received).cast_signed() - n * TRANSMISSION_NS);
        let offsets: Vec<i64> = offsets.collect();
        (due > 0).then_some(())?;
        Some(Loaded { rate_error: due as f64 / took - 1.0, lateness: lateness(&offsets)? })
    }
}

fn lateness(offsets: &[i64]) -> Option<Percentiles> {
    let least = *offsets.iter().min()?;
    Percentiles::of(offsets.iter().map(|offset| offset - least).collect())
}

/// One row of the table.
pub fn row(name: &str, paced: &Paced, paced_cpu: f64, loaded: &Loaded, loaded_cpu: f64) -> String {
    let late = |p: &Percentiles| format!("{:.0} / {:.0} / {:.0}", p.p50, p.p99, p.p999);
    format!(
        "| {name} | {:.0} / {:.0} | {} | {} | {:.1} % | {:+.4} % | {} | {:.1} % |",
        paced.error.min,
        paced.error.p50,
        late(&paced.lateness),
        paced.lost,
        paced_cpu * 100.0,
        loaded.rate_error * 100.0,
        late(&loaded.lateness),
        loaded_cpu * 100.0,
    )
}
