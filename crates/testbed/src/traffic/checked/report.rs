//! What an end says, and how the answers of several ends add up.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// States of the kernel's congestion machine, in the order of `enum tcp_ca_state`.
pub const STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// A byte that was not the one to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongByte {
    /// Number of the connection.
    pub connection: u32,
    /// Which end received it: `client` or `server`.
    pub at: String,
    /// Position in its direction.
    pub position: u64,
    /// What was to come.
    pub expected: u8,
    /// What came.
    pub found: u8,
}

/// Connections of one end, or of several, at one moment. Counts of bytes and faults are since the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Sockets of connections that are open and have shown who they are.
    pub alive: u64,
    /// Connections that ended with ECONNRESET or EPIPE.
    pub resets: u64,
    /// Connections that the other end closed before its time.
    pub ended_early: u64,
    /// Connections that ended with another error, by errno.
    pub errors: BTreeMap<i32, u64>,
    /// Bytes that were not those to come.
    pub wrong_bytes: u64,
    /// The first of them.
    pub first_wrong: Option<WrongByte>,
    /// Payload that the kernel took.
    pub sent_bytes: u64,
    /// Payload that was read and compared.
    pub received_bytes: u64,
    /// Sockets by algorithm, now.
    pub algorithms: BTreeMap<String, u64>,
    /// Sockets by state of the congestion machine, now, in the order of [`STATES`].
    pub states: [u64; STATES.len()],
    /// Smallest cwnd seen since the beginning, in packets; `None` before the first reading.
    pub min_cwnd_pkts: Option<u32>,
    /// How many times a cwnd was read.
    pub cwnd_readings: u64,
    /// Segments that the open connections have sent more than once.
    pub retransmitted_pkts: u64,
    /// Longest time for which an open connection has now received nothing, in ms.
    pub longest_silence_ms: u64,
}

impl Sample {
    /// Adds what another end says.
    #[must_use]
    pub fn merge(mut self, other: Sample) -> Sample {
        self.alive += other.alive;
        self.resets += other.resets;
        self.ended_early += other.ended_early;
        for (errno, count) in other.errors {
            *self.errors.entry(errno).or_default() += count;
        }
        self.wrong_bytes += other.wrong_bytes;
        self.first_wrong = self.first_wrong.or(other.first_wrong);
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        for (name, count) in other.algorithms {
            *self.algorithms.entry(name).or_default() += count;
        }
        for (sum, count) in self.states.iter_mut().zip(other.states) {
            *sum += count;
        }
        self.read_cwnd(other.min_cwnd_pkts, other.cwnd_readings);
        self.retransmitted_pkts += other.retransmitted_pkts;
        self.longest_silence_ms = self.longest_silence_ms.max(other.longest_silence_ms);
        self
    }

    /// Adds readings of cwnd.
    pub(super) fn read_cwnd(&mut self, min_pkts: Option<u32>, readings: u64) {
        self.min_cwnd_pkts = match (self.min_cwnd_pkts, min_pkts) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.cwnd_readings += readings;
    }

    /// What is wrong with it when `sockets` are to be open; empty when nothing is.
    #[must_use]
    pub fn faults(&self, sockets: u64) -> Vec<String> {
        let mut faults = Vec::new();
        if self.alive != sockets {
            faults.push(format!("expected {sockets} open sockets, found {}", self.alive));
        }
        if self.resets > 0 {
            faults.push(format!("{} connections were reset", self.resets));
        }
        if self.ended_early > 0 {
            faults.push(format!("{} connections ended early", self.ended_early));
        }
        for (errno, count) in &self.errors {
            faults.push(format!("{count} connections ended with {}", std::io::Error::from_raw_os_error(*errno)));
        }
        if let Some(wrong) = &self.first_wrong {
            faults.push(format!(
                "{} wrong bytes, the first one at the {} of connection {}: expected {:#04x} at position {}, found {:#04x}",
                self.wrong_bytes, wrong.at, wrong.connection, wrong.expected, wrong.position, wrong.found
            ));
        }
        if self.min_cwnd_pkts == Some(0) {
            faults.push("a cwnd of 0 was read".to_owned());
        }
        faults
    }
}

/// Both directions of one connection as one end saw them, at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Payload that the kernel took.
    pub sent_bytes: u64,
    /// CRC-32 of it.
    pub sent_crc: u32,
    /// Payload that was read.
    pub received_bytes: u64,
    /// CRC-32 of it.
    pub received_crc: u32,
}

/// The last word of an end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Counts, without what can only be read from open sockets.
    pub counts: Sample,
    /// By number of the connection, those that ended in order.
    pub streams: BTreeMap<u32, StreamTotals>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        Sample { alive: 5, min_cwnd_pkts: Some(4), cwnd_readings: 5, ..Sample::default() }
    }

    #[test]
    fn counts_add_up_and_the_smallest_cwnd_stays() {
        let mut other = Sample { resets: 1, min_cwnd_pkts: Some(2), longest_silence_ms: 7, ..sample() };
        other.algorithms.insert("cubic".to_owned(), 5);
        let both = sample().merge(other.clone()).merge(other).merge(Sample::default());
        assert_eq!((both.alive, both.resets, both.min_cwnd_pkts, both.cwnd_readings), (15, 2, Some(2), 15));
        assert_eq!((both.algorithms["cubic"], both.longest_silence_ms), (10, 7));
    }

    #[test]
    fn each_kind_of_fault_is_named() {
        assert_eq!(sample().faults(5), Vec::<String>::new());
        let wrong = WrongByte { connection: 3, at: "server".to_owned(), position: 9, expected: 1, found: 2 };
        let bad = Sample {
            alive: 4,
            resets: 1,
            ended_early: 1,
            errors: BTreeMap::from([(libc::ETIMEDOUT, 2)]),
            wrong_bytes: 1,
            first_wrong: Some(wrong),
            min_cwnd_pkts: Some(0),
            ..sample()
        };
        assert_eq!(bad.faults(5).len(), 6, "{:?}", bad.faults(5));
    }
}
