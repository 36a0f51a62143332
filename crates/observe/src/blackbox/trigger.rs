//! When the black box keeps what was: `EVENT`, or `COLUMN (> | >= | < | <=) TERM [+ TERM]…` with
//! TERM = `[NUMBER *] COLUMN` | `COLUMN * NUMBER` | `NUMBER[UNIT]`.

use crate::expression::{Comparison, ScanError, Scanner, as_factor};
use ccactl_abi::layout::{EVENT_SAMPLE, INFINITE_SSTHRESH, Sample};
use ccactl_collector::rows;
use ccactl_host::units::Dimension;
use ccactl_recording::write::EVENT_NAMES;
use std::fmt;
use std::str::FromStr;

/// A figure of a row that a trigger may name.
struct Column {
    name: &'static str,
    dimension: Dimension,
    /// None: this row does not know it.
    value: fn(&Sample) -> Option<f64>,
}

const fn packets(name: &'static str, value: fn(&Sample) -> Option<f64>) -> Column {
    Column { name, dimension: Dimension::Packets, value }
}

const fn time(name: &'static str, value: fn(&Sample) -> Option<f64>) -> Column {
    Column { name, dimension: Dimension::Time, value }
}

const fn rate(name: &'static str, value: fn(&Sample) -> Option<f64>) -> Column {
    Column { name, dimension: Dimension::Rate, value }
}

/// Counts are those of the connection's whole life, as in a recording.
#[rustfmt::skip]
static COLUMNS: [Column; 14] = [
    packets("cwnd", |row| Some(f64::from(row.cwnd_pkts))),
    packets("ssthresh", |row| Some(f64::from(row.ssthresh_pkts)).filter(|_| row.ssthresh_pkts < INFINITE_SSTHRESH)),
    packets("inflight", |row| Some(f64::from(row.inflight_pkts))),
    // The receiver's window, in packets of the sender.
    packets("snd_wnd", |row| (row.mss_bytes > 0).then(|| f64::from(row.snd_wnd_bytes) / f64::from(row.mss_bytes))),
    packets("retrans", |row| Some(f64::from(row.retrans_pkts))),
    packets("lost", |row| Some(f64::from(row.lost_pkts))),
    packets("delivered", |row| Some(f64::from(row.delivered_pkts))),
    packets("delivered_ce", |row| Some(f64::from(row.delivered_ce_pkts))),
    packets("rto_count", |row| Some(f64::from(row.rto_count))),
    time("rtt", |row| known_us(row.rtt_us)),
    time("srtt", |row| known_us(row.srtt_us)),
    time("min_rtt", |row| known_us(row.min_rtt_us)),
    rate("pacing_rate", |row| Some(rows::pacing_rate_bps(row)? as f64)),
    rate("delivery_rate", |row| Some(rows::delivery_rate_bps(row)? as f64)),
];

fn known_us(us: u32) -> Option<f64> {
    (us > 0 && us < u32::MAX).then(|| f64::from(us))
}

/// Why a trigger was not understood. Places count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TriggerError {
    /// It is not written as a trigger is.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// No event and no column has this name.
    #[error(
        "column {place}: unknown name '{name}'{}; events are {}; columns are {}",
        nearest.as_deref().map_or_else(String::new, |name| format!(", nearest: {name}")), EVENT_NAMES[1..].join(", "), names()
    )]
    Unknown {
        /// Where.
        place: usize,
        /// As written.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A value of another dimension.
    #[error("column {place}: {name} is compared with {expected}, found '{found}'")]
    WrongUnit {
        /// Where.
        place: usize,
        /// The column.
        name: &'static str,
        /// How its values are written.
        expected: &'static str,
        /// As written.
        found: String,
    },
}

fn names() -> String {
    COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// A condition on a row.
#[derive(Clone)]
pub struct Trigger {
    text: String,
    when: When,
}

#[derive(Clone)]
enum When {
    Event(u8),
    Holds { column: &'static Column, comparison: Comparison, terms: Vec<(f64, Option<&'static Column>)> },
}

impl Trigger {
    /// Whether a row fulfils it; none: the row cannot tell, as it lacks a figure or is of another kind.
    #[must_use]
    pub fn holds(&self, row: &Sample) -> Option<bool> {
        match &self.when {
            When::Event(event) => Some(row.event == *event),
            When::Holds { column, comparison, terms } => {
                let value = (column.value)(row)?;
                let mut threshold = 0.0;
                for (factor, of) in terms {
                    threshold += factor * of.map_or(Some(1.0), |column| (column.value)(row))?;
                }
                Some(comparison.holds(value, threshold))
            }
        }
    }

    /// Whether it holds at a moment and not over a time.
    #[must_use]
    pub fn is_event(&self) -> bool {
        matches!(self.when, When::Event(_))
    }

    /// For the name of a file: `rto`, `cwnd`.
    #[must_use]
    pub fn short(&self) -> &'static str {
        match &self.when {
            When::Event(event) => EVENT_NAMES[usize::from(*event)],
            When::Holds { column, .. } => column.name,
        }
    }
}

/// As the user wrote it.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trigger({:?})", self.text)
    }
}

impl FromStr for Trigger {
    type Err = TriggerError;

    fn from_str(text: &str) -> Result<Trigger, TriggerError> {
        let when = parse(&mut Scanner::new(text))?;
        Ok(Trigger { text: text.trim().to_owned(), when })
    }
}

fn parse(input: &mut Scanner<'_>) -> Result<When, TriggerError> {
    let error = input.unexpected("an event or a column");
    let place = input.column();
    let name = input.name();
    if name.is_empty() {
        return Err(error.into());
    }
    let event = EVENT_NAMES.iter().position(|event| *event == name).filter(|event| *event != usize::from(EVENT_SAMPLE));
    if let Some(event) = event {
        return if input.rest().is_empty() {
            Ok(When::Event(u8::try_from(event).expect("there are few events")))
        } else {
            Err(input.unexpected("the end: an event stands alone").into())
        };
    }
    let column = by_name(name).ok_or_else(|| unknown(place, name))?;
    let comparison = input.comparison()?;
    let mut terms = Vec::new();
    loop {
        terms.push(term(input, column)?);
        if input.take("+") {
            continue;
        }
        let is_over = input.rest().is_empty();
        return if is_over {
            Ok(When::Holds { column, comparison, terms })
        } else {
            Err(input.unexpected("'+' or the end").into())
        };
    }
}

fn term(input: &mut Scanner<'_>, of: &'static Column) -> Result<(f64, Option<&'static Column>), TriggerError> {
    input.rest();
    let (start, place) = (*input, input.column());
    if input.rest().starts_with(|c: char| c.is_alphabetic()) {
        let column = alike(input, of)?;
        let factor = if input.take("*") { input.number("a factor")? } else { 1.0 };
        return Ok((factor, Some(column)));
    }
    let number = input.number("a number or a column")?;
    let unit = input.unit()?;
    if input.take("*") {
        let Some(factor) = as_factor(number, unit) else {
            let found = format!("'{}'", input.since(start).trim_end_matches('*').trim_end());
            return Err(ScanError::Unexpected {
                column: place,
                expected: "a plain factor before '*'".to_owned(),
                found,
            }
            .into());
        };
        return Ok((factor, Some(alike(input, of)?)));
    }
    // Packets are counted; times and rates have to say in what.
    let (dimension, size) = unit.unwrap_or((Dimension::Packets, 1.0));
    if dimension != of.dimension {
        let found = input.since(start).trim_end().to_owned();
        return Err(TriggerError::WrongUnit { place, name: of.name, expected: of.dimension.example(), found });
    }
    Ok((number * size, None))
}

/// A column that may be compared with another.
fn alike(input: &mut Scanner<'_>, of: &'static Column) -> Result<&'static Column, TriggerError> {
    let error = input.unexpected("a column");
    let place = input.column();
    let name = input.name();
    if name.is_empty() {
        return Err(error.into());
    }
    let column = by_name(name).ok_or_else(|| unknown(place, name))?;
    if column.dimension != of.dimension {
        let (expected, found) = (of.dimension.example(), name.to_owned());
        return Err(TriggerError::WrongUnit { place, name: of.name, expected, found });
    }
    Ok(column)
}

fn by_name(name: &str) -> Option<&'static Column> {
    COLUMNS.iter().find(|column| column.name == name)
}

fn unknown(place: usize, name: &str) -> TriggerError {
    let all = COLUMNS.iter().map(|column| column.name).chain(EVENT_NAMES[1..].iter().copied());
    let nearest = ccactl_loader::nearest(name, all).into_iter().next();
    TriggerError::Unknown { place, name: name.to_owned(), nearest }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;
    use ccactl_abi::layout::EVENT_RTO;

    fn trigger(text: &str) -> Trigger {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn events_and_conditions_hold_as_written() {
        let row = Sample { cwnd_pkts: 3, rtt_us: 50_001, min_rtt_us: 5_000, srtt_us: 20_000, ..Sample::zeroed() };
        for (text, expected) in [
            ("rto", Some(false)),
            ("cwnd < 4", Some(true)),
            ("cwnd<3pkts", Some(false)),
            ("rtt > 10 * min_rtt", Some(true)),
            ("rtt > min_rtt * 10 + 1ms", Some(false)),
            ("rtt >= 50ms", Some(true)),
            ("srtt > 150% * min_rtt", Some(true)),
            ("delivery_rate < 1Mbit/s", None),
            ("ssthresh <= cwnd", Some(true)),
        ] {
            assert_eq!(trigger(text).holds(&row), expected, "{text}");
        }
        assert_eq!(trigger(" rto ").holds(&Sample { event: EVENT_RTO, ..row }), Some(true));
        assert!(trigger("rto").is_event() && trigger("rto").short() == "rto" && trigger("cwnd < 4").short() == "cwnd");
        // What is not known is not small.
        assert_eq!(trigger("rtt < 1ms").holds(&Sample { rtt_us: 0, ..row }), None);
        assert_eq!(trigger("rtt > min_rtt").holds(&Sample { min_rtt_us: u32::MAX, ..row }), None);
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        for (text, words) in [
            ("", "column 1: expected an event or a column, found the end"),
            ("cwmd < 4", "column 1: unknown name 'cwmd', nearest: cwnd; events are open, close"),
            ("rto > 3", "column 5: expected the end: an event stands alone, found '>'"),
            ("cwnd ! 4", "column 6: expected one of > >= < <=, found '!'"),
            ("rtt > 50", "column 7: rtt is compared with a time such as 50ms, found '50'"),
            ("cwnd > 10 * rtt", "column 13: cwnd is compared with a number of packets such as 20pkts, found 'rtt'"),
            ("rtt > 2ms * min_rtt", "column 7: expected a plain factor before '*', found '2ms'"),
            ("rtt > 3parsec", "column 8: unknown unit 'parsec'"),
            ("cwnd < 4 and", "column 10: unknown unit 'and'"),
            ("cwnd < 4 > 3", "column 10: expected '+' or the end, found '>'"),
            ("sample", "column 1: unknown name 'sample'"),
        ] {
            let error = text.parse::<Trigger>().expect_err(text).to_string();
            assert!(error.starts_with(words), "{text}: {error}");
        }
    }
}
