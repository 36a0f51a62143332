//! What happens to a packet after its last bit has left: propagation, jitter, loss; and the retransmissions of a wireless link
//! before that.

mod jitter;
mod loss;
mod wireless;

pub use jitter::{Distribution, Jitter};
pub use loss::{GilbertElliott, Loss};
pub use wireless::Wireless;

use crate::Nanos;
use crate::packet::LossReason;
use loss::LossState;
use rand::rngs::StdRng;

/// Parameters of the wire.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WireConfig {
    /// Propagation delays, each for packets that leave from its time on: times ascending, the first at 0; none is no delay. Times
    /// count from [`Link::set_origin`](crate::Link::set_origin). A shorter delay lets no packet overtake.
    pub delay: Vec<(Nanos, Nanos)>,
    /// Variation of the delay.
    pub jitter: Option<Jitter>,
    /// Losses of transmitted packets.
    pub loss: Loss,
    /// Retransmission on the link.
    pub wireless: Option<Wireless>,
}

/// A packet on the wire.
pub(crate) struct Carried {
    pub due: Nanos,
    pub lost: Option<LossReason>,
}

/// A wire in time.
pub(crate) struct Wire {
    delay: Vec<(Nanos, Nanos)>,
    origin: Nanos,
    jitter: Option<Jitter>,
    loss: LossState,
    latest_due: Nanos,
    jitter_rng: StdRng,
}

impl Wire {
    pub fn new(config: &WireConfig, loss_rng: StdRng, jitter_rng: StdRng) -> Self {
        let delay = if config.delay.is_empty() { vec![(0, 0)] } else { config.delay.clone() };
        assert_eq!(delay[0].0, 0, "a wire has a delay from its beginning on");
        assert!(delay.is_sorted_by(|a, b| a.0 < b.0), "steps of a delay ascend in time");
        if let Some(jitter) = &config.jitter {
            jitter.check();
        }
        let loss = LossState::new(config.loss, loss_rng);
        Wire { delay, origin: 0, jitter: config.jitter, loss, latest_due: 0, jitter_rng }
    }

    pub fn set_origin(&mut self, origin: Nanos) {
        self.origin = origin;
    }

    /// A packet whose last bit left at `at`.
    pub fn carry(&mut self, at: Nanos) -> Carried {
        let lost = self.loss.next_is_lost().then_some(LossReason::Random);
        Carried { due: self.due(at), lost }
    }

    fn due(&mut self, at: Nanos) -> Nanos {
        let due = at + self.delay_at(at);
        let due = due + self.jitter.map_or(0, |jitter| jitter.sample(&mut self.jitter_rng));
        if self.jitter.is_some_and(|jitter| jitter.reorder) {
            return due;
        }
        self.latest_due = self.latest_due.max(due);
        self.latest_due
    }

    fn delay_at(&self, at: Nanos) -> Nanos {
        let at = at.saturating_sub(self.origin);
        self.delay[self.delay.partition_point(|step| step.0 <= at) - 1].1
    }
}
