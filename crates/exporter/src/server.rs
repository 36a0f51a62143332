//! The HTTP side: `/metrics` for Prometheus, `/` for people, `/healthz` for whoever watches the process.

use crate::error::{Error, Result};
use crate::exporter::Exporter;
use crate::page::CONTENT_TYPE;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use ccactl_collector::Progress;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long answers that are on their way may take once the end was asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

const INDEX: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>ccactl exporter</title>\
    <h1>ccactl exporter</h1><p><a href=\"/metrics\">Metrics</a></p></html>";

/// How the recorder stands, as a scrape shows it.
pub type Recording = Arc<dyn Fn() -> Progress + Send + Sync>;

/// Claims the address, before anything else is begun.
///
/// # Errors
/// [`Error::Listen`].
pub async fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|cause| Error::Listen { address, cause })
}

/// Answers until `end` holds `true` or its sender is gone; then those that are being answered are given a moment.
///
/// # Errors
/// [`Error::Server`].
pub async fn serve(
    listener: TcpListener,
    exporter: Arc<Exporter>,
    recording: Recording,
    end: watch::Receiver<bool>,
) -> Result<()> {
    let router = Router::new()
        .route("/", get(async || Html(INDEX)))
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
        .with_state((exporter, recording));
    let server = axum::serve(listener, router).with_graceful_shutdown(ended(end.clone()));
    tokio::select! {
        result = async { server.await } => result.map_err(|cause| Error::Server { doing: "answer", cause }),
        // A client that reads slowly, or not at all, does not keep the exporter.
        () = async { ended(end).await; let _ = timeout(LAST_ANSWERS, std::future::pending::<()>()).await; } => Ok(()),
    }
}

fn ended(mut end: watch::Receiver<bool>) -> impl Future<Output = ()> + Send {
    async move {
        let _ = end.wait_for(|&is_ended| is_ended).await;
    }
}

/// Names are read and text is made on a thread of its own, so that scrapes do not wait for each other's sockets.
async fn metrics(State((exporter, recording)): State<(Arc<Exporter>, Recording)>) -> Response {
    match spawn_blocking(move || exporter.scrape(&recording())).await {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("the scrape failed: {error}\n")).into_response(),
    }
}
