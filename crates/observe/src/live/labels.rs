//! What the numbers and kernel names of rows are called.

use crate::live::board::Board;
use crate::live::names::Names;
use ccactl_abi::Algorithm;
use ccactl_abi::layout::name_str;
use ccactl_collector::Resolver;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How often it is asked again what stands behind the name of an algorithm from a file.
const AGAIN: Duration = Duration::from_secs(1);

/// Names of cgroups and namespaces, and what the registry knows of algorithms.
pub struct Labels {
    names: Names,
    resolve: Resolver,
    /// `None`: asked, nobody knows it.
    algorithms: HashMap<String, Option<&'static Algorithm>>,
    /// When those from files were looked at last.
    looked: Option<Instant>,
}

/// The numbers and kernel names that a board has.
pub struct Unlabelled {
    cgroups: Vec<u64>,
    netns: Vec<u32>,
    algorithms: Vec<String>,
}

impl Unlabelled {
    /// All of a board's; quick, so that the board is soon free for the next rows.
    #[must_use]
    pub fn of(board: &Board) -> Unlabelled {
        let mut netns: Vec<u32> = board.flows().map(|flow| flow.last.netns).collect();
        netns.sort_unstable();
        netns.dedup();
        Unlabelled {
            cgroups: board.cgroups().map(|(id, _)| id).collect(),
            netns,
            algorithms: board.algorithms().map(|(name, _)| name_str(name).to_owned()).collect(),
        }
    }
}

impl Labels {
    /// Labels by these names; `resolve` says what stands behind a kernel name.
    #[must_use]
    pub fn new(names: Names, resolve: Resolver) -> Labels {
        Labels { names, resolve, algorithms: HashMap::new(), looked: None }
    }

    /// Looks up what is new.
    pub fn learn(&mut self, unlabelled: Unlabelled) {
        self.names.learn(unlabelled.cgroups, unlabelled.netns);
        // Behind the name of an algorithm from a file there may be other code by now (`ccactl dev`).
        let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= AGAIN);
        if is_due {
            self.looked = Some(Instant::now());
        }
        for name in unlabelled.algorithms {
            let is_settled = match self.algorithms.get(&name) {
                None => false,
                Some(known) => known.is_none_or(Algorithm::is_built_in) || !is_due,
            };
            if !is_settled {
                let known = (self.resolve)(&name).map(|known| known.algorithm);
                self.algorithms.insert(name, known);
            }
        }
    }

    /// What is called what.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Row of the registry behind a kernel name; `None` for the kernel's own and for those of others.
    #[must_use]
    pub fn algorithm(&self, kernel_name: &str) -> Option<&'static Algorithm> {
        self.algorithms.get(kernel_name).copied().flatten()
    }

    /// Name of a phase. One without a name is shown by number, as in a recording.
    #[must_use]
    pub fn phase(&self, kernel_name: &str, mode: u32) -> String {
        let modes = self.algorithm(kernel_name).map_or(&[][..], |algorithm| algorithm.modes);
        modes.get(mode as usize).map_or_else(|| mode.to_string(), |name| (*name).to_owned())
    }
}
