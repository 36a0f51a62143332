//! With what an algorithm is loaded: the options that `load`, `run` and `swap` share.

use super::output;
use crate::error::Result;
use ccactl_loader::{Choice, Loadable};

#[derive(clap::Args)]
pub struct Settings {
    /// Begin with a named set of tunables; `ccactl show ALGO` lists them, and --set comes on top
    #[arg(long, value_name = "NAME", requires = "chosen")]
    preset: Option<String>,
    /// Set a tunable; `ccactl show ALGO` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = output::name_value, requires = "chosen")]
    set: Vec<(String, String)>,
    /// Register under another kernel name, so that several versions stand side by side
    #[arg(long = "as", value_name = "NAME", requires = "chosen")]
    as_name: Option<String>,
}

impl Settings {
    /// The algorithm with these settings; the host is not looked at.
    ///
    /// # Errors
    /// As [`Choice::parse`] and [`Choice::preset`].
    pub fn choice(&self, algorithm: &str) -> Result<Choice> {
        let choice = Choice::parse(algorithm, &self.set, self.as_name.as_deref())?;
        Ok(choice.preset(self.preset.as_deref())?)
    }

    /// The same for a receiving algorithm.
    ///
    /// # Errors
    /// As [`Loadable::receiver`].
    pub fn receiver(&self, algorithm: &str) -> Result<Loadable> {
        Ok(Loadable::receiver(algorithm, &self.set, self.preset.as_deref())?)
    }
}
