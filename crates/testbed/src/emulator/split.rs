//! Cuts what a device hands over into the packets that a wire would carry, as the kernel does for a device that cannot
//! (`inet_gso_segment` and `tcp_gso_segment`, net/ipv4/tcp_offload.c).

use super::frame::{HEADER_BYTES, TcpHeaders, VirtioHeader, seq, set_ip_word};
use super::header::{CWR, FIN, PSH, TCP_FLAGS};

/// The packets of a frame.
#[derive(Debug, Clone, Copy)]
pub struct Packets<'a> {
    frame: &'a [u8],
    cut: Option<Cut>,
}

/// How a frame is cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    headers: TcpHeaders,
    payload_bytes: usize,
    count: usize,
}

impl<'a> Packets<'a> {
    /// `None` for what is no frame or is to be cut in a way that nobody asked for.
    #[must_use]
    pub fn of(frame: &'a [u8]) -> Option<Packets<'a>> {
        let cut = VirtioHeader::read(frame)?.cut().ok()?;
        let cut = match cut {
            None => None,
            Some(payload_bytes) => {
                let headers = TcpHeaders::of(&frame[HEADER_BYTES..])?;
                let count = (frame.len() - HEADER_BYTES - headers.bytes).div_ceil(payload_bytes).max(1);
                Some(Cut { headers, payload_bytes, count })
            }
        };
        Some(Packets { frame, cut })
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cut.map_or(1, |cut| cut.count)
    }

    /// Writes packet `index` as a frame of its own, and gives its length; `None` when the slot is too small.
    pub fn write(&self, index: usize, slot: &mut [u8]) -> Option<usize> {
        let Some(Cut { headers, payload_bytes, count }) = self.cut else {
            slot.get_mut(..self.frame.len())?.copy_from_slice(self.frame);
            return Some(self.frame.len());
        };
        let is_last = index + 1 == count;
        let packet = &self.frame[HEADER_BYTES..];
        let payload = &packet[headers.bytes..];
        let payload = &payload[index * payload_bytes..payload.len().min((index + 1) * payload_bytes)];
        let bytes = HEADER_BYTES + headers.bytes + payload.len();
        let slot = slot.get_mut(..bytes)?;
        let (header, out) = slot.split_at_mut(HEADER_BYTES);
        header.copy_from_slice(&VirtioHeader::of_tcp(headers.ip_bytes).bytes());
        out[..headers.bytes].copy_from_slice(&packet[..headers.bytes]);
        out[headers.bytes..].copy_from_slice(payload);
        let id = u16::from_be_bytes([packet[4], packet[5]]);
        set_ip_word(out, 4, id.wrapping_add(index as u16));
        let tcp = headers.ip_bytes;
        let first = seq(packet, tcp);
        out[tcp + 4..tcp + 8].copy_from_slice(&first.wrapping_add((index * payload_bytes) as u32).to_be_bytes());
        if !is_last {
            out[tcp + TCP_FLAGS] &= !(FIN | PSH);
        }
        if index > 0 {
            out[tcp + TCP_FLAGS] &= !CWR;
        }
        headers.set_payload(out, payload.len());
        Some(bytes)
    }
}
