//! What the application behind a sending end makes: data at a rate, a piece at a time, rather than as much as TCP takes.
//!
//! A piece follows the one before after a fixed time, or as soon as TCP has taken that one. What could not be made meanwhile is not
//! made up later: as a player asks for the next piece of a video when it has the one before.

use ccactl_link::Nanos;
use serde::{Deserialize, Serialize};

/// The pieces of a flow. Times are relative to the beginning of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The first piece.
    pub start_ns: Nanos,
    /// From one piece to the next, at least.
    pub every_ns: Nanos,
    /// From when on how much payload per second, bit/s, ascending; the first from the start on.
    pub steps: Vec<(Nanos, u64)>,
}

/// Payload that is due at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// When.
    pub at_ns: Nanos,
    /// How much.
    pub bytes: u64,
}

impl Application {
    /// The piece that follows the one that was due at `before_ns`, if there was one, now that TCP has taken it. None when there is no
    /// more.
    pub(crate) fn piece_after(&self, before_ns: Option<Nanos>, now_ns: Nanos) -> Option<Piece> {
        let due_ns = before_ns.map_or(self.start_ns, |before_ns| before_ns + self.every_ns);
        let at_ns = due_ns.max(now_ns);
        let begun = self.steps.partition_point(|(step_ns, _)| *step_ns <= at_ns);
        // A pause lasts to the first step that is none.
        let now = self.steps[..begun].last().map(|(_, bps)| (at_ns, *bps));
        let (at_ns, bps) = now.into_iter().chain(self.steps[begun..].iter().copied()).find(|(_, bps)| *bps > 0)?;
        let bits = u128::from(bps) * u128::from(self.every_ns) / 1_000_000_000;
        Some(Piece { at_ns, bytes: u64::try_from(bits / 8).unwrap_or(u64::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn application(steps: &[(Nanos, u64)]) -> Application {
        Application { start_ns: 5 * MS, every_ns: 20 * MS, steps: steps.to_vec() }
    }

    fn piece(at_ms: Nanos, bytes: u64) -> Option<Piece> {
        Some(Piece { at_ns: at_ms * MS, bytes })
    }

    #[test]
    fn a_piece_is_the_rate_times_the_time_between_two() {
        let steady = application(&[(5 * MS, 8_000_000)]);
        assert_eq!(steady.piece_after(None, 0), piece(5, 20_000));
        assert_eq!(steady.piece_after(Some(5 * MS), 6 * MS), piece(25, 20_000));
    }

    #[test]
    fn one_that_is_late_delays_the_others_and_none_is_made_up() {
        let steady = application(&[(5 * MS, 8_000_000)]);
        assert_eq!(steady.piece_after(None, 47 * MS), piece(47, 20_000), "a connection took its time");
        assert_eq!(steady.piece_after(Some(47 * MS), 90 * MS), piece(90, 20_000), "and so did the piece");
        assert_eq!(steady.piece_after(Some(90 * MS), 91 * MS), piece(110, 20_000));
    }

    #[test]
    fn a_rate_of_nothing_is_a_pause_and_maybe_the_end() {
        let paused = application(&[(5 * MS, 8_000_000), (40 * MS, 0), (90 * MS, 4_000_000), (200 * MS, 0)]);
        assert_eq!(paused.piece_after(Some(25 * MS), 26 * MS), piece(90, 10_000));
        assert_eq!(paused.piece_after(Some(90 * MS), 91 * MS), piece(110, 10_000));
        assert_eq!(paused.piece_after(Some(190 * MS), 191 * MS), None);
    }
}
