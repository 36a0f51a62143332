//! The algorithms of a simulated run: those of the registry, compiled for the host.

use crate::bench::choice;
use crate::error::Result;
use ccactl_abi::{Algorithm, EcnNeed};
use ccactl_loader::{Choice, Loadable};
use ccactl_native::Socket;
use ccactl_recording::write::KnownAlgorithm;
use ccactl_scenario::Wanted;

/// What a flow or a swap asks for.
#[derive(Clone)]
pub struct Simulated {
    /// What recordings call it.
    pub kernel_name: String,
    /// Which ECN it needs, as it is set.
    pub ecn: EcnNeed,
    /// Of the registry.
    pub algorithm: &'static Algorithm,
    /// Tunables that are not at their defaults, as stored.
    tunables: Vec<(&'static str, i64)>,
    /// The same as users write them.
    shown: Vec<(String, String)>,
}

impl Simulated {
    /// None where nothing stands for it here. The kernel's own algorithms are simulated by the registry's of the same name.
    pub fn of(wanted: Wanted<'_>) -> Result<Option<Simulated>> {
        let loadable = match choice(wanted)? {
            Choice::Registry(loadable) => loadable,
            Choice::Native { kernel_name } => match Algorithm::by_name(&kernel_name) {
                Some(algorithm) => Loadable::new(algorithm, None)?,
                None => return Ok(None),
            },
        };
        if !loadable.algorithm.is_built_in() {
            return Ok(None);
        }
        let shown = loadable.tunables.iter().map(|(tunable, raw)| (tunable.name.to_owned(), tunable.display(*raw)));
        Ok(Some(Simulated {
            ecn: loadable.ecn(),
            algorithm: loadable.algorithm,
            shown: shown.collect(),
            tunables: loadable.tunables.iter().map(|(tunable, raw)| (tunable.name, *raw)).collect(),
            kernel_name: loadable.kernel_name,
        }))
    }

    /// A socket with it, not initialised.
    pub fn socket(&self, seed: u64) -> Socket {
        let mut socket = Socket::new(self.algorithm.name).expect("the registry and the host's units are of one folder");
        self.set(&mut socket);
        socket.set_seed(seed);
        socket.record(true);
        socket
    }

    /// Gives it to a socket that has another one.
    pub fn swap(&self, socket: &mut Socket) {
        socket.swap(self.algorithm.name).expect("the registry and the host's units are of one folder");
        self.set(socket);
    }

    fn set(&self, socket: &mut Socket) {
        for (name, raw) in &self.tunables {
            socket.set_tunable(name, *raw).expect("one file declares the tunables of both");
        }
    }

    fn known(&self) -> KnownAlgorithm {
        let mut known = KnownAlgorithm::with_defaults(self.algorithm);
        known.kernel_name.clone_from(&self.kernel_name);
        known.tunables.extend(self.shown.iter().cloned());
        known
    }
}

/// Those of a scenario.
pub struct Algorithms {
    /// By flow.
    pub flows: Vec<Simulated>,
    /// By swap.
    pub swaps: Vec<Simulated>,
}

impl Algorithms {
    /// What the flows begin with, as recordings call it.
    pub fn at_start(&self) -> Vec<String> {
        self.flows.iter().map(|of| of.kernel_name.clone()).collect()
    }

    /// For the recording.
    pub fn known(&self) -> Vec<KnownAlgorithm> {
        self.flows.iter().chain(&self.swaps).map(Simulated::known).collect()
    }
}
