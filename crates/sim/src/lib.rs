//! The simulator: Linux' TCP as far as congestion control sees it, in virtual time, around the C source of the algorithms.
//!
//! [`World`] has a network of `ccactl-link` and flows. Each flow is a [`Sender`], whose algorithm is a `ccactl_native::Socket`,
//! and a [`Receiver`]. Nothing here reads a clock or calls the kernel: the same world gives the same packets each time.
//!
//! The parts follow Linux 6.18, and each names its file there. What is not modelled:
//! - The end of a connection: no FIN leaves, a flow that ends is gone.
//! - Small queues (`tcp_small_queue_check`): a sender's own device takes what it is given at once, as the testbed's does.
//! - An application that does not read, and a window of less than a segment.
//! - Path MTU, urgent data, reneging receivers, connections without SACK or timestamps.

mod application;
mod board;
mod events;
mod receiver;
mod segment;
mod slab;
mod tcp;
mod wheel;
mod window;
mod world;

pub use application::{Data, NextPiece, Piece};
pub use receiver::{EcnFeedback, Receiver, ReceiverConfig};
pub use segment::{Ack, Block, HEADER_BYTES, Segment};
pub use tcp::{Remembered, Sender, SenderConfig, SenderEcn, Totals};
pub use window::ReceiveBuffer;
pub use world::{FlowConfig, FlowId, Moment, Observed, Opening, SourceConfig, SourceCount, World};

/// Nanoseconds of virtual time.
pub type Nanos = u64;
