//! Which connections a transparent proxy takes: `10.0.0.0/8:80`, `192.0.2.7:443`, `[fd00::/64]:80`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// A port at the addresses of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    address: IpAddr,
    prefix_bits: u8,
    port: u16,
}

/// Not a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a prefix and a port, such as 10.0.0.0/8:80, 192.0.2.7:443 or [fd00::/64]:80, found {found:?}: {problem}"
)]
pub struct TargetError {
    found: String,
    problem: &'static str,
}

impl Target {
    /// A port at one address.
    #[must_use]
    pub fn new(address: IpAddr, port: u16) -> Self {
        Self { address, prefix_bits: if address.is_ipv4() { 32 } else { 128 }, port }
    }

    /// Whether connections to this address and port are meant.
    #[must_use]
    pub fn contains(&self, to: SocketAddr) -> bool {
        let same_family = self.address.is_ipv4() == to.is_ipv4();
        same_family && self.port == to.port() && (bits(self.address) ^ bits(to.ip())) & self.mask() == 0
    }

    /// Addresses of IPv4, or of IPv6.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// First address of the prefix.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    pub(crate) fn prefix_bits(&self) -> u8 {
        self.prefix_bits
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn mask(&self) -> u128 {
        // An IPv4 address is the upper bits.
        if self.prefix_bits == 0 { 0 } else { u128::MAX << (128 - u32::from(self.prefix_bits)) }
    }
}

/// An address as the upper bits of 128.
fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let refuse = |problem| TargetError { found: text.to_owned(), problem };
        let (prefix, port) = text.rsplit_once(':').ok_or_else(|| refuse("no port"))?;
        let port =
            port.parse().ok().filter(|port| *port != 0).ok_or_else(|| refuse("the port is not one of 1 to 65535"))?;
        let bracketed = prefix.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let (address, length) = match bracketed.unwrap_or(prefix).split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (bracketed.unwrap_or(prefix), None),
        };
        let address: IpAddr = if bracketed.is_some() {
            address.parse::<Ipv6Addr>().map(IpAddr::from).map_err(|_| refuse("not an IPv6 address in the brackets"))?
        } else {
            let address = address.parse().map_err(|_| refuse("not an address"))?;
            if matches!(address, IpAddr::V6(_)) {
                return Err(refuse("an IPv6 prefix stands in brackets"));
            }
            address
        };
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match length {
            None => longest,
            Some(length) => length
                .parse()
                .ok()
                .filter(|length| *length <= longest)
                .ok_or_else(|| refuse("the prefix is longer than the address"))?,
        };
        let target = Self { address, prefix_bits, port };
        if bits(address) & !target.mask() != 0 {
            return Err(refuse("the address has bits beyond its prefix"));
        }
        Ok(target)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{address}/{}:{}", self.prefix_bits, self.port),
            IpAddr::V6(address) => write!(f, "[{address}/{}]:{}", self.prefix_bits, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for (text, shown) in [
            ("10.0.0.0/8:80", "10.0.0.0/8:80"),
            ("192.0.2.7:443", "192.0.2.7/32:443"),
            ("0.0.0.0/0:80", "0.0.0.0/0:80"),
            ("[fd00::/64]:80", "[fd00::/64]:80"),
            ("[::/0]:1", "[::/0]:1"),
        ] {
            let target: Target = text.parse().unwrap();
            assert_eq!(target.to_string(), shown);
            assert_eq!(shown.parse(), Ok(target));
        }
    }

    #[test]
    fn each_mistake_has_its_own_words() {
        for (text, problem) in [
            ("10.0.0.0/8", "no port"),
            ("10.0.0.0/8:0", "the port is not one of 1 to 65535"),
            ("10.0.0.0/8:http", "the port is not one of 1 to 65535"),
            ("10.0.0.0/33:80", "the prefix is longer than the address"),
            ("10.0.0.1/8:80", "the address has bits beyond its prefix"),
            ("example.org:80", "not an address"),
            ("fd00::/64:80", "an IPv6 prefix stands in brackets"),
            ("[10.0.0.0/8]:80", "not an IPv6 address in the brackets"),
        ] {
            assert_eq!(text.parse::<Target>().unwrap_err().problem, problem, "{text}");
        }
    }

    #[test]
    fn a_target_is_the_whole_prefix_and_one_port() {
        let target: Target = "10.1.0.0/16:80".parse().unwrap();
        for (to, is_meant) in [
            ("10.1.0.0:80", true),
            ("10.1.255.255:80", true),
            ("10.2.0.0:80", false),
            ("10.1.0.0:81", false),
            ("[a01::]:80", false),
        ] {
            assert_eq!(target.contains(to.parse().unwrap()), is_meant, "{to}");
        }
        let all: Target = "[::/0]:80".parse().unwrap();
        assert!(all.contains("[2001:db8::1]:80".parse().unwrap()) && !all.contains("10.0.0.1:80".parse().unwrap()));
    }
}
