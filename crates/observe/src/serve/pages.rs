//! What there is to see, and with which headers. Every path begins with a token; all else is refused in the same words.

use super::access::{Hosts, Token, is_same};
use super::events;
use super::results::{Listing, Root};
use super::run::Assets;
use super::tick::Feed;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use std::io;
use std::path::Path as FilePath;
use std::sync::Arc;
use tokio::task::spawn_blocking;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const REFUSED: &str = "refused: this needs the URL that `ccactl serve` printed\n";
/// The live page: its own script, its own style, its own figures, nothing from elsewhere.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; \
     img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// A page of results has everything inside, and is nobody's: it reads nothing and sends nothing.
const FILE_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// Everything that answers need.
pub struct Site {
    pub(super) feed: Arc<Feed>,
    pub(super) assets: Assets,
    pub(super) token: Token,
    pub(super) hosts: Hosts,
    pub(super) roots: Vec<Root>,
}

impl Site {
    pub(super) fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }
}

/// All pages of a site.
pub fn router(site: Arc<Site>) -> Router {
    let page = Router::new()
        .route("/{token}/", get(async |State(site): State<Arc<Site>>| typed(HTML, site.assets.html.clone())))
        // As people cut it short.
        .route("/{token}", get(async |uri: Uri| Redirect::to(&format!("{}/", uri.path()))))
        .route("/{token}/page.js", get(async |State(site): State<Arc<Site>>| typed(SCRIPT, site.assets.script.clone())))
        .route("/{token}/page.css", get(async |State(site): State<Arc<Site>>| typed(STYLE, site.assets.style.clone())))
        .route("/{token}/events", get(events::events))
        .route("/{token}/results", get(results))
        .route("/{token}/figures/{root}/{*path}", get(figures))
        .layer(middleware::map_response(async |response| with_policy(response, PAGE_POLICY)));
    let files = Router::new()
        .route("/{token}/files/{root}/{*path}", get(file))
        .layer(middleware::map_response(async |response| with_policy(response, FILE_POLICY)));
    Router::new()
        .merge(page)
        .merge(files)
        .fallback(async || (StatusCode::FORBIDDEN, REFUSED))
        .layer(middleware::from_fn_with_state(Arc::clone(&site), only_for_us))
        .layer(middleware::map_response(with_headers))
        .with_state(site)
}

/// Whoever calls us by another name, or without the token, learns nothing: not even which paths there are.
async fn only_for_us(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !site.hosts.has(host) {
        let told = "refused: expected a name of this server in the Host header; `ccactl serve --host NAME` adds one\n";
        return (StatusCode::MISDIRECTED_REQUEST, told).into_response();
    }
    let mut parts = request.uri().path().split('/').skip(1);
    let (token, first) = (parts.next().unwrap_or_default(), parts.next());
    let secret = if first == Some("files") { site.token.files() } else { site.token.page() };
    if !is_same(token, secret) {
        return (StatusCode::FORBIDDEN, REFUSED).into_response();
    }
    next.run(request).await
}

async fn with_headers(mut response: Response) -> Response {
    let all = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    for (name, value) in all {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn with_policy(mut response: Response, policy: &'static str) -> Response {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    response
}

fn typed(content_type: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body).into_response()
}

/// What is in the folders now, and where their files are.
async fn results(State(site): State<Arc<Site>>) -> Response {
    let files = format!("../{}/files/", site.token.files());
    let work = move || site.roots.iter().map(Root::list).collect::<Vec<Listing>>();
    match spawn_blocking(work).await {
        Ok(folders) => Json(json!({ "files": files, "folders": folders })).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("the results cannot be listed: {error}\n")).into_response()
        }
    }
}

/// The figures of a result, for the page itself.
async fn figures(State(site): State<Arc<Site>>, Path((_token, root, path)): Path<(String, usize, String)>) -> Response {
    if !path.ends_with(".json") {
        return (StatusCode::NOT_FOUND, "expected a file of figures\n").into_response();
    }
    read(site, root, path).await
}

async fn file(State(site): State<Arc<Site>>, Path((_token, root, path)): Path<(String, usize, String)>) -> Response {
    read(site, root, path).await
}

async fn read(site: Arc<Site>, root: usize, path: String) -> Response {
    let Some(content_type) = content_type(&path) else {
        return (StatusCode::NOT_FOUND, "expected a page, figures or a picture of a result\n").into_response();
    };
    let work = move || match site.roots.get(root) {
        Some(root) => root.read(FilePath::new(&path)),
        None => Err(io::ErrorKind::NotFound.into()),
    };
    match spawn_blocking(work).await {
        Ok(Ok(bytes)) => typed(content_type, bytes),
        Ok(Err(error)) => (StatusCode::NOT_FOUND, format!("{error}\n")).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// Of what results are made of; nothing else is handed out.
fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => HTML,
        "json" => "application/json",
        "md" | "csv" | "toml" | "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "pdf" => "application/pdf",
        _ => return None,
    })
}
