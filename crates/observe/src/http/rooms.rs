//! How many connections there may be, and which one is closed when there are more.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long and how many.
///
/// A client that says nothing costs a place in a room of its own kind and nothing else: who comes always gets a place, and
/// the one that has been silent longest loses its own. So a crowd of silent clients pushes out its own members. A client
/// that asks as soon as it is connected keeps its place until [`Limits::silent`] others have come after it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the whole header of a request.
    pub header: Duration,
    /// From there to the last byte of the answer. Prometheus itself gives up after 10 s, unless told otherwise.
    pub answer: Duration,
    /// Connections whose header is not complete.
    pub silent: usize,
    /// Connections that have asked and do not have their answer yet. Each may hold a page of its own, some MB.
    pub asking: usize,
    /// For a [`Lasting`] answer. Whoever wants more of it asks again.
    ///
    /// [`Lasting`]: super::Lasting
    pub last: Duration,
    /// Connections with such an answer.
    pub lasting: usize,
}

impl Limits {
    /// Files that the exporter itself needs: programs, maps, and namespaces and iterators of a pass over the sockets.
    const OWN_FILES: u64 = 256;

    /// The default limits with so many lasting answers, and with fewer silent clients where this process may not open many files.
    #[must_use]
    pub fn within(files: u64, lasting: usize) -> Limits {
        let limits = Limits { lasting, ..Limits::default() };
        let left = files.saturating_sub(Self::OWN_FILES + (limits.asking + limits.lasting) as u64);
        // Those that were pushed out are closed a moment later.
        let silent = usize::try_from(left / 2).unwrap_or(usize::MAX);
        Limits { silent: silent.clamp(1, limits.silent), ..limits }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            header: Duration::from_secs(5),
            answer: Duration::from_secs(30),
            silent: 6144,
            asking: 32,
            last: Duration::from_secs(600),
            lasting: 0,
        }
    }
}

/// Places for connections, the oldest first.
pub(crate) struct Room {
    places: VecDeque<oneshot::Sender<()>>,
    most: usize,
}

/// Kept by its connection; resolves when somebody newer has got it.
pub(crate) type Place = oneshot::Receiver<()>;

impl Room {
    pub(crate) fn new(most: usize) -> Room {
        Room { places: VecDeque::new(), most }
    }

    pub(crate) fn enter(&mut self) -> Place {
        if self.places.len() >= self.most {
            // Those who have left on their own.
            self.places.retain(|place| !place.is_closed());
        }
        if self.places.len() >= self.most {
            self.push_out();
        }
        let (place, lost) = oneshot::channel();
        self.places.push_back(place);
        lost
    }

    /// The oldest loses its place.
    pub(crate) fn push_out(&mut self) {
        self.places.retain(|place| !place.is_closed());
        self.places.pop_front();
    }

    /// Waits until all have left.
    pub(crate) async fn empty(self) {
        for mut place in self.places {
            place.closed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot::error::TryRecvError;

    fn is_lost(place: &mut Place) -> bool {
        place.try_recv() == Err(TryRecvError::Closed)
    }

    #[test]
    fn the_oldest_loses_its_place_to_the_newest() {
        let mut room = Room::new(2);
        let mut places: Vec<Place> = (0..3).map(|_| room.enter()).collect();
        assert_eq!(places.iter_mut().map(is_lost).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn a_place_that_was_left_is_free() {
        let mut room = Room::new(2);
        let mut first = room.enter();
        drop(room.enter());
        let mut third = room.enter();
        assert!(!is_lost(&mut first) && !is_lost(&mut third));
    }

    #[test]
    fn few_files_leave_room_for_few_silent_clients() {
        assert_eq!(Limits::within(20_000, 0).silent, Limits::default().silent);
        assert_eq!(Limits::within(1024, 0).silent, (1024 - 256 - 32) / 2);
        assert_eq!(Limits::within(1024, 256).silent, (1024 - 256 - 32 - 256) / 2);
        assert_eq!(Limits::within(0, 0).silent, 1);
    }
}
