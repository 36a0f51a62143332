//! One combination of a matrix.

use ccactl_scenario::Scenario;
use std::collections::BTreeMap;

/// A scenario with one value of each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Name of the cell and of its folder: `buffer=5bdp,pair=reno+cubic`.
    pub id: String,
    /// Its value on each axis.
    pub labels: BTreeMap<String, String>,
    /// What is run.
    pub scenario: Scenario,
}
