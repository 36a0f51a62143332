//! Sets the root queue discipline of a device: one rtnetlink request.

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use std::io;
use std::os::fd::AsRawFd;

const NLMSG_HEADER_BYTES: usize = 16;
const TCMSG_BYTES: usize = 20;
const TC_H_ROOT: u32 = 0xffff_ffff;

/// Replaces the root queue of `device` (in the caller's network namespace) by a plain FIFO of `limit` packets.
pub fn set_root_pfifo(device: &str, limit_packets: u32) -> io::Result<()> {
    let index = nix::net::if_::if_nametoindex(device)?;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    send(socket.as_raw_fd(), &request(index, limit_packets), MsgFlags::empty())?;
    let mut answer = [0u8; 4096];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    acknowledged(&answer[..length])
}

fn request(index: u32, limit_packets: u32) -> Vec<u8> {
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
    let mut message = Vec::new();
    // struct nlmsghdr; the length comes last.
    message.extend(0u32.to_ne_bytes());
    message.extend(libc::RTM_NEWQDISC.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    message.extend(1u32.to_ne_bytes());
    message.extend(0u32.to_ne_bytes());
    // struct tcmsg: family and padding, device, handle, parent, info.
    for field in [0, index, 0, TC_H_ROOT, 0] {
        message.extend(field.to_ne_bytes());
    }
    debug_assert_eq!(message.len(), NLMSG_HEADER_BYTES + TCMSG_BYTES);
    push_attribute(&mut message, libc::TCA_KIND, b"pfifo\0");
    // struct tc_fifo_qopt: the limit.
    push_attribute(&mut message, libc::TCA_OPTIONS, &limit_packets.to_ne_bytes());
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message
}

fn push_attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend((4 + value.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// An acknowledgement is an error message with errno 0.
fn acknowledged(answer: &[u8]) -> io::Result<()> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "rtnetlink: malformed answer");
    let kind = answer.get(4..6).ok_or_else(malformed)?;
    let errno = answer.get(NLMSG_HEADER_BYTES..NLMSG_HEADER_BYTES + 4).ok_or_else(malformed)?;
    if i32::from(u16::from_ne_bytes([kind[0], kind[1]])) != libc::NLMSG_ERROR {
        return Err(malformed());
    }
    match i32::from_ne_bytes([errno[0], errno[1], errno[2], errno[3]]) {
        0 => Ok(()),
        negative => Err(io::Error::from_raw_os_error(-negative)),
    }
}
