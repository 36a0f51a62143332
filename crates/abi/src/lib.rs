//! What the BPF programs and user space agree on: the registry of algorithms, the structs of
//! `bpf/include/ccactl_abi.h` and the BPF objects compiled at build time.
//!
//! Nothing here talks to the kernel, so every other crate may depend on it.

pub mod algorithms;
pub mod exit;
pub mod layout;
pub mod native;
pub mod objects;
pub mod registry;
mod tunable;

pub use algorithms::ALGORITHMS;
pub use registry::{Algorithm, Family, TraceValue, Tunable, TunableError};
