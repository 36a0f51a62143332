//! Object stores: what `record`, `send` and `report` have to do with them for recordings, and `bench` for results.
//!
//! Without the feature `object-store` the same names are there, and every use of them is one error.

#[cfg(not(feature = "object-store"))]
mod absent;
#[cfg(feature = "object-store")]
mod cells;
#[cfg(feature = "object-store")]
mod here;
#[cfg(feature = "object-store")]
mod summary;

#[cfg(not(feature = "object-store"))]
pub use absent::{Cells, Sending, Upload, fetch, send};
#[cfg(feature = "object-store")]
pub use cells::Cells;
#[cfg(feature = "object-store")]
pub use here::{Sending, Upload, fetch, send};

use crate::error::{Error, Result};
use ccactl_host::units::parse_bytes;
use ccactl_observe::rollout::state_dir;
use std::path::{Path, PathBuf};

/// Folder below the state folder.
const SPOOL: &str = "spool";

#[derive(clap::Args)]
pub struct Args {
    /// With -o s3://… or file://…: where parts wait until they are sent [default: /var/lib/ccactl/spool]
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,
    /// With -o s3://… or file://…: finished parts that may wait; beyond that the oldest are given up
    #[arg(long, default_value = "4GiB", value_name = "SIZE", value_parser = parse_bytes)]
    pub spool_limit: u64,
}

/// The folder that was named, or the usual one.
#[cfg_attr(not(feature = "object-store"), allow(dead_code, reason = "nothing is spooled"))]
fn spool_or_usual(named: Option<PathBuf>) -> PathBuf {
    named.unwrap_or_else(|| state_dir().join(SPOOL))
}

/// What is meant when it is no file.
pub fn location_in(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| text.contains("://"))
}

/// The location of `record -o`, with all that is wrong about the other options.
pub fn location_of<'a>(
    output: Option<&'a Path>,
    is_rotated: bool,
    is_forced: bool,
    args: &Args,
) -> Result<Option<&'a str>> {
    let Some(text) = output.and_then(location_in) else {
        if args.spool.is_some() {
            return Err(Error::Argument(
                "--spool is for parts on their way into a store: add -o s3://BUCKET/PREFIX".to_owned(),
            ));
        }
        return Ok(None);
    };
    if !is_rotated {
        return Err(Error::Argument(format!("-o {text}: a store gets parts: add --rotate, such as --rotate 60s")));
    }
    if is_forced {
        return Err(Error::Argument(format!("-o {text}: nothing in a store is ever replaced: leave --force out")));
    }
    Ok(Some(text))
}
