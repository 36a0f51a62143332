//! `ccactl exporter`: a recorder, an HTTP server, and their common end.

use crate::error::{Error, Result};
use crate::exporter::{Exporter, Options};
use crate::server::{self, Recording};
use ccactl_collector::{Output, RecordOptions, Recorder};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

/// How often increases get their labels and the recorder is looked at.
const TICK: Duration = Duration::from_secs(1);
/// The two ends of a connection, and the changes that are counted. Retransmissions, timeouts and marks are in the counters of every
/// row, so that they need none of their own.
const EVENTS: &str = "open,close,ca_state,algorithm";

/// Serves the metrics until SIGTERM or SIGINT, or until the recorder fails. `on_ready` is told the address, which matters with
/// port 0, once scrapes are answered.
///
/// `record` says which sockets and how often; its output, events and tap are set here.
///
/// # Errors
/// [`Error`], with nothing left behind.
pub fn run(
    address: SocketAddr,
    record: RecordOptions,
    options: Options,
    on_ready: impl FnOnce(SocketAddr),
) -> Result<()> {
    let failed = |doing| move |cause| Error::Server { doing, cause };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed("start a runtime"))?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).map_err(failed("handle SIGTERM"))?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed("handle SIGINT"))?;
        let listener = server::listen(address).await?;
        let address = listener.local_addr().map_err(failed("say where it listens"))?;
        let exporter = Arc::new(Exporter::new(options, record.algorithm.as_deref())?);
        let recorder = Arc::new(start(record, &exporter)?);

        let recording: Recording = {
            let recorder = Arc::clone(&recorder);
            Arc::new(move || recorder.progress())
        };
        let (end, ended) = watch::channel(false);
        let server = tokio::spawn(server::serve(listener, Arc::clone(&exporter), recording, ended));
        on_ready(address);
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = settle_until_the_end_of(&recorder, &exporter) => {}
        }
        end.send_replace(true);
        let served = server.await.expect("the server does not panic");
        recorder.request_stop();
        // The server had the other handles.
        if let Some(recorder) = Arc::into_inner(recorder) {
            recorder.wait()?;
        }
        served
    })
}

fn start(record: RecordOptions, exporter: &Exporter) -> Result<Recorder> {
    let events = EVENTS.parse().expect("the names of the events are known");
    let record = RecordOptions { output: Output::Nowhere, events, tap: Some(exporter.tap()), ..record };
    Ok(Recorder::start(record)?)
}

async fn settle_until_the_end_of(recorder: &Recorder, exporter: &Arc<Exporter>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !recorder.is_finished() {
        ticks.tick().await;
        let exporter = Arc::clone(exporter);
        // A walk over the cgroups of a large host takes its time.
        if spawn_blocking(move || exporter.settle()).await.is_err() {
            tracing::error!("what has been counted could not get its labels");
        }
    }
}
