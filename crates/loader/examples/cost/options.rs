//! Command line.

use crate::Result;
use std::time::Duration;

/// A median of fewer pairs says little on a shared host.
const LEAST_PAIRS: usize = 5;

/// How much to measure.
pub struct Options {
    /// Pairs of transfers per comparison.
    pub pairs: usize,
    /// Length of one transfer.
    pub duration: Duration,
    only: Vec<String>,
}

impl Options {
    /// Parses `--pairs N --seconds S --only NAME,NAME`.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<Options> {
        let mut options = Options { pairs: 20, duration: Duration::from_millis(300), only: Vec::new() };
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
            match arg.as_str() {
                "--pairs" => options.pairs = value.parse().map_err(|e| format!("--pairs {value}: {e}"))?,
                "--seconds" => {
                    let seconds: f64 = value.parse().map_err(|e| format!("--seconds {value}: {e}"))?;
                    options.duration = Duration::try_from_secs_f64(seconds)?;
                }
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                _ => return Err(format!("{arg}: expected --pairs, --seconds or --only").into()),
            }
        }
        if options.pairs < LEAST_PAIRS {
            return Err(format!("--pairs {}: expected at least {LEAST_PAIRS}", options.pairs).into());
        }
        if let Some(unknown) = options.only.iter().find(|name| ccactl_abi::Algorithm::by_name(name).is_none()) {
            return Err(format!("--only {unknown}: no such algorithm").into());
        }
        Ok(options)
    }

    /// Whether the algorithm is to be measured.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}
