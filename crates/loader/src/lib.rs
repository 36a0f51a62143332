//! Registers algorithms with the kernel and gives them to cgroups.
//!
//! All state lives in the kernel and in bpffs (`docs/host-state.md`): the policies are the
//! roots, and whatever no policy refers to is garbage. Every operation that changes something collects the garbage
//! before and after its own work, so a `ccactl` that was killed between two steps is cleaned up by the next one.
//!
//! ```no_run
//! use ccactl_loader::{Choice, LoadRequest, Loader};
//!
//! # fn main() -> Result<(), ccactl_loader::Error> {
//! let loader = Loader::open()?;
//! let choice = Choice::parse("f-bbrv2", &[], None)?;
//! let outcome = loader.load(&LoadRequest::new(choice, "/bench").create(true))?;
//! println!("{} has {}", outcome.cgroup.display(), outcome.kernel_name);
//! loader.unload("/bench".as_ref())?;
//! # Ok(())
//! # }
//! ```

mod bpffs;
mod canary;
mod census;
pub mod cgroup;
mod change;
mod ect1;
mod error;
#[cfg(feature = "fault-injection")]
pub mod fault;
#[cfg(not(feature = "fault-injection"))]
mod fault;
pub mod fleet;
mod held;
mod history;
mod lease;
mod libbpf_log;
mod link_queue;
mod loader;
mod mended;
mod migrate;
mod names;
mod netns;
mod object;
mod outcome;
mod paths;
mod policy;
mod policy_state;
mod preflight;
mod probe;
mod receive;
mod receiving;
mod recover;
mod registration;
mod request;
mod run;
mod sockets;
mod source;
mod status;
mod stored;
mod struct_ops;
mod swap;
mod time;
mod transient;
mod unload;

pub use bpffs::mount_if_missing as mount_bpffs_if_missing;
pub use canary::Canary;
pub use census::{Census, PolicyCensus};
pub use ect1::Ect1;
pub use error::{Error, NameProblem};
pub use held::HeldAlgorithm;
pub use link_queue::LinkQueue;
pub use loader::{Change, LoadOutcome, Loader};
pub use names::{exact_name, nearest, pick_algorithm, pick_either, plain_name, settle_algorithm};
pub use outcome::{Counts, SwapOutcome, Verification};
pub use paths::Paths;
pub use probe::ProbeResult;
pub use receive::{ReceiveChange, ReceiveOutcome, ReceiveRequest, ReceiverSockets, ReceiverState, ReceiverStatus};
pub use receiving::ReceivingCgroup;
pub use request::{Choice, LoadRequest, Loadable};
pub use sockets::{SocketOutcome, SocketReport};
pub use source::{is_file, source_of};
pub use status::{CanaryStatus, FormerPolicy, PolicyStatus, RegisteredAlgorithm, State, TunableSetting};
pub use swap::{RollbackOutcome, SwapRequest, SwapScope};
pub use transient::TransientCgroup;
pub use unload::{UnloadOptions, UnloadOutcome};
