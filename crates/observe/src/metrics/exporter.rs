//! Rows in, text out: what stands between the recorder's thread and the HTTP server.

use crate::metrics::error::Result;
use crate::metrics::histogram::Buckets;
use crate::metrics::labels::Labeller;
use crate::metrics::ledger::Ledger;
use crate::metrics::own::{PolicyScan, Programs, show_build, show_process, show_recorder};
use crate::metrics::page::Page;
use crate::metrics::show;
use crate::metrics::sockets::{Ids, MAX_SOCKETS, Sockets};
use ccactl_abi::layout::name_bytes;
use ccactl_collector::{Progress, Tap};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How the metrics are made.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Bounds of the histograms.
    pub buckets: Buckets,
    /// Combinations of cgroup, algorithm and namespace that get series of their own.
    pub max_label_sets: usize,
    /// Names of a cgroup's path that are kept; `None` keeps all.
    pub cgroup_depth: Option<usize>,
    /// Whether the kernel measures BPF programs for us.
    pub bpf_stats: bool,
}

impl Options {
    /// [`Options::max_label_sets`] of [`Options::default`].
    pub const DEFAULT_LABEL_SETS: usize = 200;
}

impl Default for Options {
    fn default() -> Options {
        Options {
            buckets: Buckets::default(),
            max_label_sets: Self::DEFAULT_LABEL_SETS,
            cgroup_depth: None,
            bpf_stats: false,
        }
    }
}

/// All metrics of this host.
///
/// The recorder's thread takes one lock, that of the sockets, and holds it for the arithmetic of a chunk of rows. A
/// scrape takes it to move the increases out, and does the rest – names, text – under another one.
pub struct Exporter {
    sockets: Arc<Mutex<Sockets>>,
    shown: Mutex<Shown>,
    programs: Option<Programs>,
}

struct Shown {
    ledger: Ledger,
    labeller: Labeller,
    policies: PolicyScan,
    evicted: u64,
}

impl Exporter {
    /// Nothing counted yet. `only` is the kernel name that the recorder is limited to, if it is.
    ///
    /// # Errors
    /// [`crate::metrics::Error::BpfStats`].
    pub fn new(options: Options, only: Option<&str>) -> Result<Exporter> {
        let programs = options.bpf_stats.then(Programs::measure).transpose()?;
        let buckets = Arc::new(options.buckets);
        let shown = Shown {
            ledger: Ledger::new(Arc::clone(&buckets), options.max_label_sets),
            labeller: Labeller::new(options.cgroup_depth),
            policies: PolicyScan::new(),
            evicted: 0,
        };
        let sockets = Arc::new(Mutex::new(Sockets::new(buckets, only.and_then(name_bytes), MAX_SOCKETS)));
        Ok(Exporter { sockets, shown: Mutex::new(shown), programs })
    }

    /// What a recorder is to be given.
    #[must_use]
    pub fn tap(&self) -> Tap {
        let sockets = Arc::clone(&self.sockets);
        Arc::new(move |rows| lock(&sockets).add(rows))
    }

    /// Moves what has come to the label sets, reading the names that are new. To be called every second or so, so
    /// that a cgroup is looked up while it exists, and what waits for its name stays small.
    pub fn settle(&self) {
        drop(self.settled());
    }

    /// The text of a scrape: everything that has come up to now.
    #[must_use]
    pub fn scrape(&self, progress: &Progress) -> String {
        let mut page = Page::default();
        {
            let mut shown = self.settled();
            shown.policies.refresh(Instant::now());
            show::sockets(&mut page, &shown.ledger);
            show::bounds(&mut page, &shown.ledger, shown.evicted);
            shown.policies.show(&mut page);
        }
        show_recorder(&mut page, progress);
        if let Some(programs) = &self.programs {
            programs.show(&mut page);
        }
        show_build(&mut page);
        show_process(&mut page);
        page.text()
    }

    fn settled(&self) -> MutexGuard<'_, Shown> {
        let mut guard = lock(&self.shown);
        let taken = lock(&self.sockets).take();
        let wanted: HashSet<Ids> = taken.increases.keys().chain(taken.live.keys()).copied().collect();
        let Shown { ledger, labeller, evicted, .. } = &mut *guard;
        labeller.learn(&wanted);
        let increases = taken.increases.into_iter().map(|(ids, totals)| (labeller.labels(&ids), totals));
        let live = taken.live.iter().map(|(ids, count)| (labeller.labels(ids), *count));
        ledger.settle(increases, live, Instant::now());
        *evicted = taken.evicted;
        guard
    }
}

/// What a panicking thread has left is whole: every change of it is complete or has not begun.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
