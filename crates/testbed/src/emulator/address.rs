//! Addresses of the hosts. They exist only inside the testbed's own namespaces.

use std::net::Ipv4Addr;

/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);

/// Addresses of a proxy's two devices: towards the hosts, towards the server.
pub const PROXY: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 200, 2, 1), Ipv4Addr::new(10, 200, 2, 2)];

/// Hosts that are made here, each with a namespace: their addresses are below 10.200.1.0/24.
pub const MOST_HOSTS: usize = 200;

/// Address of the host at the other end of path `index`: that of a flow or of a UDP source. Beyond [`MOST_HOSTS`] they are in the
/// simulator only.
#[must_use]
pub fn host(index: usize) -> Ipv4Addr {
    match u8::try_from(index + 1) {
        Ok(number) => Ipv4Addr::new(10, 200, 1, number),
        Err(_) => Ipv4Addr::from_bits(Ipv4Addr::new(10, 201, 0, 0).to_bits() + index as u32),
    }
}

/// Which path leads to an address.
#[must_use]
pub fn host_index(address: Ipv4Addr, hosts: usize) -> Option<usize> {
    let [10, 200, 1, last] = address.octets() else { return None };
    let index = usize::from(last).checked_sub(1)?;
    (index < hosts).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_found_again_by_its_address() {
        assert_eq!(host_index(host(0), 2), Some(0));
        assert_eq!(host_index(host(1), 2), Some(1));
        assert_eq!(host_index(host(2), 2), None);
        assert_eq!(host_index(SERVER, 2), None);
        let all: std::collections::BTreeSet<Ipv4Addr> = (0..20_000).map(host).collect();
        assert_eq!((all.len(), host(299)), (20_000, Ipv4Addr::new(10, 201, 1, 43)));
        assert_eq!(host_index(Ipv4Addr::new(10, 200, 1, 0), 2), None);
    }
}
