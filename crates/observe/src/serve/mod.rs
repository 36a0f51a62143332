//! One live page of this host, for a browser: `ccactl serve`.
//!
//! ```text
//! live::Watch ──look──▶ ticker ──tick──▶ events (one stream per reader: its own order, its own search)
//! policies, canaries ──▶ surroundings ──┘
//! results folder ──▶ results (a list, and files read beneath the folder)
//! ```
//!
//! It changes nothing on the host. [`access`] says who may look, `pages` what there is to see.

pub mod access;
mod canaries;
mod error;
mod events;
mod groups;
mod pages;
mod results;
mod run;
mod surroundings;
mod tick;

pub use access::{Hosts, Token};
pub use error::{Error, Result};
pub use run::{Assets, Options, run};
