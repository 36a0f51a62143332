//! A scripted path: one socket, one bottleneck, virtual time, ACK by ACK.
//!
//! [`Flow`] is a small model of the kernel's sender, detailed enough for the algorithms' tests. It has rate samples
//! (`net/ipv4/tcp_rate.c`), loss marking after three later deliveries, PRR for algorithms that have only `cong_avoid`,
//! retransmission timeout, pacing, TSO bursts, cwnd-limited tracking. The receiver acknowledges every packet at once,
//! or several together ([`Flow::set_ack_every`]).
//! Nothing is random but what [`Link::loss_ppm`] asks for, so the same script always gives the same result.

mod acks;
mod link;
mod sender;

pub use link::{Link, WIRE_BYTES};
pub use sender::{Flow, Stats};
