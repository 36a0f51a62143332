//! Losses of packets that were transmitted.

use rand::Rng;
use rand::rngs::StdRng;

/// Which transmitted packets do not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// All arrive.
    #[default]
    None,
    /// Each is lost with this probability, independently of the others.
    Bernoulli(f64),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// A chain of two states (Gilbert 1960, Elliott 1963), one step per packet: the packet is lost with the probability of the
/// state, then the state changes. It begins in the good one.
///
/// Mean length of a stay in the bad state: 1/r packets. Share of the packets in it: p / (p + r).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability of good → bad after a packet.
    pub p: f64,
    /// Probability of bad → good after a packet.
    pub r: f64,
    /// Probability that a packet is lost in the good state.
    pub loss_good: f64,
    /// Probability that a packet is lost in the bad state.
    pub loss_bad: f64,
}

/// A loss process.
pub(crate) struct LossState {
    loss: Loss,
    is_bad: bool,
    rng: StdRng,
}

impl LossState {
    pub fn new(loss: Loss, rng: StdRng) -> Self {
        let probabilities = match loss {
            Loss::None => [0.0; 4],
            Loss::Bernoulli(loss) => [loss, 0.0, 0.0, 0.0],
            Loss::GilbertElliott(GilbertElliott { p, r, loss_good, loss_bad }) => [p, r, loss_good, loss_bad],
        };
        assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)), "losses are probabilities");
        LossState { loss, is_bad: false, rng }
    }

    pub fn next_is_lost(&mut self) -> bool {
        match self.loss {
            Loss::None => false,
            Loss::Bernoulli(loss) => loss > 0.0 && self.rng.random_bool(loss),
            Loss::GilbertElliott(chain) => {
                let (loss, change) = if self.is_bad { (chain.loss_bad, chain.r) } else { (chain.loss_good, chain.p) };
                let lost = self.rng.random_bool(loss);
                self.is_bad ^= self.rng.random_bool(change);
                lost
            }
        }
    }
}
