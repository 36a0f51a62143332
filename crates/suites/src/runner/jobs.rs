//! How many cells go side by side.

use crate::Cell;
use ccactl_testbed::calibration;
use ccactl_testbed::emulator::Topology;

/// A number of cells, and why it is that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jobs {
    /// At least one.
    pub count: usize,
    /// In words, for whoever waits.
    pub reason: String,
}

/// What the calibration of this host says of the fastest of these cells.
#[must_use]
pub fn side_by_side(cells: &[Cell]) -> Jobs {
    let rates = cells.iter().map(|cell| Topology::of(&cell.scenario, 1).calibrated_bps());
    let fastest = rates.max().unwrap_or(0);
    let mbit = fastest as f64 / 1e6;
    match calibration::load() {
        Err(error) => Jobs { count: 1, reason: format!("one cell at a time: {error}") },
        Ok(calibration) => match calibration.parallel_runs(fastest) {
            0 => {
                let reason = format!(
                    "one cell at a time: by its calibration this host does not carry {mbit} Mbit/s in packets of 1500 bytes"
                );
                Jobs { count: 1, reason }
            }
            count => Jobs {
                count,
                reason: format!("{count} side by side: calibrated for {mbit} Mbit/s in packets of 1500 bytes"),
            },
        },
    }
}
