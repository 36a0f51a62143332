//! Sets the root queue discipline of a device: one rtnetlink request.

use super::netlink::Request;
use std::io;

const TC_H_ROOT: u32 = 0xffff_ffff;
/// `struct tc_ratespec`: the kernel counts the bytes of Ethernet frames by itself.
const TC_LINKLAYER_ETHERNET: u8 = 1;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_BURST: u16 = 6;

/// Replaces the root queue of `device` (in the caller's network namespace) by a plain FIFO of `limit` packets.
pub fn set_root_pfifo(device: &str, limit_packets: u32) -> io::Result<()> {
    // struct tc_fifo_qopt: the limit.
    root(device, b"pfifo\0")?.attribute(libc::TCA_OPTIONS, &limit_packets.to_ne_bytes()).send()
}

/// A bottleneck: the root queue of `device` becomes a token bucket of `rate_bytes_per_s` that drops what finds more than
/// `limit_bytes` queued.
pub fn set_root_tbf(device: &str, rate_bytes_per_s: u32, burst_bytes: u32, limit_bytes: u32) -> io::Result<()> {
    // struct tc_tbf_qopt: two struct tc_ratespec (rate and no peak rate), limit, buffer (follows from the burst), mtu.
    let mut parameters = vec![0, TC_LINKLAYER_ETHERNET];
    parameters.extend([0; 6]);
    parameters.extend(rate_bytes_per_s.to_ne_bytes());
    parameters.extend([0; 12]);
    for field in [limit_bytes, 0, 0] {
        parameters.extend(field.to_ne_bytes());
    }
    root(device, b"tbf\0")?
        .nested(libc::TCA_OPTIONS, |inner| {
            inner.attribute(TCA_TBF_PARMS, &parameters).attribute(TCA_TBF_BURST, &burst_bytes.to_ne_bytes())
        })
        .send()
}

fn root(device: &str, kind: &[u8]) -> io::Result<Request> {
    let index = nix::net::if_::if_nametoindex(device)?;
    let mut header = Vec::new();
    // struct tcmsg: family and padding, device, handle, parent, info.
    for field in [0, index, 0, TC_H_ROOT, 0] {
        header.extend(field.to_ne_bytes());
    }
    let request = Request::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &header);
    Ok(request.attribute(libc::TCA_KIND, kind))
}
