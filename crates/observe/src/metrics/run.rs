//! `ccactl exporter`: a recorder, an HTTP server, and their common end.

use crate::metrics::address::Address;
use crate::metrics::error::{Error, Result};
use crate::metrics::exporter::{Exporter, Options, lock};
use crate::metrics::listen::Listener;
use crate::metrics::rooms::Limits;
use crate::metrics::server::{self, Recording};
use ccactl_collector::{Output, RecordOptions, Recorder};
use ccactl_host::capabilities::Capability;
use ccactl_host::interrupt;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// How often increases get their labels and the recorder is looked at.
const TICK: Duration = Duration::from_secs(1);
/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(50);
/// The two ends of a connection, and the changes that are counted. Retransmissions, timeouts and marks are in the
/// counters of every row, so that they need none of their own.
const EVENTS: &str = "open,close,ca_state,algorithm";

/// What a pass over the sockets of the policies needs, for each scrape anew. CAP_SYS_ADMIN loads an iterator and enters the
/// network namespaces of others, CAP_SYS_PTRACE finds those, CAP_DAC_READ_SEARCH finds a cgroup by its id. The recorder
/// itself needs none.
const NEEDED: &[Capability] = &[Capability::CAP_SYS_ADMIN, Capability::CAP_SYS_PTRACE, Capability::CAP_DAC_READ_SEARCH];

/// The recorder until it is stopped: a client that is still being answered does not keep it.
type Shared = Arc<Mutex<Option<Recorder>>>;

/// Serves the metrics until SIGTERM, SIGINT or SIGHUP, or until the recorder fails. `on_ready` is told the address, which
/// matters with port 0, once scrapes are answered.
///
/// `record` says which sockets and how often; its output, events and tap are set here.
///
/// # Errors
/// [`Error`], with nothing left behind.
pub fn run(address: &Address, record: RecordOptions, options: Options, on_ready: impl FnOnce(&Address)) -> Result<()> {
    let failed = |doing| move |cause| Error::Server { doing, cause };
    interrupt::on_signals().map_err(failed("handle signals"))?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed("start a runtime"))?;
    let result = runtime.block_on(async {
        let listener = Listener::bind(address)?;
        let address = listener.address().map_err(failed("say where it listens"))?;
        let exporter = Arc::new(Exporter::new(options, record.algorithm.as_deref())?);
        let recorder: Shared = Arc::new(Mutex::new(Some(start(record, &exporter)?)));

        let recording: Recording = {
            let recorder = Arc::clone(&recorder);
            Arc::new(move || lock(&recorder).as_ref().map(Recorder::progress))
        };
        let (end, ended) = watch::channel(false);
        let limits = Limits::within(most_files());
        let server = tokio::spawn(server::serve(listener, Arc::clone(&exporter), recording, limits, ended));
        on_ready(&address);
        tokio::select! {
            () = interrupted() => {}
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

/// How many files this process may open, once it has taken what it is allowed to: shells and systemd give 1024 until a
/// program asks for more.
fn most_files() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}

/// The flag and not a signal of the runtime, as it is also looked at by what the recorder waits for while it starts and
/// ends, on threads that have no runtime.
async fn interrupted() {
    while !interrupt::is_requested() {
        sleep(LOOK).await;
    }
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
