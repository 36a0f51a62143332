//! Who is let in, for how long, and how it ends: one request per connection, with places for the silent and for those who ask.

use crate::http::listen::{Listener, Stream};
use crate::http::rooms::{Limits, Place, Room};
use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::mem;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// How long answers that are on their way may take once the end was asked for.
const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// After an accept that failed: there is no memory or no file, and what was pushed out needs a moment to be closed.
const RECOVERY: Duration = Duration::from_millis(5);
/// Of a header, and of what is read at a time. hyper's own 400 KiB, times all who may be silent, would be the memory of
/// the host.
const HEADER_BYTES: usize = 16 << 10;

/// Answers until `end` holds `true` or its sender is gone; then those that are being answered are given a moment.
pub async fn answer(listener: Listener, router: Router, limits: Limits, end: watch::Receiver<bool>) {
    let door = Arc::new(Door::new(router, limits));
    tokio::select! {
        () = Arc::clone(&door).accept(&listener) => {}
        () = ended(end) => {}
    }
    // Nobody new, and no name in the file system.
    drop(listener);
    drop(mem::replace(&mut *lock(&door.lasting), Room::new(1)));
    let asking = mem::replace(&mut *lock(&door.asking), Room::new(limits.asking));
    // A client that reads slowly, or not at all, does not keep the server.
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
    lasting: Mutex<Room>,
}

/// In the extensions of a response: its end is far away, as that of a stream of events. It has a place of another room.
#[derive(Debug, Clone, Copy)]
pub struct Lasting;

impl Door {
    fn new(router: Router, limits: Limits) -> Door {
        let room = |most| Mutex::new(Room::new(most));
        Door { router, limits, silent: room(limits.silent), asking: room(limits.asking), lasting: room(limits.lasting) }
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
        let (has_asked, lasts) = (Notify::new(), Notify::new());
        let pages = TowerToHyperService::new(self.router.clone());
        let answer = service_fn(|request| {
            has_asked.notify_one();
            let answer = pages.call(request);
            async {
                let response = answer.await?;
                if response.extensions().get::<Lasting>().is_some() {
                    lasts.notify_one();
                }
                Ok::<_, Infallible>(response)
            }
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
            _ = &mut conversation => return,
            _ = place => return,
            () = sleep(self.limits.answer) => return,
            () = lasts.notified() => {}
        }
        let place = lock(&self.lasting).enter();
        tokio::select! {
            _ = conversation => {}
            _ = place => {}
            () = sleep(self.limits.last) => {}
        }
    }
}

fn lock(room: &Mutex<Room>) -> MutexGuard<'_, Room> {
    room.lock().unwrap_or_else(PoisonError::into_inner)
}
