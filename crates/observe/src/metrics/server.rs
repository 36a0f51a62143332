//! The HTTP side: `/metrics` for Prometheus, `/` for people, `/healthz` for whoever watches the process.

use crate::http::{self, Limits, Listener};
use crate::metrics::exporter::Exporter;
use crate::metrics::page::CONTENT_TYPE;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use ccactl_collector::Progress;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

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
    let router = Router::new()
        .route("/", get(async || Html(INDEX)))
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
        .with_state(Scrapes { exporter, recording, latest: Arc::default() });
    http::answer(listener, router, limits, end).await;
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
