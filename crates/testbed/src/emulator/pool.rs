//! Memory for packets, allocated and touched before the first one comes.

/// A packet in a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    slot: u32,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
}

/// Slots of one size with a list of the free ones.
pub struct Pool {
    memory: Vec<u8>,
    slot_bytes: usize,
    free: Vec<u32>,
    /// How often each is held.
    holders: Vec<u32>,
}

impl Pool {
    /// `slots` packets of at most `slot_bytes`.
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        // A value other than zero: zeroed memory would only be mapped when a packet first needs it.
        let memory = vec![0xa5; slots * slot_bytes];
        let free = (0..u32::try_from(slots).expect("far fewer slots than 2^32")).rev().collect();
        Pool { memory, slot_bytes, free, holders: vec![0; slots] }
    }

    /// Takes a free slot and lets `fill` write a packet into it. The slot stays free when `fill` gives nothing.
    ///
    /// `None` when no slot is free.
    pub fn fill<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<Option<usize>, E>,
    ) -> Option<Result<Option<Packet>, E>> {
        let slot = *self.free.last()?;
        let start = slot as usize * self.slot_bytes;
        let result = fill(&mut self.memory[start..start + self.slot_bytes]);
        Some(result.map(|length| {
            length.map(|bytes| {
                self.free.pop();
                self.holders[slot as usize] = 1;
                Packet { slot, bytes: bytes as u32 }
            })
        }))
    }

    /// The bytes of a packet.
    pub fn bytes(&self, packet: Packet) -> &[u8] {
        let start = packet.slot as usize * self.slot_bytes;
        &self.memory[start..start + packet.bytes as usize]
    }

    /// The bytes of a packet, to be changed.
    pub fn bytes_mut(&mut self, packet: Packet) -> &mut [u8] {
        let start = packet.slot as usize * self.slot_bytes;
        &mut self.memory[start..start + packet.bytes as usize]
    }

    /// Holds a packet once more: it has to be released once more too.
    pub fn hold(&mut self, packet: Packet) {
        self.holders[packet.slot as usize] += 1;
    }

    /// Gives the slot of a packet back, once for each time that it is held.
    pub fn release(&mut self, packet: Packet) {
        let holders = &mut self.holders[packet.slot as usize];
        *holders -= 1;
        if *holders == 0 {
            self.free.push(packet.slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_kept_until_released_and_then_used_again() {
        let mut pool = Pool::new(1, 4);
        let fill = |slot: &mut [u8]| {
            slot[..2].copy_from_slice(b"ab");
            Ok::<_, ()>(Some(2))
        };
        let packet = pool.fill(fill).unwrap().unwrap().unwrap();
        assert_eq!(pool.bytes(packet), b"ab");
        assert!(pool.fill(fill).is_none(), "the only slot is taken");
        pool.release(packet);
        assert!(matches!(pool.fill(|_| Ok::<_, ()>(None)), Some(Ok(None))));
        assert!(pool.fill(fill).is_some(), "nothing was taken for a packet that did not come");
    }

    #[test]
    fn a_slot_is_free_when_nobody_holds_it() {
        let mut pool = Pool::new(1, 4);
        let fill = |_: &mut [u8]| Ok::<_, ()>(Some(2));
        let packet = pool.fill(fill).unwrap().unwrap().unwrap();
        pool.hold(packet);
        pool.release(packet);
        assert!(pool.fill(fill).is_none());
        pool.release(packet);
        assert!(pool.fill(fill).is_some());
    }
}
