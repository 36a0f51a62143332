//! What the exporter says of itself and of ccactl on this host.

mod policies;
mod process;
mod programs;
mod recorder;

pub(crate) use policies::PolicyScan;
pub(crate) use process::show as show_process;
pub(crate) use programs::Programs;
pub(crate) use recorder::{show as show_recorder, show_build};
