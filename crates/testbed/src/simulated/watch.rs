//! Who is told what happens to the connections of a simulated run.

use crate::error::Result;
use ccactl_link::Nanos;
use ccactl_sim::{FlowId, Observed, Sender, SenderEcn};
use std::net::SocketAddrV4;

/// What a connection is called.
pub struct Named {
    /// Of its flow, in place of a cgroup.
    pub cgroup_id: u64,
    /// Kernel name of its algorithm.
    pub algorithm: String,
    /// The sending end.
    pub local: SocketAddrV4,
    /// The other one.
    pub remote: SocketAddrV4,
    /// How its sender uses ECN.
    pub ecn: SenderEcn,
}

/// Who is told.
pub trait Watch {
    /// A connection that will be the next flow of the world.
    ///
    /// # Panics
    /// When the kernel would not take the name of its algorithm.
    fn add(&mut self, flow: FlowId, named: &Named);

    /// Something has happened to a flow.
    fn see(&mut self, seen: &Observed<'_>) -> Result<()>;

    /// A connection is over.
    fn close(&mut self, flow: FlowId, at_ns: Nanos, sender: &Sender) -> Result<()>;

    /// A connection has another algorithm.
    fn swapped(&mut self, flow: FlowId, at_ns: Nanos, sender: &Sender, algorithm: &str) -> Result<()>;

    /// What was noted so far.
    fn count(&self) -> u64;
}

/// Nobody: a run of which only the totals count.
pub struct Nobody;

impl Watch for Nobody {
    fn add(&mut self, _: FlowId, _: &Named) {}

    fn see(&mut self, _: &Observed<'_>) -> Result<()> {
        Ok(())
    }

    fn close(&mut self, _: FlowId, _: Nanos, _: &Sender) -> Result<()> {
        Ok(())
    }

    fn swapped(&mut self, _: FlowId, _: Nanos, _: &Sender, _: &str) -> Result<()> {
        Ok(())
    }

    fn count(&self) -> u64 {
        0
    }
}
