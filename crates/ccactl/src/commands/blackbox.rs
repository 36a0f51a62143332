//! `ccactl record --ring`

use super::output;
use crate::error::{Error, Result};
use ccactl_collector::{Drops, Every, RecordOptions};
use ccactl_host::units::{parse_bytes, parse_duration};
use ccactl_host::{errln, name, outln, terminal};
use ccactl_loader::Paths;
use ccactl_observe::blackbox::{self, BlackBox, Limits, Options, Outcome, Suppressed, Trigger};
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A row of every socket twice a second is what a host can afford all day.
pub const EVERY: Every = Every::Interval(Duration::from_millis(500));

/// 8000 rows, where 2000 come in a second from 1000 sockets. The kernel's ring is mapped twice.
pub const BUFFER_BYTES: u32 = 2 << 20;

#[derive(clap::Args)]
pub struct Args {
    /// Black box: keep this time of every socket in memory, and write into the folder FILE what is around a trigger
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires_all = ["trigger", "output"], conflicts_with_all = ["rotate", "force"])]
    ring: Option<Duration>,
    /// With --ring: an event, such as rto, or a condition, such as 'cwnd < 4' or 'rtt > 10 * min_rtt'; may be repeated
    #[arg(long, value_name = "EVENT|CONDITION", requires = "ring")]
    trigger: Vec<Trigger>,
    /// With --ring: keep this time after a trigger as well
    #[arg(long, default_value = "5s", value_name = "TIME", value_parser = parse_duration, requires = "ring")]
    after: Duration,
    /// With --ring: keep the other sockets of the cgroup as well
    #[arg(long, requires = "ring")]
    around: bool,
    /// With --ring: files that begin within any minute; triggers beyond are counted
    #[arg(long, default_value_t = Limits::default().per_minute, value_name = "N", requires = "ring")]
    max_per_minute: u32,
    /// With --ring: no more files once there are so many bytes of them
    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = parse_bytes, requires = "ring")]
    max_disk: u64,
    /// With --ring: memory for the rows; the oldest go first
    #[arg(long, default_value = "32MiB", value_name = "SIZE", value_parser = parse_bytes, requires = "ring")]
    ring_memory: u64,
}

impl Args {
    /// How much is kept from before a trigger, if this is a black box.
    pub fn ring(&self) -> Option<Duration> {
        self.ring
    }
}

#[derive(Serialize)]
struct Report<'a> {
    folder: Cow<'a, str>,
    files: u64,
    suppressed: Suppressed,
    rows: u64,
    flows: u64,
    drops: u64,
    drops_by_reason: Drops,
    duration_us: u64,
}

pub fn run(
    args: &Args,
    before: Duration,
    folder: &Path,
    record: RecordOptions,
    is_stopped: &AtomicBool,
    json: bool,
) -> Result<ExitCode> {
    if args.trigger.len() > BlackBox::MOST_TRIGGERS {
        let (found, most) = (args.trigger.len(), BlackBox::MOST_TRIGGERS);
        return Err(Error::Argument(format!("--trigger: expected at most {most}, found {found}")));
    }
    // Without root, the recorder's own complaint says what is missing.
    if let Err(error) = ccactl_loader::mount_bpffs_if_missing(&Paths::from_env()) {
        tracing::debug!("{error}");
    }
    let limits = Limits { per_minute: args.max_per_minute, disk_bytes: args.max_disk, memory_bytes: args.ring_memory };
    let options = Options { triggers: args.trigger.clone(), before, after: args.after, around: args.around, limits };
    let outcome = blackbox::run(folder, record, options, is_stopped, &mut |kept| match kept {
        Ok(kept) => terminal::note(&format!("{}: {} rows around {}", kept.path.display(), kept.rows, kept.trigger)),
        Err(error) => errln!("{error}"),
    })?;
    print(folder, &outcome, json)?;
    Ok(ExitCode::SUCCESS)
}

fn print(folder: &Path, outcome: &Outcome, json: bool) -> Result<()> {
    let Outcome { files, suppressed, summary } = outcome;
    let drops = summary.drops.total();
    if json {
        return output::json_line(&Report {
            folder: name::of_path(folder),
            files: *files,
            suppressed: *suppressed,
            rows: summary.rows,
            flows: summary.flows,
            drops,
            drops_by_reason: summary.drops,
            duration_us: u64::try_from(summary.duration.as_micros()).unwrap_or(u64::MAX),
        });
    }
    let seconds = summary.duration.as_secs_f64();
    outln!("{files} files · {} flows · {drops} drops · {seconds:.1} s · {}", summary.flows, folder.display());
    let Suppressed { per_minute, disk, failed, within, evicted_rows } = *suppressed;
    for (count, why) in [
        (within, "triggers are in the file of an earlier one of the same socket"),
        (per_minute, "triggers have no file: more than --max-per-minute"),
        (disk, "triggers have no file: --max-disk is reached"),
        (failed, "triggers have no file: it could not be written"),
        (evicted_rows, "rows went before their time: a larger --ring-memory, or a rarer --every"),
    ] {
        if count > 0 {
            errln!("{count} {why}");
        }
    }
    Ok(())
}
