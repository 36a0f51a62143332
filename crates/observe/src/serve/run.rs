//! `ccactl serve`: a recorder, those who look, and their common end.

use super::access::{Hosts, Token};
use super::error::Result;
use super::pages::{self, Site};
use super::results::Root;
use super::surroundings::Reader;
use super::tick::Feed;
use crate::http::{self, Address, Limits, Listener};
use crate::live::Watch;
use crate::policies::NEEDED;
use crate::rollout::{default_evidence_dir, state_dir};
use ccactl_collector::RecordOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

/// Streams at a time; whoever comes next takes the place of the oldest.
const READERS: usize = 256;

/// The live page, made elsewhere.
#[derive(Debug, Clone)]
pub struct Assets {
    /// Names `page.css` and `page.js`.
    pub html: String,
    /// `page.css`
    pub style: String,
    /// `page.js`
    pub script: String,
}

/// How the page is served.
#[derive(Debug, Clone)]
pub struct Options {
    /// Names beside its own address by which the server may be called.
    pub hosts: Vec<String>,
    /// Folders to browse.
    pub results: Vec<PathBuf>,
    /// How often there are new figures.
    pub interval: Duration,
    /// Says to people which sockets are looked at.
    pub filter: String,
}

/// Serves until SIGTERM, SIGINT or SIGHUP, or until the recorder fails. `on_ready` is told the address and the token.
///
/// # Errors
/// [`super::Error`], with nothing left behind but the token.
pub fn run(
    address: &Address,
    record: RecordOptions,
    options: Options,
    assets: Assets,
    on_ready: impl FnOnce(&Address, &Token),
) -> Result<()> {
    let token = Token::of(&state_dir())?;
    let mut roots = options.results.iter().map(|path| Root::open(path)).collect::<Result<Vec<Root>>>()?;
    let evidence = default_evidence_dir();
    // There is none before the first canary.
    roots.extend(Root::open(&evidence));
    let runtime = http::runtime()?;
    let result = runtime.block_on(async {
        let listener = Listener::bind(address)?;
        let address = listener.address()?;
        let listening = match &address {
            Address::Tcp(address) => Some(*address),
            Address::Unix(_) => None,
        };
        let around = Reader::new(evidence);
        let watch = Watch::start_keeping(record, options.interval, options.filter, NEEDED)?;
        let feed = Arc::new(Feed::new());
        let site = Site {
            feed: Arc::clone(&feed),
            assets,
            token: token.clone(),
            hosts: Hosts::new(listening, options.hosts),
            roots,
        };
        let is_over = Arc::new(AtomicBool::new(false));
        let mut looking = {
            let (feed, is_over) = (Arc::clone(&feed), Arc::clone(&is_over));
            spawn_blocking(move || feed.run(watch, options.interval, &is_over))
        };
        let looking_around = {
            let (feed, is_over) = (Arc::clone(&feed), Arc::clone(&is_over));
            spawn_blocking(move || feed.look_around(&around, &is_over))
        };
        let (end, ended) = watch::channel(false);
        let limits = Limits::within(http::most_files(), READERS);
        let server = tokio::spawn(http::answer(listener, pages::router(Arc::new(site)), limits, ended));
        on_ready(&address, &token);
        let early = tokio::select! {
            () = http::interrupted() => None,
            result = &mut looking => Some(result),
        };
        is_over.store(true, Ordering::Relaxed);
        end.send_replace(true);
        server.await.expect("the server does not panic");
        let result = match early {
            Some(result) => result,
            None => looking.await,
        };
        drop(looking_around);
        Ok(result.expect("looking does not panic")?)
    });
    // A pass over many sockets that nobody waits for any more: it changes nothing, so it may end with the process.
    runtime.shutdown_background();
    result
}
