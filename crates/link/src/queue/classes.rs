//! Sharing by class after Floyd, Van Jacobson, "Link-sharing and resource management models for packet networks", IEEE/ACM ToN 3(4),
//! 1995. Each class gets its share of the link when it needs it, and what others do not use may be borrowed. It is one
//! level of that model, not its hierarchy, and has no priorities. CBQ estimates a class's rate by a moving average.
//! This keeps the time from which a class is within its share again, with a credit of one burst. What is lent is divided in
//! proportion to the shares of the borrowers.

use super::fattest::Fattest;
use super::{Next, Queue};
use crate::Nanos;
use crate::buffer::{Buffer, Line};
use crate::packet::Waiting;

/// Parameters of sharing by class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classes {
    /// By number of the class; packets of higher classes belong to the last. The shares add up to 1000 or less.
    pub classes: Vec<Class>,
    /// Bytes that a class may send at once after a pause.
    pub burst_bytes: u32,
}

/// One class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// Share of the rate of the link, in thousandths; not 0.
    pub share_permille: u32,
    /// It may use what others do not. If not, its share is its limit.
    pub borrow: bool,
}

impl Default for Classes {
    /// Two halves that lend to each other, and two full packets at once.
    fn default() -> Self {
        let half = Class { share_permille: 500, borrow: true };
        Classes { classes: vec![half; 2], burst_bytes: 2 * 1514 }
    }
}

const WHOLE_PERMILLE: u32 = 1000;

struct ClassQueue {
    class: Class,
    packets: Line,
    /// When it would have sent everything at its share (the "theoretical arrival time" of the GCRA, ITU-T I.371). It is within its
    /// share while that is no further ahead than the time of a burst. `None` before its first packet.
    sent_at_share: Option<Nanos>,
    /// What it borrowed, divided by its share.
    borrowed: u64,
}

impl ClassQueue {
    /// Time to send that much at the share of the class.
    fn time_of(&self, bytes: u32, rate_bps: u64) -> Nanos {
        let units = u128::from(bytes) * 8 * 1_000_000_000 * u128::from(WHOLE_PERMILLE);
        (units / (u128::from(rate_bps) * u128::from(self.class.share_permille))) as Nanos
    }

    /// From then on it is within its share; wider than a time, as that may be before time 0.
    fn within_share_from(&self, burst_bytes: u32, rate_bps: u64) -> i128 {
        let burst = i128::from(self.time_of(burst_bytes, rate_bps));
        self.sent_at_share.map_or(i128::MIN, |sent| i128::from(sent) - burst)
    }

    /// Its bytes, divided by its share.
    fn length(&self) -> u64 {
        self.weighted(self.packets.bytes())
    }

    fn weighted(&self, bytes: u64) -> u64 {
        bytes * u64::from(WHOLE_PERMILLE) / u64::from(self.class.share_permille)
    }
}

/// Whose turn it is.
enum Choice {
    Nothing,
    /// Nobody before this time.
    Later(Nanos),
    WithinShare(usize),
    Borrows(usize),
}

/// Sharing by class at work.
pub(crate) struct ClassesQueue {
    queues: Vec<ClassQueue>,
    burst_bytes: u32,
    /// Queues by their length divided by their share.
    fattest: Fattest,
    /// `borrowed` of the class that borrowed last.
    lent: u64,
}

impl ClassesQueue {
    pub fn new(config: Classes) -> Self {
        assert!(!config.classes.is_empty(), "there is a class");
        assert!(config.classes.iter().all(|class| class.share_permille > 0), "no share of a class is 0");
        let sum: u64 = config.classes.iter().map(|class| u64::from(class.share_permille)).sum();
        assert!(sum <= u64::from(WHOLE_PERMILLE), "shares of classes add up to 1000 or less");
        let queue = |class| ClassQueue { class, packets: Line::default(), sent_at_share: None, borrowed: 0 };
        let fattest = Fattest::new(config.classes.len());
        let queues = config.classes.into_iter().map(queue).collect();
        ClassesQueue { queues, burst_bytes: config.burst_bytes, fattest, lent: 0 }
    }

    /// The class that has been within its share longest, or else the one that borrowed least.
    fn choose(&self, now: Nanos, rate_bps: u64) -> Choice {
        let waiting = || self.queues.iter().enumerate().filter(|(_, queue)| !queue.packets.is_empty());
        let from = |queue: &ClassQueue| queue.within_share_from(self.burst_bytes, rate_bps);
        let Some((first, queue)) = waiting().min_by_key(|(_, queue)| from(queue)) else { return Choice::Nothing };
        let within_share_from = from(queue);
        if within_share_from <= i128::from(now) {
            return Choice::WithinShare(first);
        }
        let borrower = waiting().filter(|(_, queue)| queue.class.borrow).min_by_key(|(_, queue)| queue.borrowed);
        borrower.map_or(Choice::Later(within_share_from as Nanos), |(number, _)| Choice::Borrows(number))
    }

    /// Takes a packet out; what is within the share of its class is charged to it.
    fn send<P>(&mut self, number: usize, borrows: bool, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        let queue = &mut self.queues[number];
        let Some(packet) = buffer.pop_front(&mut queue.packets) else { return Next::Nothing };
        let bytes = packet.item.size_bytes;
        if borrows {
            self.lent = queue.borrowed;
            queue.borrowed += queue.weighted(u64::from(bytes));
        } else {
            let begin = queue.sent_at_share.map_or(now, |sent| sent.max(now));
            queue.sent_at_share = Some(begin + queue.time_of(bytes, buffer.rate_bps));
        }
        self.fattest.set(number, queue.length());
        Next::Packet(packet)
    }
}

impl<P> Queue<P> for ClassesQueue {
    fn enqueue(&mut self, now: Nanos, packet: Waiting<P>, buffer: &mut Buffer<P>) {
        let number = usize::from(packet.item.class).min(self.queues.len() - 1);
        let lent = self.lent;
        let queue = &mut self.queues[number];
        if queue.packets.is_empty() {
            // Who had nothing to send has no claim to what others borrowed meanwhile.
            queue.borrowed = queue.borrowed.max(lent);
        }
        buffer.push_back(&mut queue.packets, packet);
        self.fattest.set(number, queue.length());
        self.fattest.make_room(now, buffer, |longest, buffer| {
            let queue = &mut self.queues[longest];
            (buffer.pop_back(&mut queue.packets), queue.length())
        });
    }

    fn dequeue(&mut self, now: Nanos, buffer: &mut Buffer<P>) -> Next<P> {
        match self.choose(now, buffer.rate_bps) {
            Choice::Nothing => Next::Nothing,
            Choice::Later(at) => Next::Later(at),
            Choice::WithinShare(number) => self.send(number, false, now, buffer),
            Choice::Borrows(number) => self.send(number, true, now, buffer),
        }
    }
}
