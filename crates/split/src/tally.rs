//! What a proxy did, and which failures are worth a line.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Between two lines about failures of a kind.
const QUIET: Duration = Duration::from_secs(1);

/// What a proxy did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Connections that were accepted.
    pub connections: u64,
    /// Of them those that ended in order, both ways.
    pub completed: u64,
    /// Most that were open at a time.
    pub peak: u64,
    /// From clients to servers.
    pub bytes_up: u64,
    /// From servers to clients.
    pub bytes_down: u64,
    /// Resets that were carried over to the server.
    pub resets_by_client: u64,
    /// Resets that were carried over to the client.
    pub resets_by_server: u64,
    /// Connections that were open at the end and were reset.
    pub resets_at_end: u64,
    /// How often accepting was paused for want of file descriptors.
    pub pauses: u64,
    /// Connections that the proxy had to reset, by reason.
    pub failures: Failures,
}

/// Connections that failed, each of which was reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// The server refused.
    pub refused: u64,
    /// The server did not answer in time, or a leg has not for long.
    pub timed_out: u64,
    /// There is no way to the server, or none from the client's address.
    pub unreachable: u64,
    /// They came from the proxy itself.
    pub looped: u64,
    /// They came to a transparent proxy's own address.
    pub direct: u64,
    /// A leg did not have its algorithm.
    pub other_algorithm: u64,
    /// The system had no socket, port or pipe left.
    pub no_resources: u64,
}

/// Why a connection was reset by the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// See [`Failures::refused`].
    Refused,
    /// See [`Failures::timed_out`].
    TimedOut,
    /// See [`Failures::unreachable`]; what the system said.
    Unreachable(String),
    /// See [`Failures::looped`].
    Looped,
    /// See [`Failures::direct`].
    Direct,
    /// See [`Failures::other_algorithm`].
    OtherAlgorithm {
        /// Which leg.
        leg: &'static str,
        /// Kernel name.
        expected: String,
        /// Kernel name.
        found: String,
    },
    /// See [`Failures::no_resources`]; what the system said.
    NoResources(String),
}

impl Failures {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self { refused, timed_out, unreachable, looped, direct, other_algorithm, no_resources } = self;
        refused + timed_out + unreachable + looped + direct + other_algorithm + no_resources
    }

    /// By name, without those that did not happen.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("refused", self.refused),
            ("timed out", self.timed_out),
            ("unreachable", self.unreachable),
            ("looped", self.looped),
            ("direct", self.direct),
            ("other algorithm", self.other_algorithm),
            ("no resources", self.no_resources),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    fn of_kind(&mut self, failure: &Failure) -> &mut u64 {
        match failure {
            Failure::Refused => &mut self.refused,
            Failure::TimedOut => &mut self.timed_out,
            Failure::Unreachable(_) => &mut self.unreachable,
            Failure::Looped => &mut self.looped,
            Failure::Direct => &mut self.direct,
            Failure::OtherAlgorithm { .. } => &mut self.other_algorithm,
            Failure::NoResources(_) => &mut self.no_resources,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("it refuses connections"),
            Self::TimedOut => f.write_str("it did not answer in time"),
            Self::Unreachable(reason) => write!(f, "there is no way to it: {reason}"),
            Self::Looped => f.write_str("the connection came back to this proxy: --to, or a route, leads into a loop"),
            Self::Direct => {
                f.write_str("that is this proxy's own address: clients of a transparent proxy name the server's")
            }
            Self::OtherAlgorithm { leg, expected, found } => {
                write!(f, "expected the congestion control {expected} on the {leg} leg, found {found}")
            }
            Self::NoResources(reason) => write!(f, "no socket for it: {reason}"),
        }
    }
}

/// Counts failures, and says of which a line is due: one per kind and second, with how many it stands for.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    last: Vec<(std::mem::Discriminant<Failure>, Instant, u64)>,
}

impl Complaints {
    /// Counts one. A line where one is due.
    pub(crate) fn count(
        &mut self,
        failure: &Failure,
        peer: SocketAddr,
        now: Instant,
        failures: &mut Failures,
    ) -> Option<String> {
        *failures.of_kind(failure) += 1;
        let kind = std::mem::discriminant(failure);
        let place = self.last.iter().position(|(of, ..)| *of == kind).unwrap_or_else(|| {
            self.last.push((kind, now - QUIET, 0));
            self.last.len() - 1
        });
        let (_, said, unsaid) = &mut self.last[place];
        if now.duration_since(*said) < QUIET {
            *unsaid += 1;
            return None;
        }
        *said = now;
        let more = match std::mem::take(unsaid) {
            0 => String::new(),
            count => format!(" (and {count} like it since the last line)"),
        };
        Some(format!("{peer}: {failure}; the connection was reset{more}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_line_a_second_and_every_failure_counts() {
        let (mut complaints, mut failures) = (Complaints::default(), Failures::default());
        let (start, server) = (Instant::now(), SocketAddr::from(([192, 0, 2, 1], 80)));
        let mut after =
            |ms, failure| complaints.count(&failure, server, start + Duration::from_millis(ms), &mut failures);
        let refused = "192.0.2.1:80: it refuses connections; the connection was reset";
        assert_eq!(after(0, Failure::Refused).as_deref(), Some(refused));
        assert_eq!(after(1, Failure::Refused), None);
        assert_eq!(after(999, Failure::Refused), None);
        assert!(after(2, Failure::TimedOut).is_some(), "another kind");
        let line = after(1000, Failure::Refused).unwrap();
        assert_eq!(line, format!("{refused} (and 2 like it since the last line)"));
        assert_eq!((failures.refused, failures.timed_out, failures.total()), (4, 1, 5));
        assert_eq!(failures.named(), [("refused", 4), ("timed out", 1)]);
    }
}
