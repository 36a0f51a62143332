//! Figures of every moment, made once for all readers.

use super::groups::Lines;
use super::surroundings::{Reader, Surroundings};
use crate::live::Watch;
use crate::live::view::{ALGORITHMS, CGROUPS, Column, FLOWS, Key, Row, Snapshot};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Rows of a table that a reader gets.
const ROWS: usize = 200;
/// Width of a cell: room for what a wide terminal has.
const CELL: usize = 60;
/// How often the surroundings are read, and how soon the end is noticed.
const AROUND: Duration = Duration::from_secs(2);
const ATTENTION: Duration = Duration::from_millis(50);

/// One moment.
pub struct Tick {
    snapshot: Snapshot,
    t_s: f64,
}

/// What readers take from.
pub struct Feed {
    ticks: watch::Sender<Arc<Tick>>,
    surroundings: watch::Sender<Arc<Surroundings>>,
    lines: Mutex<Lines>,
}

/// How a reader wants the flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Column of [`FLOWS`].
    pub sort: usize,
    /// Largest first becomes smallest first.
    pub is_reversed: bool,
    /// In lower case.
    pub word: String,
}

/// A table as a page shows it.
#[derive(Serialize)]
struct Table {
    /// Title, unit, and whether it is of texts.
    columns: Vec<(&'static str, &'static str, bool)>,
    /// Colour of the row, then its cells.
    rows: Vec<(Option<&'static str>, Vec<String>)>,
    /// Rows that fit the search, also those beyond the last one shown.
    found: usize,
}

impl Feed {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Feed {
        let nothing = Arc::new(Tick { snapshot: Snapshot::default(), t_s: 0.0 });
        Feed {
            ticks: watch::channel(nothing).0,
            surroundings: watch::channel(Arc::default()).0,
            lines: Mutex::default(),
        }
    }

    /// For a reader: the latest moment, whenever there is a new one.
    pub fn ticks(&self) -> watch::Receiver<Arc<Tick>> {
        self.ticks.subscribe()
    }

    /// The same of the surroundings.
    pub fn surroundings(&self) -> watch::Receiver<Arc<Surroundings>> {
        self.surroundings.subscribe()
    }

    /// Groups with all that is kept of them.
    pub fn history(&self) -> Value {
        json!({ "groups": lock(&self.lines).all() })
    }

    /// A moment for one reader.
    pub fn tell(&self, tick: &Tick, view: &View) -> Value {
        let snapshot = &tick.snapshot;
        let (lines, left_out) = {
            let lines = lock(&self.lines);
            (json!(lines.latest()), lines.left_out())
        };
        json!({
            "t_s": tick.t_s,
            "status": snapshot.status,
            "open": snapshot.open_flows(),
            "receivers": snapshot.receivers,
            "flows_without_room": snapshot.flows_without_room,
            "groups": lines,
            "groups_left_out": left_out,
            "tables": {
                "cgroups": table(CGROUPS, &snapshot.cgroups, None),
                "algorithms": table(ALGORITHMS, &snapshot.algorithms, None),
                "flows": table(FLOWS, &snapshot.flows, Some(view)),
            },
        })
    }

    /// Looks every `interval` until the end is wanted or the recorder has ended.
    ///
    /// # Errors
    /// What the recorder failed of.
    pub fn run(&self, mut watch: Watch, interval: Duration, end: &AtomicBool) -> Result<(), ccactl_collector::Error> {
        let mut next = Instant::now() + interval;
        while !end.load(Ordering::Relaxed) && !watch.is_finished() {
            let now = Instant::now();
            if now < next {
                sleep(ATTENTION.min(next - now));
                continue;
            }
            // After a stop of the process not all that was missed at once.
            next = (next + interval).max(now);
            let snapshot = watch.look();
            let t_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            lock(&self.lines).add(&snapshot, t_s);
            self.ticks.send_replace(Arc::new(Tick { snapshot, t_s }));
        }
        watch.stop()
    }

    /// Reads the surroundings until the end is wanted.
    pub fn look_around(&self, reader: &Reader, end: &AtomicBool) {
        let mut next = Instant::now();
        while !end.load(Ordering::Relaxed) {
            if Instant::now() < next {
                sleep(ATTENTION);
                continue;
            }
            let begun = Instant::now();
            let read = reader.read();
            self.surroundings.send_if_modified(|known| {
                let is_other = **known != read;
                if is_other {
                    *known = Arc::new(read);
                }
                is_other
            });
            // A pass over many sockets takes its time, and is to take a fiftieth of ours.
            next = Instant::now() + AROUND.max(50 * begun.elapsed());
        }
    }
}

fn table<T: Row>(columns: &[Column<T>], rows: &[T], view: Option<&View>) -> Table {
    let word = view.map_or("", |view| &view.word);
    let mut found: Vec<&T> = rows.iter().filter(|row| word.is_empty() || row.has(word)).collect();
    let number = found.len();
    if let Some((view, column)) = view.and_then(|view| Some((view, columns.get(view.sort)?))) {
        // Not all of many flows have to be in order: only those that are shown.
        let order = |a: &&T, b: &&T| Key::compare(&(column.key)(a), &(column.key)(b), view.is_reversed);
        if found.len() > ROWS {
            found.select_nth_unstable_by(ROWS, order);
            found.truncate(ROWS);
        }
        found.sort_by(order);
    }
    found.truncate(ROWS);
    let mark = |row: &T| columns.iter().find_map(|column| column.mark?(row));
    let cells = |row: &T| columns.iter().map(|column| (column.cell)(row, column.max_width.min(CELL))).collect();
    Table {
        columns: columns.iter().map(|column| (column.title, column.unit, !column.is_right)).collect(),
        rows: found.iter().map(|row| (mark(row), cells(row))).collect(),
        found: number,
    }
}

fn lock(lines: &Mutex<Lines>) -> MutexGuard<'_, Lines> {
    lines.lock().unwrap_or_else(PoisonError::into_inner)
}
