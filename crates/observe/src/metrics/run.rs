//! `ccactl exporter`: a recorder, an HTTP server, and their common end.

use crate::http::{self, Address, Limits, Listener};
use crate::metrics::error::Result;
use crate::metrics::exporter::{Exporter, Options, lock};
use crate::metrics::server::{self, Recording};
use crate::policies::NEEDED;
use ccactl_collector::{Output, RecordOptions, Recorder};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

/// How often increases get their labels and the recorder is looked at.
const TICK: Duration = Duration::from_secs(1);
/// The two ends of a connection, and the changes that are counted. Retransmissions, timeouts and marks are in the
/// counters of every row, so that they need none of their own.
const EVENTS: &str = "open,close,ca_state,algorithm";

/// The recorder until it is stopped: a client that is still being answered does not keep it.
type Shared = Arc<Mutex<Option<Recorder>>>;

/// Serves the metrics until SIGTERM, SIGINT or SIGHUP, or until the recorder fails. `on_ready` is told the address, which
/// matters with port 0, once scrapes are answered.
///
/// `record` says which sockets and how often; its output, events and tap are set here.
///
/// # Errors
/// [`crate::metrics::Error`], with nothing left behind.
pub fn run(address: &Address, record: RecordOptions, options: Options, on_ready: impl FnOnce(&Address)) -> Result<()> {
    let runtime = http::runtime()?;
    let result = runtime.block_on(async {
        let listener = Listener::bind(address)?;
        let address = listener.address()?;
        let exporter = Arc::new(Exporter::new(options, record.algorithm.as_deref())?);
        let recorder: Shared = Arc::new(Mutex::new(Some(start(record, &exporter)?)));

        let recording: Recording = {
            let recorder = Arc::clone(&recorder);
            Arc::new(move || lock(&recorder).as_ref().map(Recorder::progress))
        };
        let (end, ended) = watch::channel(false);
        let limits = Limits::within(http::most_files(), 0);
        let server = tokio::spawn(server::serve(listener, Arc::clone(&exporter), recording, limits, ended));
        on_ready(&address);
        tokio::select! {
            () = http::interrupted() => {}
            () = settle_until_the_end_of(&recorder, &exporter) => {}
        }
        end.send_replace(true);
        server.await.expect("the server does not panic");
        let recorder = lock(&recorder).take();
        recorder.map(Recorder::stop).transpose()?;
        Ok(())
    });
    // A pass over many sockets that nobody waits for any more: it changes nothing, so it may end with the process.
    runtime.shutdown_background();
    result
}

fn start(record: RecordOptions, exporter: &Exporter) -> Result<Recorder> {
    let events = EVENTS.parse().expect("the names of the events are known");
    let record = RecordOptions { output: Output::Nowhere, events, tap: Some(exporter.tap()), ..record };
    Ok(Recorder::start_keeping(record, NEEDED)?)
}

async fn settle_until_the_end_of(recorder: &Shared, exporter: &Arc<Exporter>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while lock(recorder).as_ref().is_some_and(|recorder| !recorder.is_finished()) {
        ticks.tick().await;
        let exporter = Arc::clone(exporter);
        // A walk over the cgroups of a large host takes its time.
        if spawn_blocking(move || exporter.settle()).await.is_err() {
            tracing::error!("what has been counted could not get its labels");
        }
    }
}
