//! The algorithm that a command asks about, with what is set of it.

use super::output;
use crate::error::Result;
use ccactl_loader::Choice;

#[derive(clap::Args)]
pub struct Subject {
    /// Algorithm: a name of `ccactl list`, a file (`.bpf.c`, `.bpf.o`), or native:NAME for the kernel's own
    #[arg(value_name = "ALGO")]
    pub algorithm: String,
    /// Begin with a named set of tunables; `ccactl show ALGO` lists them, and --set comes on top
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Set a tunable; `ccactl show ALGO` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = output::name_value)]
    pub set: Vec<(String, String)>,
}

impl Subject {
    /// What is wrong with it is said before anything runs.
    pub fn check(&self) -> Result<()> {
        Choice::parse(&self.algorithm, &self.set, None)?.preset(self.preset.as_deref())?;
        Ok(())
    }

    /// Whether nothing of it is set.
    pub fn is_plain(&self) -> bool {
        self.set.is_empty() && self.preset.is_none()
    }

    /// `f-bbrv3+NAME=VALUE`
    pub fn title(&self) -> String {
        let preset = self.preset.iter().map(|preset| format!("+{preset}"));
        let set = self.set.iter().map(|(name, value)| format!("+{name}={value}"));
        self.algorithm.clone() + &preset.chain(set).collect::<String>()
    }
}
