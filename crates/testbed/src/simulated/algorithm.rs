//! The algorithms of a simulated run, compiled for the host: those of the registry, and C files of the user.

use crate::bench::choice;
use crate::error::{Error, Result};
use ccactl_abi::{Algorithm, EcnNeed, exit};
use ccactl_host::errln;
use ccactl_loader::{Choice, Loadable, source_of};
use ccactl_native::{Socket, Unit, build, on_overdue};
use ccactl_recording::write::KnownAlgorithm;
use ccactl_scenario::Wanted;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{io, process};

/// Why a tunable that the loader knows is known to the code for the host.
const ONE_FILE: &str = "one C file declares the tunables of both";
/// A callback takes nanoseconds.
const CALLBACK_LIMIT: Duration = Duration::from_secs(2);

/// What a flow or a swap asks for.
#[derive(Clone)]
pub struct Simulated {
    /// What recordings call it.
    pub kernel_name: String,
    /// Which ECN it needs, as it is set.
    pub ecn: EcnNeed,
    /// Of the registry.
    pub algorithm: &'static Algorithm,
    /// Its code.
    unit: Unit,
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
        let Some(unit) = unit(loadable.algorithm)? else { return Ok(None) };
        let shown = loadable.tunables.iter().map(|(tunable, raw)| (tunable.name.to_owned(), tunable.display(*raw)));
        Ok(Some(Simulated {
            ecn: loadable.ecn(),
            algorithm: loadable.algorithm,
            unit,
            shown: shown.collect(),
            tunables: loadable.tunables.iter().map(|(tunable, raw)| (tunable.name, *raw)).collect(),
            kernel_name: loadable.kernel_name,
        }))
    }

    /// A socket with it, not initialised.
    pub fn socket(&self, seed: u64) -> Socket {
        let mut socket = Socket::of(self.unit);
        self.set(&mut socket).expect(ONE_FILE);
        socket.set_seed(seed);
        socket.record(true);
        socket
    }

    /// Gives it to a socket that has another one.
    pub fn swap(&self, socket: &mut Socket) {
        socket.swap_to(self.unit, |socket| self.set(socket)).expect(ONE_FILE);
    }

    fn set(&self, socket: &mut Socket) -> std::result::Result<(), ccactl_native::Error> {
        self.tunables.iter().try_for_each(|(name, raw)| socket.set_tunable(name, *raw))
    }

    fn known(&self) -> KnownAlgorithm {
        let mut known = KnownAlgorithm::with_defaults(self.algorithm);
        known.kernel_name.clone_from(&self.kernel_name);
        known.tunables.extend(self.shown.iter().cloned());
        known
    }
}

/// The code of an algorithm for this host; none where there is no C file of it.
fn unit(algorithm: &'static Algorithm) -> Result<Option<Unit>> {
    static BUILT: Mutex<BTreeMap<u64, Unit>> = Mutex::new(BTreeMap::new());
    if algorithm.is_built_in() {
        return Ok(Unit::by_name(algorithm.name, false));
    }
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(unit) = built.get(&algorithm.hash()) {
        return Ok(Some(*unit));
    }
    let Some(source) = source_of(algorithm) else { return Ok(None) };
    let room = tempfile::tempdir().map_err(Error::system("make a folder for the compiler"))?;
    let library = build(&source, room.path())?;
    // SAFETY: it was made by `build` just now.
    let unit = unsafe { Unit::load(&library) }
        .map_err(|error| Error::system(format!("load {}", library.display()))(io::Error::other(error)))?;
    on_overdue(CALLBACK_LIMIT, move |function| {
        let place = unit.place(function).map_or_else(|| "a callback".to_owned(), |place| place.to_string());
        errln!("{place} had not returned after {} s: a loop without a bound?", CALLBACK_LIMIT.as_secs());
        process::exit(exit::FAILURE.into());
    });
    built.insert(algorithm.hash(), unit);
    Ok(Some(unit))
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
