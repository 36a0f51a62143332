//! What stands around the figures: policies in force with their history, canaries that are being watched.

use super::canaries;
use crate::policies::PolicyRow;
use ccactl_loader::{Error, Loader};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// As readers get it. They are sent a new one only when it is another.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Surroundings {
    policies: Vec<PolicyRow>,
    /// Why there are none, where they could not be read.
    problem: Option<String>,
    canaries: Vec<Value>,
}

/// Reads them.
pub struct Reader {
    /// Opened once: what it asks for before anything else is given up when the recorder runs.
    loader: Result<Loader, Error>,
    evidence: PathBuf,
}

impl Reader {
    /// Canaries are looked for in the folder of evidence.
    #[must_use]
    pub fn new(evidence: PathBuf) -> Reader {
        Reader { loader: Loader::open(), evidence }
    }

    /// How it is now.
    #[must_use]
    pub fn read(&self) -> Surroundings {
        let canaries = canaries::running(&self.evidence);
        match self
            .loader
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|loader| rows(loader).map_err(|e| e.to_string()))
        {
            Ok(policies) => Surroundings { policies, problem: None, canaries },
            Err(problem) => Surroundings { policies: Vec::new(), problem: Some(problem), canaries },
        }
    }
}

fn rows(loader: &Loader) -> Result<Vec<PolicyRow>, Error> {
    let status = loader.status()?;
    if status.is_empty() {
        return Ok(Vec::new());
    }
    let census = loader.census()?;
    let mut rows: Vec<PolicyRow> = status.iter().map(|policy| PolicyRow::new(loader, policy, &census)).collect();
    for row in &mut rows {
        row.read_history(loader)?;
        // It counts down: whoever wants to know asks `status`.
        if let Some(canary) = &mut row.canary {
            canary.lease_s = None;
        }
    }
    Ok(rows)
}
