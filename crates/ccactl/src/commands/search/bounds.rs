//! Within which paths a search looks, as options.

use crate::error::{Error, Result};
use ccactl_scenario::units::{Buffer, Rate, Span};
use ccactl_search::{Bounds, EventDomain, Gene, Kind};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Within which paths are looked for. A range is `A..B`, a single value stands for itself.
#[derive(clap::Args)]
pub struct BoundsArgs {
    /// Rate of the link
    #[arg(long, value_name = "RATE", default_value = "5Mbit/s..20Mbit/s")]
    rate: Between<Rate>,
    /// Base RTT
    #[arg(long, value_name = "TIME", default_value = "10ms..100ms")]
    rtt: Between<Span>,
    /// Buffer of the link
    #[arg(long, value_name = "SIZE", default_value = "0.5bdp..4bdp")]
    buffer: Between<Buffer>,
    /// Probability of random loss
    #[arg(long, value_name = "P", default_value = "0..0.002")]
    loss: Between<f64>,
    /// Largest jitter
    #[arg(long, value_name = "TIME", default_value = "0s..10ms")]
    jitter: Between<Span>,
    /// ACKs come back at multiples of this time only
    #[arg(long, value_name = "TIME", default_value = "0s..20ms")]
    ack_batch: Between<Span>,
    /// When the rivals begin
    #[arg(long, value_name = "TIME", default_value = "0s..5s")]
    rival_start: Between<Span>,
    /// Flows of the algorithm, and as many rivals
    #[arg(long, value_name = "N", default_value = "1")]
    flows: Between<u32>,
    /// How much may happen on the way, at most
    #[arg(long, value_name = "N", default_value_t = 4)]
    events: usize,
    /// What may happen, in percent of the path's own: another `rate` of the link, another base `rtt`, a `burst` of packets of others;
    /// all three unless one is named
    #[arg(long = "event", value_name = "KIND=PERCENT")]
    kinds: Vec<EventRange>,
}

impl BoundsArgs {
    /// The same as numbers of a search.
    pub fn bounds(&self, duration_ms: u32) -> Result<Bounds> {
        let ms = |span: Span| (span.ns / 1_000_000) as u32;
        let hundredths = |buffer: Buffer| match buffer {
            Buffer::Bdp(multiple) => Ok((multiple * 100.0).round() as u32),
            other => {
                Err(Error::Argument(format!("--buffer: expected a multiple of the BDP such as 2bdp, found {other}")))
            }
        };
        let mut bounds = Bounds { events: self.events, ..Bounds::of_run(duration_ms) }
            .with(Gene::Rate, self.rate.each(|rate| (rate.bps / 1000) as u32), "--rate")?
            .with(Gene::Rtt, self.rtt.each(ms), "--rtt")?
            .with(Gene::Buffer, hundredths(self.buffer.0)?..=hundredths(self.buffer.1)?, "--buffer")?
            .with(Gene::Loss, self.loss.each(|share| (share * 1e6).round() as u32), "--loss")?
            .with(Gene::Jitter, self.jitter.each(ms), "--jitter")?
            .with(Gene::AckBatch, self.ack_batch.each(ms), "--ack-batch")?
            .with(Gene::RivalStart, self.rival_start.each(ms), "--rival-start")?
            .with(Gene::Flows, self.flows.each(|flows| flows), "--flows")?;
        for (gene, option) in
            [(Gene::Rate, "--rate"), (Gene::Rtt, "--rtt"), (Gene::Buffer, "--buffer"), (Gene::Flows, "--flows")]
        {
            if *bounds.domain(gene).start() == 0 {
                return Err(Error::Argument(format!("{option}: expected more than 0")));
            }
        }
        if !self.kinds.is_empty() {
            bounds.kinds = self.kinds.iter().map(|EventRange(domain)| domain.clone()).collect();
        }
        Ok(bounds)
    }
}

/// `A..B`, or one value.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Between<T>(T, T);

impl<T: Copy> Between<T> {
    fn each(&self, value: impl Fn(T) -> u32) -> RangeInclusive<u32> {
        value(self.0)..=value(self.1)
    }
}

impl<T: FromStr + Copy> FromStr for Between<T>
where
    T::Err: std::fmt::Display,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let parsed = |part: &str| part.parse::<T>().map_err(|error| error.to_string());
        Ok(Between(parsed(least)?, parsed(most)?))
    }
}

/// `rate`, or `rate=20..100`.
#[derive(Debug, Clone, PartialEq)]
struct EventRange(EventDomain);

impl FromStr for EventRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, percent) = text.split_once('=').map_or((text, None), |(kind, percent)| (kind, Some(percent)));
        let known = Bounds::of_run(0).kinds;
        let domain = known.into_iter().find(|domain| name_of(domain.kind) == kind);
        let mut domain = domain.ok_or_else(|| format!("expected one of {}", Kind::ALL.map(name_of).join(", ")))?;
        if let Some(percent) = percent {
            domain.percent = percent.parse::<Between<u32>>()?.each(|percent| percent);
        }
        if domain.percent.is_empty() {
            return Err("expected the smaller percentage first".to_owned());
        }
        Ok(EventRange(domain))
    }
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Rate => "rate",
        Kind::Rtt => "rtt",
        Kind::Burst => "burst",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends_or_one() {
        assert_eq!("1Mbit/s..2Mbit/s".parse(), Ok(Between(Rate { bps: 1_000_000 }, Rate { bps: 2_000_000 })));
        assert_eq!("3".parse(), Ok(Between(3_u32, 3)));
        assert_eq!("0..0.01".parse(), Ok(Between(0.0, 0.01)));
        for bad in ["", "..", "1..", "..2", "1..2..3"] {
            assert!(bad.parse::<Between<u32>>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_event_is_a_kind_with_a_range() {
        let range = |text: &str| text.parse::<EventRange>().map(|EventRange(domain)| domain);
        assert_eq!(range("rate=10..50"), Ok(EventDomain { kind: Kind::Rate, percent: 10..=50 }));
        assert_eq!(range("burst").unwrap().kind, Kind::Burst);
        for bad in ["", "loss", "rate=50..10", "rate=x"] {
            assert!(range(bad).is_err(), "{bad:?}");
        }
    }
}
