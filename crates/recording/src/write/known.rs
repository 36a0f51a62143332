//! The algorithms behind kernel names, for the metadata and for columns that depend on them.

use crate::metadata::{AlgorithmInfo, ValueInfo};
use ccactl_abi::{Algorithm, TraceValue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Finds out what stands behind a kernel name that appears in a row.
pub type Resolver = Arc<dyn Fn(&str) -> Option<KnownAlgorithm> + Send + Sync>;

/// A kernel name and what stands behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAlgorithm {
    /// Name in the kernel, which `load --as` may have changed.
    pub kernel_name: String,
    /// Row of the registry.
    pub algorithm: &'static Algorithm,
    /// Values as the user would write them, by name.
    pub tunables: BTreeMap<String, String>,
}

impl KnownAlgorithm {
    /// Looks a default kernel name up in the registry; its tunables are the defaults.
    #[must_use]
    pub fn from_registry(kernel_name: &str) -> Option<KnownAlgorithm> {
        Algorithm::by_kernel_name(kernel_name).map(Self::with_defaults)
    }

    /// A row of the registry under its own kernel name with its default tunables.
    #[must_use]
    pub fn with_defaults(algorithm: &'static Algorithm) -> KnownAlgorithm {
        let tunables = algorithm
            .tunables
            .iter()
            .map(|t| (t.name.to_owned(), t.display(t.default_raw)))
            .collect::<BTreeMap<_, _>>();
        KnownAlgorithm { kernel_name: algorithm.kernel_name.to_owned(), algorithm, tunables }
    }
}

impl From<&KnownAlgorithm> for AlgorithmInfo {
    fn from(known: &KnownAlgorithm) -> AlgorithmInfo {
        let value = |value: TraceValue| ValueInfo { name: value.name.to_owned(), doc: value.doc.to_owned() };
        let tunables = known.tunables.iter().map(|(name, value)| (name.clone(), value.clone().into()));
        AlgorithmInfo {
            kernel_name: known.kernel_name.clone(),
            algorithm: known.algorithm.name.to_owned(),
            color: Some(known.algorithm.color.to_owned()),
            modes: known.algorithm.modes.iter().map(|&mode| mode.to_owned()).collect(),
            v0: known.algorithm.v0.map(value),
            v1: known.algorithm.v1.map(value),
            tunables: serde_json::Value::Object(tunables.collect()),
        }
    }
}
