//! What the BPF programs and user space agree on: the structs of `bpf/include/ccactl_abi.h`, the BPF objects compiled at
//! build time, and what those of the algorithms say about themselves.
//!
//! Nothing here talks to the kernel, so every other crate may depend on it.

pub mod about;
pub mod compile;
pub mod exit;
pub mod layout;
pub mod link_queue;
pub mod native;
pub mod objects;
pub mod registry;

pub use about::AboutError;
pub use objects::{ALGORITHMS, RECEIVERS};
pub use registry::{Algorithm, CLASSIC_ECN, EcnNeed, Elf, Family, Kind, Preset, TraceValue, Tunable, TunableError};
