//! `ccactl swap ALGO --canary SHARE`: the guarded roll-out.

use super::{canary_view, output};
use crate::error::{Context, Result};
use ccactl_host::interrupt;
use ccactl_host::units::parse_duration;
use ccactl_loader::{Loader, SwapRequest};
use ccactl_observe::rollout::canary::{self, CanaryRequest};
use ccactl_observe::rollout::{Error, Guard, Share, default_evidence_dir};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The options that make a swap a guarded one.
#[derive(clap::Args)]
#[command(next_help_heading = "Guarded roll-out")]
pub struct Args {
    /// Move this share of the sockets first (10%), watch them beside the others, then promote or revert by itself
    #[arg(long, value_name = "SHARE", requires = "revert_if", conflicts_with_all = ["existing", "new_only", "dry_run"])]
    canary: Option<Share>,
    /// How long to watch both groups, such as 60s
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, requires = "canary")]
    watch: Duration,
    /// Before anything moves, try the guards for this time with the same algorithm in both groups; one that holds ends it
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "canary")]
    aa: Option<Duration>,
    /// Take the canary back when this holds, such as 'retransmit_rate > 2 * baseline + 0.1%'; may be repeated
    #[arg(long, value_name = "RULE", requires = "canary")]
    revert_if: Vec<String>,
    /// Live sockets that each group must have
    #[arg(long, value_name = "N", default_value_t = CanaryRequest::DEFAULT_MIN_FLOWS,
          value_parser = clap::value_parser!(u64).range(1..), requires = "canary")]
    min_flows: u64,
    /// Folder for the decision and its recording [default: /var/lib/ccactl/canary]
    #[arg(long, value_name = "DIR", requires = "canary")]
    evidence: Option<PathBuf>,
    /// Should ccactl die while it watches, new connections get the former algorithm again after this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, requires = "canary")]
    lease: Duration,
}

impl Args {
    /// The guarded swap, if one is asked for.
    pub fn request(&self, swap: &SwapRequest) -> Result<Option<CanaryRequest>> {
        let Some(share) = self.canary else { return Ok(None) };
        Ok(Some(CanaryRequest {
            swap: swap.clone(),
            share,
            watch: self.watch,
            same: self.aa,
            guards: self.revert_if.iter().map(|text| guard(text)).collect::<Result<_, _>>()?,
            min_flows: self.min_flows,
            evidence: self.evidence.clone().unwrap_or_else(default_evidence_dir),
            lease: self.lease,
        }))
    }
}

/// Not clap's to parse: its messages take three lines, and this one is long enough.
fn guard(text: &str) -> Result<Guard, Error> {
    text.parse().map_err(|reason| Error::Guard { text: text.to_owned(), reason })
}

/// Watches a canary to its decision. Signals take it back.
pub fn run(loader: &Loader, request: &CanaryRequest, json: bool) -> Result<ExitCode> {
    // Not even a second signal ends ccactl at once: then nobody would take the canary back.
    let interrupted = interrupt::on_signals().context("cannot handle signals")?;
    let mut progress = canary_view::Progress::new(request);
    let decision = canary::run(loader, request, &interrupted, &mut |event| progress.show(&event));
    progress.finish();
    let decision = decision?;
    if json {
        output::json(&decision)?;
    } else {
        canary_view::print(&decision)?;
    }
    canary_view::warn(&decision);
    Ok(ExitCode::from(decision.exit_code()))
}
