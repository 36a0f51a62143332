//! What leaves in this turn of the engine: a bundle for each connection, as a receiving device keeps several (`MAX_GRO_SKBS`,
//! include/linux/netdevice.h).

use super::bundle::{self, Bundle};
use super::pool::{Packet, Pool};
use ccactl_link::Nanos;
use ccactl_link::network::Way;

/// Connections whose packets may be bundled at a time.
const MOST_BUNDLES: usize = 16;

/// When a packet was due, and what it says of the bottleneck's rate.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    pub due: Nanos,
    pub way: Way,
    pub back_to_back: Option<bool>,
}

/// What leaves in one write.
pub struct Leaving<K> {
    /// Device and connection.
    pub key: K,
    pub bundle: Bundle,
    /// Of each of its packets.
    pub plans: Vec<Plan>,
}

/// Bundles in the order in which they were begun.
pub struct Outbox<K> {
    /// Those from `open` on are empty.
    bundles: Vec<Leaving<K>>,
    open: usize,
    /// Packets that are due further apart are not bundled.
    spread: Nanos,
}

impl<K: Copy + PartialEq> Outbox<K> {
    /// With room for all that it may get; `key` is any.
    pub fn new(spread: Nanos, key: K) -> Outbox<K> {
        let plans = || Vec::with_capacity(bundle::MOST_PACKETS);
        let bundles = (0..MOST_BUNDLES).map(|_| Leaving { key, bundle: Bundle::new(), plans: plans() }).collect();
        Outbox { bundles, open: 0, spread }
    }

    /// Adds a packet. When a bundle has to leave before that, it gives its number and takes nothing.
    pub fn add(&mut self, pool: &Pool, key: K, packet: Packet, plan: Plan) -> Result<(), usize> {
        let known = self.bundles[..self.open].iter().position(|leaving| leaving.key == key);
        let number = known.unwrap_or(self.open);
        if number == MOST_BUNDLES {
            return Err(0);
        }
        let leaving = &mut self.bundles[number];
        let is_apart = leaving.plans.first().is_some_and(|first| plan.due.abs_diff(first.due) > self.spread);
        if is_apart || !leaving.bundle.add(pool, packet) {
            return Err(number);
        }
        leaving.key = key;
        leaving.plans.push(plan);
        self.open = self.open.max(number + 1);
        Ok(())
    }

    /// How many have packets.
    pub fn count(&self) -> usize {
        self.open
    }

    /// The one with that number, which is to be emptied, and comes after all that have packets.
    pub fn take(&mut self, number: usize) -> &mut Leaving<K> {
        self.bundles[number..self.open].rotate_left(1);
        self.open -= 1;
        &mut self.bundles[self.open]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanos = 50;

    fn plan(due: Nanos) -> Plan {
        Plan { due, way: Way::Up, back_to_back: None }
    }

    /// A packet that is no TCP, so that it leaves alone.
    fn packet(pool: &mut Pool) -> Packet {
        pool.take(|slot| {
            slot[..30].fill(0);
            Some(30)
        })
        .unwrap()
    }

    fn empty(outbox: &mut Outbox<u32>, number: usize) -> (u32, Vec<Nanos>) {
        let leaving = outbox.take(number);
        leaving.bundle.drain().for_each(drop);
        (leaving.key, leaving.plans.drain(..).map(|plan| plan.due).collect())
    }

    #[test]
    fn a_packet_that_cannot_join_those_of_its_connection_names_what_has_to_leave() {
        let mut pool = Pool::new(40, 100);
        let mut outbox = Outbox::new(TICK, 0);
        for key in 0..3 {
            let packet = packet(&mut pool);
            assert_eq!(outbox.add(&pool, key, packet, plan(u64::from(key))), Ok(()));
        }
        let second = packet(&mut pool);
        assert_eq!(outbox.add(&pool, 1, second, plan(9)), Err(1));
        assert_eq!(empty(&mut outbox, 1), (1, vec![1]));
        assert_eq!(outbox.add(&pool, 1, second, plan(9)), Ok(()));
        // Now it was begun last.
        let rest: Vec<u32> = (0..outbox.count()).map(|_| empty(&mut outbox, 0).0).collect();
        assert_eq!((rest, outbox.count()), (vec![0, 2, 1], 0));
    }

    #[test]
    fn the_oldest_leaves_when_there_is_no_room_for_another_connection() {
        let mut pool = Pool::new(40, 100);
        let mut outbox = Outbox::new(TICK, 0);
        for key in 0..MOST_BUNDLES as u32 {
            let packet = packet(&mut pool);
            assert_eq!(outbox.add(&pool, key, packet, plan(0)), Ok(()));
        }
        let more = packet(&mut pool);
        assert_eq!(outbox.add(&pool, 99, more, plan(0)), Err(0));
        assert_eq!(empty(&mut outbox, 0).0, 0);
        assert_eq!(outbox.add(&pool, 99, more, plan(0)), Ok(()));
    }
}
