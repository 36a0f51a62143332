//! Scenarios: what a bench runs, from a TOML file with strict fields. The format is described in
//! `docs/scenarios.md`.

mod check;
mod error;
mod field_path;
mod fields;
mod file;
mod many;
mod matrix;
mod overrides;
mod parse;
mod queue;
mod reader;
mod reference;
mod schema;
mod shipped;
mod spec;
mod swaps;
mod trace;
pub mod units;

pub use error::{OverrideError, ScenarioError};
pub use file::{ScenarioFile, Variant};
pub use matrix::{Axis, Cell, WHOLE};
pub use overrides::Override;
pub use reference::reference;
pub use schema::schema;
pub use shipped::{SHIPPED, Shipped};
pub use spec::{
    ALL_HOSTS, ApplicationSpec, Direction, Distribution, FlowPath, FlowSpec, HopSpec, HostSpec, JitterSpec, LINK,
    LinkSpec, LossSpec, PathSpec, ProxySpec, Published, RateStep, Repeat, RttStep, SERVER, Scenario, SwapSpec,
    Thresholds, UdpSpec, Wanted, WirelessSpec,
};
pub use trace::Trace;

impl Scenario {
    /// Reads a scenario, the file of that name or else the shipped one, without the axes of its sweep; [`ScenarioFile`] has them.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn open(name_or_path: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        let (origin, text) = read(name_or_path)?;
        Scenario::parse_with(&origin, &text, overrides)
    }

    /// Parses a scenario; `origin` is the file name that errors show, and files that the scenario names are relative to
    /// its folder.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn parse(origin: &str, text: &str) -> Result<Scenario, ScenarioError> {
        Ok(ScenarioFile::parse(origin, text, &[])?.scenario)
    }

    /// Parses a scenario and applies changes.
    ///
    /// # Errors
    /// [`ScenarioError`] with file, line and field.
    pub fn parse_with(origin: &str, text: &str, overrides: &[Override]) -> Result<Scenario, ScenarioError> {
        ScenarioFile::parse(origin, text, &[])?.alone(overrides)
    }
}

/// A scenario takes some kilobytes; it is read as a whole.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// File name and text of a scenario.
fn read(name_or_path: &str) -> Result<(String, String), ScenarioError> {
    if let Some(shipped) = Shipped::by_name(name_or_path).filter(|shipped| !shipped.is_hidden()) {
        return Ok((format!("{name_or_path}.toml"), shipped.text.to_owned()));
    }
    let shown = SHIPPED.iter().filter(|shipped| !shipped.is_hidden());
    let text =
        ccactl_host::input::read_text(name_or_path.as_ref(), MAX_FILE_BYTES).map_err(|cause| ScenarioError::Read {
            origin: name_or_path.to_owned(),
            nearest: ccactl_loader::nearest(name_or_path, shown.map(|shipped| shipped.name)),
            cause,
        })?;
    Ok((name_or_path.to_owned(), text))
}
