//! What the streams say about a path.

use crate::ONE_WAY_MS;
use crate::probe::{PACKET_BYTES, Received};
use crate::spread::Spread;

/// The saturating stream counts from its second second on, when the buffer has long been full.
const WARM_UP_NS: u64 = 1_000_000_000;

/// Head of the table.
pub const HEADER: &str = "\
| link | stream | emulator | lateness p50 / p99 / p99.9 [µs] | lost | rate error | CPU | p99, ours / its | p99.9, ours / its | CPU, ours / its |
|---|---|---|---|---:|---:|---:|---|---|---|";

/// Of one stream through one path, lateness in µs.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    p50: f64,
    p99: f64,
    p999: f64,
    /// Packets of the paced stream that did not arrive.
    lost: f64,
    /// Of the rate at which packets of the saturating stream came out, as a share.
    rate_error: Option<f64>,
    /// Of one CPU.
    cpu: f64,
}

impl Figures {
    /// With what the holder of the path used of one CPU.
    pub fn with_cpu(self, cpu: f64) -> Figures {
        Figures { cpu, ..self }
    }
}

fn transmission_ns(rate_mbit: u64) -> f64 {
    PACKET_BYTES as f64 * 8000.0 / rate_mbit as f64
}

/// Of the evenly paced stream, every packet of which finds an idle link unless the sender was kept from its CPU. What it then sends at once
/// leaves an exact link one by one, and lateness is against that link.
pub fn paced(packets: &[Received], rate_mbit: u64) -> Option<Figures> {
    let mut packets: Vec<&Received> = packets.iter().collect();
    packets.sort_unstable_by_key(|packet| packet.number);
    let sent = packets.last()?.number + 1;
    let begin = packets.first()?.sent;
    let mut link_is_free = 0.0_f64;
    let errors = packets.iter().map(|packet| {
        let since_begin = |stamp: u64| (stamp.cast_signed() - begin.cast_signed()) as f64;
        link_is_free = link_is_free.max(since_begin(packet.sent)) + transmission_ns(rate_mbit);
        since_begin(packet.received) - link_is_free - ONE_WAY_MS as f64 * 1e6
    });
    Some(Figures { lost: (sent - packets.len() as u64) as f64, ..lateness(errors.collect())? })
}

/// Of the saturating stream.
pub fn saturating(packets: &[Received], rate_mbit: u64) -> Option<Figures> {
    let begin = packets.first()?.received + WARM_UP_NS;
    let end = packets.last()?.sent;
    // Until the last packet was sent the buffer was full.
    let packets: Vec<&Received> = packets.iter().filter(|p| (begin..end).contains(&p.received)).collect();
    let (first, last) = (packets.first()?, packets.last()?);
    let took = (last.received - first.received) as f64;
    let gap = transmission_ns(rate_mbit);
    let due = (packets.len() as f64 - 1.0) * gap;
    let offsets = packets.iter().enumerate().map(|(n, p)| (p.received - first.received) as f64 - n as f64 * gap);
    (due > 0.0).then_some(())?;
    Some(Figures { rate_error: Some(due / took - 1.0), ..lateness(offsets.collect())? })
}

/// Later than the most punctual packet.
fn lateness(mut offsets: Vec<f64>) -> Option<Figures> {
    offsets.sort_unstable_by(f64::total_cmp);
    let least = *offsets.first()?;
    let at = |share: f64| {
        let rank = (offsets.len() as f64 * share).ceil() as usize;
        (offsets[rank.clamp(1, offsets.len()) - 1] - least) / 1000.0
    };
    Some(Figures { p50: at(0.5), p99: at(0.99), p999: at(0.999), lost: 0.0, rate_error: None, cpu: 0.0 })
}

/// One row of the table: medians over the rounds, and what the first path has of this one, round by round, with 95 % intervals. A round
/// that failed is left out, and counted.
pub fn row(place: &str, name: &str, own: &[Option<Figures>], rounds: &[Option<Figures>]) -> String {
    let done: Vec<Figures> = rounds.iter().copied().flatten().collect();
    let failed = match rounds.len() - done.len() {
        0 => String::new(),
        failed => format!(", {failed} of {} rounds failed", rounds.len()),
    };
    if done.is_empty() {
        return format!("| {place} | {name}{failed} | — | — | — | — | — | — | — |");
    }
    let all = |figure: fn(&Figures) -> f64| Spread::of(done.iter().map(figure).collect()).median;
    let ratio = |figure: fn(&Figures) -> f64| {
        let pairs = own.iter().zip(rounds).filter_map(|(own, other)| Some((own.as_ref()?, other.as_ref()?)));
        let ratios: Vec<f64> = pairs.map(|(own, other)| figure(own) / figure(other)).collect();
        if std::ptr::eq(own, rounds) || ratios.is_empty() {
            return "—".to_owned();
        }
        let Spread { median, low, high } = Spread::of(ratios);
        format!("{median:.2} ({low:.2} … {high:.2})")
    };
    let rate_error = match done.iter().filter_map(|figures| figures.rate_error).collect::<Vec<_>>() {
        errors if errors.is_empty() => "—".to_owned(),
        errors => format!("{:+.4} %", Spread::of(errors).median * 100.0),
    };
    format!(
        "| {place} | {name}{failed} | {:.0} / {:.0} / {:.0} | {:.0} | {rate_error} | {:.1} % | {} | {} | {} |",
        all(|f| f.p50),
        all(|f| f.p99),
        all(|f| f.p999),
        all(|f| f.lost),
        all(|f| f.cpu) * 100.0,
        ratio(|f| f.p99),
        ratio(|f| f.p999),
        ratio(|f| f.cpu),
    )
}
