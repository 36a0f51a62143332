//! Queue disciplines: who waits, who leaves next, who is dropped or marked. One file each.

mod ack_first;
mod cba;
mod cbq;
mod classes;
mod codel;
mod drop_tail;
mod drr;
mod dual_pi2;
mod early;
mod exponential_red;
mod fattest;
mod fq_codel;
mod pie;
mod policer;
mod red;
mod rem;
mod sfq;
mod sharing;
mod wfq;
mod work;

pub use cba::Cba;
pub use cbq::{Cbq, CbqClass, CbqGroup, PRIORITIES};
pub use classes::{Class, Classes};
pub use codel::CoDel;
pub use drr::Drr;
pub use dual_pi2::DualPi2;
pub use exponential_red::ExponentialRed;
pub use fq_codel::FqCoDel;
pub use pie::Pie;
pub use policer::Policer;
pub use red::Red;
pub use rem::Rem;
pub use sfq::Sfq;
pub use wfq::Wfq;

use early::Judged;
use rand::rngs::StdRng;
use work::bucket;
pub(crate) use work::{Next, Queue};

/// Which discipline a link has.
#[derive(Debug, Clone, PartialEq)]
pub enum Discipline {
    /// First in, first out; what finds no room is refused.
    DropTail,
    /// First in, first out; the oldest packets make room for the newest.
    DropHead,
    /// Random early detection.
    Red(Red),
    /// Marking probability that grows exponentially with a virtual queue.
    ExponentialRed(ExponentialRed),
    /// Random exponential marking.
    Rem(Rem),
    /// Controlled delay.
    CoDel(CoDel),
    /// Proportional integral controller enhanced.
    Pie(Pie),
    /// Drops at once what comes faster than a contract allows.
    Policer(Policer),
    /// Two coupled queues, for scalable and for classic senders.
    DualPi2(DualPi2),
    /// Fair queueing by flow with CoDel on each.
    FqCoDel(FqCoDel),
    /// Stochastic fairness queueing.
    Sfq(Sfq),
    /// Deficit round robin, with weights.
    Drr(Drr),
    /// Weighted fair queueing.
    Wfq(Wfq),
    /// Shares of classes, with borrowing.
    Classes(Classes),
    /// Class-based queueing: a tree of shares, with borrowing between levels and priorities.
    Cbq(Cbq),
    /// Pure ACKs before everything else.
    AckFirst,
    /// A share for pure ACKs and one for the rest.
    Cba(Cba),
}

impl Discipline {
    pub(crate) fn queue<P>(self, rng: &mut StdRng) -> Box<dyn Queue<P>> {
        match self {
            Discipline::DropTail => Box::new(drop_tail::DropTail::default()),
            Discipline::DropHead => Box::new(drop_tail::DropHead::default()),
            Discipline::Red(config) => Box::new(Judged::by(red::Average::new(config))),
            Discipline::ExponentialRed(config) => Box::new(Judged::by(exponential_red::VirtualQueue::new(config))),
            Discipline::Rem(config) => Box::new(Judged::by(rem::Price::new(config))),
            Discipline::CoDel(config) => Box::new(codel::CoDelQueue::new(config)),
            Discipline::Pie(config) => Box::new(Judged::by(pie::Controller::new(config))),
            Discipline::Policer(config) => Box::new(Judged::by(policer::Bucket::new(config))),
            Discipline::DualPi2(config) => Box::new(dual_pi2::DualPi2Queue::new(config)),
            Discipline::FqCoDel(config) => Box::new(fq_codel::FqCoDelQueue::new(config, rng)),
            Discipline::Sfq(config) => Box::new(sfq::SfqQueue::new(config, rng)),
            Discipline::Drr(config) => Box::new(drr::DrrQueue::new(config)),
            Discipline::Wfq(config) => Box::new(wfq::WfqQueue::new(config)),
            Discipline::Classes(config) => Box::new(classes::ClassesQueue::new(config)),
            Discipline::Cbq(config) => Box::new(cbq::CbqQueue::new(config)),
            Discipline::AckFirst => Box::new(ack_first::AckFirst::default()),
            Discipline::Cba(config) => Box::new(cba::CbaQueue::new(config)),
        }
    }
}
