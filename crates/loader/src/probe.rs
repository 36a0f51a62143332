//! What this kernel can load: every algorithm is loaded, and those that send are registered for a moment under a name of their own.

use crate::error::{Error, Result};
use crate::loader::Loader;
use crate::object;
use crate::receive;
use crate::request::Loadable;
use ccactl_abi::{ALGORITHMS, Algorithm, CLASSIC_ECN, Kind, RECEIVERS};
use libbpf_rs::{MapCore, MapType, Object};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Verdict on one algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// Row of the registry.
    pub algorithm: &'static Algorithm,
    /// Why not, when it does not load.
    pub problem: Option<String>,
    /// It loads, but only as [`CLASSIC_ECN`] has it: this kernel has no Accurate ECN.
    pub classic_ecn: bool,
}

impl Loader {
    /// Tries every algorithm, those that send and then those that receive. No socket can get one of them, and nothing is pinned.
    #[must_use]
    pub fn probe(&self) -> Vec<ProbeResult> {
        let verdict = |(index, algorithm): (usize, &'static Algorithm)| {
            // "cp" + process id in hexadecimal + index: unique on the host, and never over 15 bytes.
            let kernel_name = format!("cp{:x}_{index}", process::id());
            let scratch = Loadable { algorithm, kernel_name, tunables: Vec::new() };
            let classic = algorithm.tunable(CLASSIC_ECN).map(|switch| (switch, 1));
            let (tried, classic_ecn) = match (self.try_algorithm(&scratch), classic) {
                (Err(Error::NoAccEcn { .. }), Some(classic)) => {
                    (self.try_algorithm(&Loadable { tunables: vec![classic], ..scratch }), true)
                }
                (tried, _) => (tried, false),
            };
            ProbeResult { algorithm, problem: tried.err().map(|error| problem_text(&error)), classic_ecn }
        };
        ALGORITHMS.iter().chain(RECEIVERS.iter()).enumerate().map(verdict).collect()
    }

    fn try_algorithm(&self, scratch: &Loadable) -> Result<()> {
        if scratch.algorithm.kind == Kind::Receive {
            return receive::verify(scratch);
        }
        let mut object = object::load(scratch, None, self.kernel)?;
        register_for_a_moment(&mut object).map_err(Error::bpf("the kernel refuses to register it"))
    }

    /// Tries an object file that is not of the registry, such as one that is being written. `object_name` is what errors
    /// call it. No socket can get the algorithm, and nothing is pinned. Returns the kernel name that the object has.
    ///
    /// # Errors
    /// The object's mistake: no tcp_congestion_ops, a bad name, what the verifier refuses, a callback that is missing.
    pub fn probe_object(&self, object_name: &str, elf: &[u8]) -> Result<String> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let scratch = format!("cp{:x}_o{:x}", process::id(), SERIAL.fetch_add(1, Ordering::Relaxed) & 0xfff);
        let (mut object, name) = object::load_foreign(object_name, elf, &scratch, self.kernel)?;
        let found = object::filled_members(&object, &self.paths.btf);
        // The kernel's answer to a table with a hole is a bare EINVAL.
        if let Some(missing) = missing_callback(&found) {
            let found = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
            return Err(Error::Incomplete { object: object_name.to_owned(), missing: missing.to_owned(), found });
        }
        register_for_a_moment(&mut object)
            .map_err(|source| Error::Refused { object: object_name.to_owned(), source })?;
        Ok(name)
    }
}

/// What `tcp_validate_congestion_control()` would miss.
fn missing_callback(found: &[String]) -> Option<&'static str> {
    let has = |name: &str| found.iter().any(|found| found == name);
    if !has("ssthresh") {
        Some("ssthresh")
    } else if !has("undo_cwnd") {
        Some("undo_cwnd")
    } else if !has("cong_avoid") && !has("cong_control") {
        Some("cong_avoid and no cong_control")
    } else {
        None
    }
}

fn register_for_a_moment(object: &mut Object) -> libbpf_rs::Result<()> {
    let mut table = object
        .maps_mut()
        .find(|map| map.map_type() == MapType::StructOps)
        .expect("the name was set in this very table");
    table.attach_struct_ops().map(drop)
}

fn problem_text(error: &Error) -> String {
    match error {
        Error::Load { detail, .. } => detail.clone(),
        Error::Bpf { what, source } => format!("{what}: {source}"),
        other => other.to_string(),
    }
}
