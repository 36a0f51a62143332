//! What this kernel can load: every algorithm is loaded and registered for a moment under a name of its own.

use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::object::{self, Settings};
use ccactl_abi::{ALGORITHMS, Algorithm};
use libbpf_rs::{MapCore, MapType};
use std::process;

/// Verdict on one algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// Row of the registry.
    pub algorithm: &'static Algorithm,
    /// Why not, when it does not load.
    pub problem: Option<String>,
}

impl Loader {
    /// Tries every algorithm. No socket can get one of them, and nothing is pinned.
    #[must_use]
    pub fn probe(&self) -> Vec<ProbeResult> {
        let verdict = |(index, algorithm): (usize, &'static Algorithm)| {
            // "cp" + process id in hexadecimal + index: unique on the host, and never over 15 bytes.
            let scratch = format!("cp{:x}_{index}", process::id());
            let problem = self.try_algorithm(algorithm, &scratch).err().map(|error| problem_text(&error));
            ProbeResult { algorithm, problem }
        };
        ALGORITHMS.iter().enumerate().map(verdict).collect()
    }

    fn try_algorithm(&self, algorithm: &'static Algorithm, scratch: &str) -> Result<()> {
        let settings = Settings { algorithm, kernel_name: scratch, tunables: &[], trace_pin: None };
        let mut object = object::load(&settings, self.kernel)?;
        let mut table = object
            .maps_mut()
            .find(|map| map.map_type() == MapType::StructOps)
            .expect("the name was set in this very table");
        table.attach_struct_ops().map(drop).map_err(Error::bpf("the kernel refuses to register it"))
    }
}

fn problem_text(error: &Error) -> String {
    match error {
        Error::Load { detail, .. } => detail.clone(),
        Error::Bpf { what, source } => format!("{what}: {source}"),
        other => other.to_string(),
    }
}
