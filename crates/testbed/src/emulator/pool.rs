//! Memory for packets, allocated before the first one comes.

use super::frame::HEADER_BYTES;

/// Slots that are mapped before the first packet comes. Those used last are used again first, so that more are rarely needed.
const TOUCHED_SLOTS: usize = 20_000;

/// A packet in a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    slot: u32,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
}

/// Slots of one size with a list of the free ones. A slot holds a [frame](super::frame).
pub struct Pool {
    memory: Vec<u8>,
    slot_bytes: usize,
    free: Vec<u32>,
    /// How often each is held.
    holders: Vec<u32>,
}

impl Pool {
    /// `slots` packets of at most `mtu` bytes.
    pub fn new(slots: usize, mtu: usize) -> Self {
        let slot_bytes = (HEADER_BYTES + mtu).next_multiple_of(64);
        let mut memory = vec![0; slots * slot_bytes];
        // Zeroed memory is mapped when it is first written: what a busy run needs is now, what idle paths might need never is.
        memory[..slots.min(TOUCHED_SLOTS) * slot_bytes].fill(0xa5);
        let free = (0..u32::try_from(slots).expect("far fewer slots than 2^32")).rev().collect();
        Pool { memory, slot_bytes, free, holders: vec![0; slots] }
    }

    /// Takes a free slot and lets `write` put a frame into it, whose length it gives.
    ///
    /// `None` when no slot is free or the frame does not fit.
    pub fn take(&mut self, write: impl FnOnce(&mut [u8]) -> Option<usize>) -> Option<Packet> {
        let slot = *self.free.last()?;
        let start = slot as usize * self.slot_bytes;
        let frame_bytes = write(&mut self.memory[start..start + self.slot_bytes])?;
        self.free.pop();
        self.holders[slot as usize] = 1;
        Some(Packet { slot, bytes: frame_bytes.checked_sub(HEADER_BYTES)? as u32 })
    }

    /// Whether every slot is taken.
    pub fn is_exhausted(&self) -> bool {
        self.free.is_empty()
    }

    /// The packet with its virtio header.
    pub fn frame(&self, packet: Packet) -> &[u8] {
        let start = packet.slot as usize * self.slot_bytes;
        &self.memory[start..start + HEADER_BYTES + packet.bytes as usize]
    }

    /// The bytes of a packet.
    pub fn bytes(&self, packet: Packet) -> &[u8] {
        &self.frame(packet)[HEADER_BYTES..]
    }

    /// The bytes of a packet, to be changed.
    pub fn bytes_mut(&mut self, packet: Packet) -> &mut [u8] {
        let start = packet.slot as usize * self.slot_bytes + HEADER_BYTES;
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

    /// Ten bytes of header and two of a packet.
    fn write(slot: &mut [u8]) -> Option<usize> {
        slot[..12].copy_from_slice(b"0123456789ab");
        Some(12)
    }

    #[test]
    fn slots_are_kept_until_released_and_then_used_again() {
        let mut pool = Pool::new(1, 4);
        let packet = pool.take(write).unwrap();
        assert_eq!((pool.bytes(packet), pool.frame(packet)), (&b"ab"[..], &b"0123456789ab"[..]));
        assert!(pool.is_exhausted() && pool.take(write).is_none(), "the only slot is taken");
        pool.release(packet);
        assert!(pool.take(|_| None).is_none());
        assert!(pool.take(write).is_some(), "nothing was taken for a packet that did not fit");
    }

    #[test]
    fn a_slot_is_free_when_nobody_holds_it() {
        let mut pool = Pool::new(1, 4);
        let packet = pool.take(write).unwrap();
        pool.hold(packet);
        pool.release(packet);
        assert!(pool.is_exhausted());
        pool.release(packet);
        assert!(pool.take(write).is_some());
    }
}
