//! The HTTP side: `/metrics` for Prometheus, `/` for people, `/healthz` for whoever watches the process.

use crate::metrics::exporter::{Exporter, lock};
use crate::metrics::listen::{Listener, Stream};
use crate::metrics::page::CONTENT_TYPE;
use crate::metrics::rooms::{Limits, Place, Room};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use ccactl_collector::Progress;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::mem;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::{sleep, timeout};

/// How long answers that are on their way may take once the end was asked for.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// After an accept that failed: there is no memory or no file, and what was pushed out needs a moment to be closed.
const RECOVERY: Duration = Duration::from_millis(5);
/// Of a header, and of what is read at a time. hyper's own 400 KiB, times all who may be silent, would be the memory of
/// the host.
const HEADER_BYTES: usize = 16 << 10;

const INDEX: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>ccactl exporter</title>\
    <h1>ccactl exporter</h1><p><a href=\"/metrics\">Metrics</a></p></html>";

/// How the recorder stands, as a scrape shows it; none once it is ending.
pub type Recording = Arc<dyn Fn() -> Option<Progress> + Send + Sync>;

/// Answers until `end` holds `true` or its sender is gone; then those that are being answered are given a moment.
pub async fn serve(
    listener: Listener,
    exporter: Arc<Exporter>,
    recording: Recording,
    limits: Limits,
    end: watch::Receiver<bool>,
) {
    let door = Arc::new(Door::new(exporter, recording, limits));
    tokio::select! {
        () = Arc::clone(&door).accept(&listener) => {}
        () = ended(end) => {}
    }
    // Nobody new, and no name in the file system.
    drop(listener);
    let asking = mem::replace(&mut *lock(&door.asking), Room::new(limits.asking));
    // A client that reads slowly, or not at all, does not keep the exporter.
    let _ = timeout(LAST_ANSWERS, asking.empty()).await;
}

async fn ended(mut end: watch::Receiver<bool>) {
    // Without a sender it has ended as well.
    let _ = end.wait_for(|&is_ended| is_ended).await;
}

/// Whom we let in, and what they get.
struct Door {
    router: Router,
    limits: Limits,
    silent: Mutex<Room>,
    asking: Mutex<Room>,
}

impl Door {
    fn new(exporter: Arc<Exporter>, recording: Recording, limits: Limits) -> Door {
        let router = Router::new()
            .route("/", get(async || Html(INDEX)))
            .route("/healthz", get(async || "ok\n"))
            .route("/metrics", get(metrics))
            .with_state(Scrapes { exporter, recording, latest: Arc::default() });
        let room = |most| Mutex::new(Room::new(most));
        Door { router, limits, silent: room(limits.silent), asking: room(limits.asking) }
    }

    async fn accept(self: Arc<Self>, listener: &Listener) {
        loop {
            match listener.accept().await {
                Ok(stream) => {
                    let place = lock(&self.silent).enter();
                    tokio::spawn(Arc::clone(&self).converse(stream, place));
                    // One by one: who has asked already is not to lose the place to those who are behind in the queue.
                    yield_now().await;
                }
                Err(error) => {
                    tracing::debug!("a connection could not be accepted: {error}");
                    lock(&self.silent).push_out();
                    sleep(RECOVERY).await;
                }
            }
        }
    }

    /// One request and its answer. There is no second one, so that no connection waits for it: a scrape comes every few
    /// seconds, and opens another.
    async fn converse(self: Arc<Self>, stream: Box<dyn Stream>, place: Place) {
        let has_asked = Notify::new();
        let pages = TowerToHyperService::new(self.router.clone());
        let answer = service_fn(|request| {
            has_asked.notify_one();
            pages.call(request)
        });
        let conversation = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header)
            .max_buf_size(HEADER_BYTES)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), answer);
        let mut conversation = pin!(conversation);
        tokio::select! {
            _ = &mut conversation => return,
            _ = place => return,
            () = has_asked.notified() => {}
        }
        let place = lock(&self.asking).enter();
        tokio::select! {
            _ = conversation => {}
            _ = place => {}
            () = sleep(self.limits.answer) => {}
        }
    }
}

/// Makes the page.
#[derive(Clone)]
struct Scrapes {
    exporter: Arc<Exporter>,
    recording: Recording,
    latest: Arc<tokio::sync::Mutex<Option<Page>>>,
}

struct Page {
    begun: Instant,
    text: Bytes,
}

/// One page is made at a time, on a thread of its own; all who have asked meanwhile share the next one.
async fn metrics(State(Scrapes { exporter, recording, latest }): State<Scrapes>) -> Response {
    let asked = Instant::now();
    // Goes with the work, not with the client: when that leaves, the page is still being made.
    let mut latest = latest.lock_owned().await;
    let work = move || {
        let progress = recording()?;
        let page = latest.take().filter(|page| page.begun > asked).unwrap_or_else(|| {
            let begun = Instant::now();
            Page { begun, text: exporter.scrape(&progress).into() }
        });
        let text = page.text.clone();
        *latest = Some(page);
        Some(text)
    };
    match spawn_blocking(work).await {
        Ok(Some(text)) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Ok(None) => (StatusCode::SERVICE_UNAVAILABLE, "the exporter is ending\n").into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("the scrape failed: {error}\n")).into_response(),
    }
}
