//! One rtnetlink request and its acknowledgement: all that the testbed needs to make devices and queues.

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use std::io;
use std::os::fd::AsRawFd;

/// `struct nlmsghdr`.
const HEADER_BYTES: usize = 16;
const ALIGNMENT: usize = 4;

/// `struct ifinfomsg`: family, padding, type; index; flags; which flags to change.
pub(super) fn link_header(index: u32, flags: u32) -> Vec<u8> {
    [0, index, flags, flags].iter().flat_map(|field: &u32| field.to_ne_bytes()).collect()
}

/// A request under construction. Attributes are `struct nlattr`: length, kind, value, padding.
pub(super) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// `kind` is one of `RTM_…`, `flags` are those beside `NLM_F_REQUEST | NLM_F_ACK`, `header` is the family's own struct.
    pub(super) fn new(kind: u16, flags: libc::c_int, header: &[u8]) -> Self {
        let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags;
        let mut bytes = Vec::new();
        // The length comes when all is there.
        bytes.extend(0u32.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((flags as u16).to_ne_bytes());
        bytes.extend(1u32.to_ne_bytes());
        bytes.extend(0u32.to_ne_bytes());
        debug_assert_eq!(bytes.len(), HEADER_BYTES);
        bytes.extend(header);
        Self { bytes }
    }

    /// Adds an attribute.
    pub(super) fn attribute(self, kind: u16, value: &[u8]) -> Self {
        self.nested(kind, |mut inner| {
            inner.bytes.extend(value);
            inner
        })
    }

    /// Adds an attribute whose value is made of others, or of a struct and others.
    pub(super) fn nested(mut self, kind: u16, content: impl FnOnce(Self) -> Self) -> Self {
        let start = self.bytes.len();
        self.bytes.extend(0u16.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        let mut filled = content(self);
        let length = (filled.bytes.len() - start) as u16;
        filled.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        filled.bytes.resize(filled.bytes.len().next_multiple_of(ALIGNMENT), 0);
        filled
    }

    /// Adds a struct in the middle of a nested attribute.
    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// Has the kernel carry it out in the network namespace of the calling thread.
    pub(super) fn send(mut self) -> io::Result<()> {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        send(socket.as_raw_fd(), &self.bytes, MsgFlags::empty())?;
        let mut answer = [0u8; 4096];
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        acknowledged(&answer[..length])
    }
}

/// An acknowledgement is an error message with errno 0.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "rtnetlink: malformed answer");
    let kind = answer.get(4..6).ok_or_else(malformed)?;
    let errno = answer.get(HEADER_BYTES..HEADER_BYTES + 4).ok_or_else(malformed)?;
    if i32::from(u16::from_ne_bytes([kind[0], kind[1]])) != libc::NLMSG_ERROR {
        return Err(malformed());
    }
    match i32::from_ne_bytes([errno[0], errno[1], errno[2], errno[3]]) {
        0 => Ok(()),
        negative => Err(io::Error::from_raw_os_error(-negative)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_an_outer_one_counts_the_padding_of_the_inner() {
        let request = Request::new(16, 0, &[]).nested(18, |inner| inner.attribute(1, b"veth\0"));
        // Inner: 4 + 5 = 9, padded to 12; outer: 4 + 12.
        assert_eq!(request.bytes[HEADER_BYTES..], [16, 0, 18, 0, 9, 0, 1, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0]);
    }

    #[test]
    fn a_refusal_is_an_error_with_its_errno() {
        let mut answer = vec![0; HEADER_BYTES];
        answer[4..6].copy_from_slice(&(libc::NLMSG_ERROR as u16).to_ne_bytes());
        answer.extend((-libc::EEXIST).to_ne_bytes());
        assert_eq!(acknowledged(&answer).unwrap_err().raw_os_error(), Some(libc::EEXIST));
        answer.truncate(HEADER_BYTES);
        answer.extend(0i32.to_ne_bytes());
        assert!(acknowledged(&answer).is_ok());
        assert!(acknowledged(&answer[..8]).is_err());
    }
}
