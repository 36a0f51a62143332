//! What the kernel's own queue disciplines make of a scenario: which namespaces, cables, routes and queues it becomes, as commands of
//! iproute2, or what of it the kernel cannot do. No system call: [`crate::bench`] carries the plan out.
//!
//! ```text
//!   host0 ──┐                                                              data of uploads ──▶
//!           access ──────── near ════════════ far ──────── server
//!   host1 ──┘                  tbf ▶        ◀ tbf
//!     ◀ netem: extra_rtt    ◀ netem: wire      netem: wire ▶
//! ```
//!
//! The bottleneck is the cable between `near` and `far`: a token bucket with the discipline below it, or one discipline in BPF, in each
//! direction that has a transmitter. What happens after the transmission (delay, jitter, loss) happens one cable further on, so that packets on the wire
//! neither count as queued nor take room in the buffer.

mod bpf;
mod layout;
mod need;
mod plan;
mod queue;
mod shaper;
mod wire;

pub use bpf::config as bpf_config;
pub use layout::{Addresses, HOST_DEVICE, Node};
pub use need::Need;
pub use plan::{Direction, Line, Plan, Tool, Transmitter, Watched};
