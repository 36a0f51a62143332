//! `ccactl bench` on the real kernel: figures, bad input, and that nothing is left behind however it ends.
//!
//! The machine may be busy: figures are held to wide limits, and no test asks a run to be valid.

#[allow(dead_code, reason = "shared with the tests of the loader's commands")]
#[path = "../cli_loader/host.rs"]
mod host;

#[allow(dead_code, reason = "shared with the tests of the lab")]
#[path = "../../../lab/tests/needs/mod.rs"]
mod needs;

mod disturbed;
mod ends;
mod evaluate;
mod figures;
mod input;
mod leftovers;
mod mptcp;
mod netem;
mod own_files;
mod paths;
mod proxy;
mod scenario;
mod search;
mod suite;
mod swaps;
