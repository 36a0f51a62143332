//! Addresses of the dumbbell. They exist only inside the testbed's own namespaces.

use std::net::Ipv4Addr;

/// The receiver's address.
pub const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);

/// Address of sender `index`.
#[must_use]
pub fn sender(index: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 200, 1, u8::try_from(index + 1).expect("a scenario has fewer flows"))
}

/// Which sender an address belongs to.
#[must_use]
pub fn sender_index(address: Ipv4Addr, senders: usize) -> Option<usize> {
    let [10, 200, 1, last] = address.octets() else { return None };
    let index = usize::from(last).checked_sub(1)?;
    (index < senders).then_some(index)
}

/// Destination of an IPv4 packet; `None` for anything else.
#[must_use]
pub fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    const HEADER_BYTES: usize = 20;
    if packet.len() < HEADER_BYTES || packet[0] >> 4 != 4 {
        return None;
    }
    Some(Ipv4Addr::new(packet[16], packet[17], packet[18], packet[19]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_is_found_again_by_its_address() {
        assert_eq!(sender_index(sender(0), 2), Some(0));
        assert_eq!(sender_index(sender(1), 2), Some(1));
        assert_eq!(sender_index(sender(2), 2), None);
        assert_eq!(sender_index(RECEIVER, 2), None);
        assert_eq!(sender_index(Ipv4Addr::new(10, 200, 1, 0), 2), None);
    }

    #[test]
    fn only_ipv4_packets_have_a_destination() {
        let mut packet = [0u8; 20];
        packet[0] = 0x45;
        packet[16..].copy_from_slice(&[10, 200, 0, 1]);
        assert_eq!(destination(&packet), Some(RECEIVER));
        packet[0] = 0x60;
        assert_eq!(destination(&packet), None);
        assert_eq!(destination(&packet[..10]), None);
    }
}
