//! Which ACKs of those that arrive together are the latest of their connection: cable modems let only these on.

use crate::Nanos;
use std::collections::VecDeque;

/// Connections and batches that are on their way at the same time; with more of them memory is allocated.
const COMMON: usize = 64;

/// ACKs on their way, by connection and time of arrival.
pub(super) struct AckFilter {
    coming: VecDeque<Coming>,
}

struct Coming {
    flow: u32,
    due: Nanos,
    acks: u32,
}

impl AckFilter {
    pub(super) fn new() -> AckFilter {
        AckFilter { coming: VecDeque::with_capacity(COMMON) }
    }

    /// An ACK of this connection will arrive at `due`.
    pub(super) fn comes(&mut self, flow: u32, due: Nanos) {
        match self.coming.iter_mut().rev().find(|coming| coming.flow == flow && coming.due == due) {
            Some(coming) => coming.acks += 1,
            None => self.coming.push_back(Coming { flow, due, acks: 1 }),
        }
    }

    /// An ACK has arrived, and those of one time do in the order in which they came: whether no other one comes with it.
    pub(super) fn is_latest(&mut self, flow: u32, due: Nanos) -> bool {
        let Some(at) = self.coming.iter().position(|coming| coming.flow == flow && coming.due == due) else {
            return true;
        };
        self.coming[at].acks -= 1;
        let is_latest = self.coming[at].acks == 0;
        if is_latest {
            self.coming.remove(at);
        }
        is_latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_connection_the_last_one_of_a_batch_is_the_latest() {
        let mut filter = AckFilter::new();
        for (flow, due) in [(1, 20), (1, 20), (2, 20), (1, 40), (1, 20)] {
            filter.comes(flow, due);
        }
        let arrived: Vec<bool> =
            [(1, 20), (1, 20), (2, 20), (1, 20), (1, 40)].map(|(flow, due)| filter.is_latest(flow, due)).to_vec();
        assert_eq!(arrived, [false, false, true, true, true]);
        assert!(filter.coming.is_empty());
    }
}
