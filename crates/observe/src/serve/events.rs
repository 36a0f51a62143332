//! One stream of events per reader. A reader that is slow misses moments; it is never sent a heap of old ones.

use super::pages::Site;
use super::tick::{Feed, Tick, View};
use crate::http::Lasting;
use crate::live::view::FLOWS;
use axum::Extension;
use axum::extract::{Query, State};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;

/// Column of the flows that they are sorted by unless a reader says otherwise.
const GOODPUT: &str = "goodput";
/// Of a search.
const MOST_LETTERS: usize = 200;

/// As the page asks for it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wish {
    sort: Option<usize>,
    reversed: bool,
    find: String,
}

impl From<Wish> for View {
    fn from(wish: Wish) -> View {
        let goodput = FLOWS.iter().position(|column| column.title == GOODPUT).unwrap_or_default();
        View {
            sort: wish.sort.filter(|column| *column < FLOWS.len()).unwrap_or(goodput),
            is_reversed: wish.reversed,
            word: wish.find.chars().take(MOST_LETTERS).collect::<String>().to_lowercase(),
        }
    }
}

/// Of a stream.
const LENGTH: Duration = Duration::from_secs(540);

struct Reader {
    feed: Arc<Feed>,
    view: View,
    ticks: watch::Receiver<Arc<Tick>>,
    around: watch::Receiver<Arc<super::surroundings::Surroundings>>,
    has_history: bool,
}

/// `GET events`: what was, then every moment, until the reader or the server leaves.
pub async fn events(State(site): State<Arc<Site>>, Query(wish): Query<Wish>) -> Response {
    let feed = Arc::clone(site.feed());
    let (ticks, mut around) = (feed.ticks(), feed.surroundings());
    around.mark_changed();
    let reader = Reader { feed, view: wish.into(), ticks, around, has_history: false };
    let events = stream::unfold(reader, async |mut reader| Some((Ok::<_, Infallible>(reader.next().await?), reader)));
    (Extension(Lasting), Sse::new(for_a_while(events, LENGTH))).into_response()
}

/// Ends before the door closes the connection: a browser takes that for an end, opens the next stream, and has no fault to tell.
fn for_a_while<S: Stream>(events: S, length: Duration) -> impl Stream<Item = S::Item> {
    events.take_until(Box::pin(sleep(length)))
}

impl Reader {
    /// None at the end of the server.
    async fn next(&mut self) -> Option<Event> {
        if !self.has_history {
            self.has_history = true;
            return Some(event("history", &self.feed.history()));
        }
        tokio::select! {
            changed = self.around.changed() => {
                changed.ok()?;
                let around = Arc::clone(&self.around.borrow_and_update());
                Some(event("around", &serde_json::to_value(&*around).expect("it has only types that JSON knows")))
            }
            changed = self.ticks.changed() => {
                changed.ok()?;
                let tick = Arc::clone(&self.ticks.borrow_and_update());
                Some(event("tick", &self.feed.tell(&tick, &self.view)))
            }
        }
    }
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Limits;

    /// A chunked answer that is cut off is an error in the console of a page that has done nothing wrong.
    #[tokio::test]
    async fn a_stream_ends_by_itself_before_its_connection_is_closed() {
        let moments = stream::repeat(()).then(|()| sleep(Duration::from_millis(1)));
        let count = for_a_while(moments, Duration::from_millis(100)).count().await;
        assert!((1..=100).contains(&count), "{count}");
        assert!(LENGTH + Duration::from_secs(30) < Limits::default().last);
    }
}
