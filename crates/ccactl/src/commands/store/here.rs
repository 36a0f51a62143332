//! A build with object stores.

use super::summary::{self, Sent};
use super::{Args, location_in, spool_or_usual};
use crate::commands::record::Signals;
use crate::error::{Context, Error, Result};
use ccactl_abi::exit;
use ccactl_collector::{recover, recovered_path, streams_in, utc_compact};
use ccactl_host::{interrupt, outln, terminal};
use ccactl_store::{Claim, Destination, Location, Options, Settings, Spool, Store, Uploader};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// After SIGTERM: the file of the recording has had its second, and every command ends within two.
const TIME_FOR_THE_REST: Duration = Duration::from_millis(300);
/// Somebody who waits longer wants to know what for.
const SILENCE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
/// Put behind the name of a stream that cannot be read, or not to its end.
const DAMAGED: &str = "damaged";

/// What a recording needs to know of its store before it begins.
pub struct Upload {
    store: Store,
    claim: Claim,
    left_over: Vec<Claim>,
    options: Options,
}

impl Upload {
    /// Asks the store whether it takes parts, and takes a folder in the spool.
    pub fn prepare(location: Option<&str>, args: &Args) -> Result<Option<Upload>> {
        let Some(text) = location else { return Ok(None) };
        let (location, settings) = (Location::parse(text)?, Settings::from_env());
        let store = Store::to(&location, &settings)?;
        let trouble = store.probe_now()?;
        if let Some(fault) = &trouble {
            tracing::warn!("{location}: {fault}; the recording begins, and its parts wait; {}", fault.remedy());
        }
        let destination = Destination::of(&location, &settings);
        let spool = Spool::open(&spool_or_usual(args.spool.clone()))?;
        let left_over = spool.left_over(Some(&destination))?;
        let claim = spool.claim(&format!("{}-{}", utc_compact(), std::process::id()), destination)?;
        let options = Options { is_probed: trouble.is_none(), ..Options::new(args.spool_limit) };
        Ok(Some(Upload { store, claim, left_over, options }))
    }

    /// For the recorder, which finds it empty.
    pub fn folder(&self) -> PathBuf {
        self.claim.parts()
    }

    /// Begins to send; to be called once the rights are given up that a thread would keep.
    pub fn start(self) -> Result<Sending> {
        let location = self.store.location().to_string();
        let (left_over, mut claims) = (self.left_over.len(), self.left_over);
        claims.push(self.claim);
        let uploader = Uploader::start(self.store, claims, left_over, self.options, Box::new(make_parts))?;
        Ok(Sending { uploader, location })
    }
}

/// Parts on their way.
pub struct Sending {
    uploader: Uploader,
    location: String,
}

impl Sending {
    /// Behind the progress of the recording.
    pub fn progress(&self) -> String {
        summary::progress(&self.uploader.status())
    }

    /// No part comes any more. A signal ends the wait; one that has ended the recording has had its effect.
    pub fn end(self, signals: &Signals) -> Sent {
        let (began, was_stopped) = (Instant::now(), signals.is_stopped());
        self.uploader.finish();
        let mut is_told = false;
        while !self.uploader.is_finished() {
            let is_late = signals.is_terminated() && began.elapsed() >= TIME_FOR_THE_REST;
            if is_late || (signals.is_stopped() && !was_stopped) {
                self.uploader.stop();
            }
            if began.elapsed() >= SILENCE && !is_told {
                let waiting = self.uploader.status().waiting_parts;
                terminal::note(&format!("{waiting} parts wait to be sent; Ctrl-C leaves them in the spool"));
                is_told = true;
            }
            sleep(LOOK);
        }
        Sent { location: self.location, report: self.uploader.wait() }
    }
}

/// Parts of the streams that a killed recorder left in a folder of the spool.
fn make_parts(folder: &Path) {
    for stream in streams_in(folder).unwrap_or_default() {
        let made = recover(&stream, &recovered_path(&stream), false);
        let damage = match &made {
            Ok(found) => found.damage.clone(),
            // No header: its recorder was killed as it began the part.
            Err(ccactl_collector::Error::NotAStream(error)) => Some(error.to_string()),
            Err(error) => {
                tracing::warn!("{error}");
                continue;
            }
        };
        let done = match damage {
            None => fs::remove_file(&stream),
            Some(damage) => {
                let aside = stream.with_extension(DAMAGED);
                tracing::warn!(
                    "{}: {damage}; what comes before is sent, and the stream stays as {}",
                    stream.display(),
                    aside.display()
                );
                fs::rename(&stream, aside)
            }
        };
        if let Err(error) = done {
            tracing::warn!("{}: cannot be removed: {error}; remove it", stream.display());
        }
    }
}

/// `ccactl send`
pub fn send(spool: Option<PathBuf>, json: bool) -> Result<ExitCode> {
    let is_stopped = interrupt::on_first_signal(exit::INTERRUPTED).context("cannot handle signals")?;
    let folder = spool_or_usual(spool);
    if !folder.exists() {
        return Err(Error::Argument(format!(
            "{}: expected a spool, found nothing; --spool names another",
            folder.display()
        )));
    }
    let mut left_over = Spool::open(&folder)?.left_over(None)?;
    if left_over.is_empty() && !json {
        outln!("{}: nothing waits there that nobody sends", folder.display());
    }
    let (settings, mut is_complete) = (Settings::from_env(), true);
    while let Some(first) = left_over.first() {
        let destination = first.destination().clone();
        let (claims, others) = left_over.into_iter().partition(|claim| *claim.destination() == destination);
        left_over = others;
        let location = Location::parse(&destination.location)?;
        let own = Destination::of(&location, &settings);
        if own != destination {
            let named = |destination: &Destination| destination.endpoint.clone().unwrap_or_else(|| "none".to_owned());
            tracing::warn!(
                "{location}: its parts are for the endpoint {}, and AWS_ENDPOINT_URL is {}; they wait",
                named(&destination),
                named(&own)
            );
            is_complete = false;
            continue;
        }
        let sent = send_to(&location, &settings, claims, || is_stopped.load(Ordering::Relaxed))?;
        is_complete &= sent.is_complete();
        if json {
            crate::commands::output::json_line(&sent.json())?;
        } else {
            sent.print();
        }
    }
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILURE) })
}

fn send_to(
    location: &Location,
    settings: &Settings,
    claims: Vec<Claim>,
    is_stopped: impl Fn() -> bool,
) -> Result<Sent> {
    let store = Store::to(location, settings)?;
    if let Some(fault) = store.probe_now()? {
        return Err(store.error(fault).into());
    }
    // What waits here is sent, however much it is.
    let options = Options { is_probed: true, ..Options::new(u64::MAX) };
    let left_over = claims.len();
    let uploader = Uploader::start(store, claims, left_over, options, Box::new(make_parts))?;
    uploader.finish();
    while !uploader.is_finished() {
        if is_stopped() {
            uploader.stop();
        }
        sleep(LOOK);
    }
    Ok(Sent { location: location.to_string(), report: uploader.wait() })
}

/// Recordings that were brought here. Dropping it removes them; so does a signal, which ends ccactl.
pub struct Copies(Option<TempDir>);

/// Puts a folder in the place of each location among these paths, with what lies there.
pub fn fetch(paths: &mut [PathBuf]) -> Result<Copies> {
    if paths.iter().all(|path| location_in(path).is_none()) {
        return Ok(Copies(None));
    }
    let failed = "cannot make a folder for copies";
    let folder = tempfile::Builder::new().prefix("ccactl-report-").tempdir().context(failed)?;
    let at = folder.path().to_owned();
    let mut signals =
        signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot handle signals")?;
    let work = move || {
        if signals.forever().next().is_some() {
            let _ = fs::remove_dir_all(&at);
            std::process::exit(exit::INTERRUPTED.into());
        }
    };
    thread::Builder::new().name("ccactl-signals".to_owned()).spawn(work).context("cannot handle signals")?;
    for (number, path) in paths.iter_mut().enumerate() {
        let Some(text) = location_in(path) else { continue };
        let location = Location::parse(text)?;
        let to = folder.path().join(number.to_string());
        fs::create_dir(&to).context(failed)?;
        let fetched = Store::from(&location, &Settings::from_env())?.fetch_now(&to)?;
        tracing::info!("{location}: {} files of {} bytes", fetched.files, fetched.bytes);
        // A summary is no recording of a folder: it is named itself.
        *path = if text.ends_with(".summary") { only_file(to) } else { to };
    }
    Ok(Copies(Some(folder)))
}

/// The file below a folder that has nothing else.
fn only_file(mut path: PathBuf) -> PathBuf {
    while let Some(entry) = fs::read_dir(&path).ok().and_then(|mut entries| entries.next()?.ok()) {
        path = entry.path();
    }
    path
}

impl Drop for Copies {
    fn drop(&mut self) {
        if let Some(folder) = self.0.take() {
            let _ = folder.close();
        }
    }
}
