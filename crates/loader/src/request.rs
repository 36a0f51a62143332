//! What the user asks for, parsed before anything is touched.

use crate::error::{Error, Result};
use crate::names;
use ccactl_abi::layout::NAME_LEN;
use ccactl_abi::{Algorithm, CLASSIC_ECN, EcnNeed, Tunable, native};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt::TcpCongestion};
use std::ffi::OsString;
use std::path::PathBuf;

/// One `load`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    /// Algorithm, tunables and kernel name.
    pub choice: Choice,
    /// cgroup, relative to the cgroup2 mount or absolute below it.
    pub cgroup: PathBuf,
    /// Make the cgroup when it is missing.
    pub create: bool,
    /// Overrule what applications choose themselves.
    pub enforce: bool,
    /// Put other code or tunables behind a kernel name that is in use.
    pub replace: bool,
}

impl LoadRequest {
    /// A request for an existing cgroup.
    pub fn new(choice: impl Into<Choice>, cgroup: impl Into<PathBuf>) -> Self {
        Self { choice: choice.into(), cgroup: cgroup.into(), create: false, enforce: false, replace: false }
    }

    /// Whether to make the cgroup when it is missing.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether to overrule what applications choose themselves.
    #[must_use]
    pub fn enforce(mut self, enforce: bool) -> Self {
        self.enforce = enforce;
        self
    }

    /// Whether other code or tunables may take the place of what a kernel name stands for.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }
}

/// A checked algorithm with its kernel name and tunables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// One that is registered first.
    Registry(Loadable),
    /// The kernel's own algorithm.
    Native {
        /// Its name.
        kernel_name: String,
    },
}

/// An algorithm as it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loadable {
    /// Row of the registry, or what a file has.
    pub algorithm: &'static Algorithm,
    /// Name to register under.
    pub kernel_name: String,
    /// Tunables that the user set, with the value as stored, in the order of the row.
    pub tunables: Vec<(&'static Tunable, i64)>,
}

impl Loadable {
    /// An algorithm with its defaults, under its own kernel name or another one.
    ///
    /// # Errors
    /// [`Error::BadName`].
    pub fn new(algorithm: &'static Algorithm, as_name: Option<&str>) -> Result<Self> {
        let kernel_name = match as_name {
            Some(name) => names::kernel_name(name, algorithm)?,
            // That of a file may be anything.
            None if !algorithm.is_built_in() => names::kernel_name(algorithm.kernel_name, algorithm)?,
            None => algorithm.kernel_name.to_owned(),
        };
        Ok(Self { algorithm, kernel_name, tunables: Vec::new() })
    }

    /// A receiving algorithm with tunables as `(name, value)` and those of a preset that are not among them.
    ///
    /// # Errors
    /// Unknown algorithm, one that sends, unknown tunable or preset, bad value.
    pub fn receiver(name: &str, set: &[(String, String)], preset: Option<&str>) -> Result<Self> {
        let algorithm = names::pick_receiver(name)?;
        // Nothing is registered with the kernel, so there is no name for it.
        let mut loadable = Self { algorithm, kernel_name: String::new(), tunables: Vec::new() };
        set.iter().try_for_each(|(name, value)| loadable.set(name, value))?;
        preset.map_or(Ok(()), |preset| loadable.fill(preset))?;
        Ok(loadable)
    }

    /// Which ECN it needs as it is set.
    #[must_use]
    pub fn ecn(&self) -> EcnNeed {
        let is_classic = self.tunables.iter().any(|(tunable, raw)| tunable.name == CLASSIC_ECN && *raw != 0);
        match self.algorithm.ecn {
            EcnNeed::Accurate if is_classic => EcnNeed::Classic,
            need => need,
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let algorithm = self.algorithm;
        let tunable = algorithm.tunable(name).ok_or_else(|| Error::UnknownTunable {
            algorithm: algorithm.name,
            name: name.to_owned(),
            nearest: names::nearest(name, algorithm.tunables.iter().map(|tunable| tunable.name)),
        })?;
        if self.tunables.iter().any(|(other, _)| other.name == tunable.name) {
            return Err(Error::RepeatedTunable { algorithm: algorithm.name, name: name.to_owned() });
        }
        let raw = tunable.parse(value).map_err(|reason| Error::BadTunable {
            algorithm: algorithm.name,
            tunable,
            value: value.to_owned(),
            reason,
        })?;
        self.put(tunable, raw);
        Ok(())
    }

    fn fill(&mut self, preset: &str) -> Result<()> {
        let algorithm = self.algorithm;
        let known = algorithm.presets.iter().find(|known| known.name == preset);
        let known = known.ok_or_else(|| Error::UnknownPreset { algorithm, name: preset.to_owned() })?;
        for &(name, raw) in known.values {
            if !self.tunables.iter().any(|(set, _)| set.name == name) {
                self.put(algorithm.tunable(name).expect("checked when it was read"), raw);
            }
        }
        Ok(())
    }

    fn put(&mut self, tunable: &'static Tunable, raw: i64) {
        self.tunables.push((tunable, raw));
        let place = |name| self.algorithm.tunables.iter().position(|row| row.name == name);
        self.tunables.sort_by_key(|(tunable, _)| place(tunable.name));
    }
}

impl From<Loadable> for Choice {
    fn from(loadable: Loadable) -> Self {
        Self::Registry(loadable)
    }
}

impl Choice {
    /// Parses what `load`, `run` and a scenario take: `NAME`, a file (`.bpf.c`, `.bpf.o`), or `native:NAME` for the
    /// kernel's own algorithm; tunables as `(name, value)`; a kernel name instead of the registry's. The host is not
    /// looked at.
    ///
    /// # Errors
    /// Unknown algorithm or tunable, bad value, bad name.
    pub fn parse(algorithm: &str, set: &[(String, String)], as_name: Option<&str>) -> Result<Self> {
        let choice = match algorithm.strip_prefix("native:") {
            Some(name) => Self::native(name)?.named(as_name)?,
            None => Loadable::new(names::pick_algorithm(algorithm)?, as_name)?.into(),
        };
        set.iter().try_fold(choice, |choice, (name, value)| choice.with(name, value))
    }

    fn native(name: &str) -> Result<Self> {
        if name.is_empty() || name.len() >= NAME_LEN || Algorithm::by_kernel_name(name).is_some() {
            return Err(Error::UnknownNative { name: name.to_owned(), available: available_natives() });
        }
        Ok(Self::Native { kernel_name: name.to_owned() })
    }

    /// The same under another kernel name.
    ///
    /// # Errors
    /// [`Error::BadName`], [`Error::NativeTakesNo`].
    pub fn named(self, as_name: Option<&str>) -> Result<Self> {
        match self {
            Self::Registry(Loadable { algorithm, tunables, .. }) => {
                Ok(Self::Registry(Loadable { tunables, ..Loadable::new(algorithm, as_name)? }))
            }
            Self::Native { kernel_name } if as_name.is_some() => {
                Err(Error::NativeTakesNo { name: kernel_name, option: "other name (--as)" })
            }
            native @ Self::Native { .. } => Ok(native),
        }
    }

    /// The same with one more tunable.
    ///
    /// # Errors
    /// Unknown tunable, bad value, [`Error::NativeTakesNo`].
    pub fn with(mut self, name: &str, value: &str) -> Result<Self> {
        match &mut self {
            Self::Registry(loadable) => loadable.set(name, value).map(|()| self),
            Self::Native { kernel_name } => {
                Err(Error::NativeTakesNo { name: kernel_name.clone(), option: "tunables (--set)" })
            }
        }
    }

    /// The same with the tunables of a preset that have not been set; `None` changes nothing. Comes last.
    ///
    /// # Errors
    /// [`Error::UnknownPreset`], [`Error::NativeTakesNo`].
    pub fn preset(mut self, name: Option<&str>) -> Result<Self> {
        let Some(name) = name else { return Ok(self) };
        match &mut self {
            Self::Registry(loadable) => loadable.fill(name).map(|()| self),
            Self::Native { kernel_name } => {
                Err(Error::NativeTakesNo { name: kernel_name.clone(), option: "preset (--preset)" })
            }
        }
    }

    /// Whether the algorithm has a preset of this name.
    #[must_use]
    pub fn has_preset(&self, name: &str) -> bool {
        match self {
            Self::Registry(loadable) => loadable.algorithm.presets.iter().any(|preset| preset.name == name),
            Self::Native { .. } => false,
        }
    }

    /// Asks the kernel for its own algorithm, when that is the choice; its module is loaded.
    ///
    /// # Errors
    /// [`Error::UnknownNative`].
    pub fn check_native(&self) -> Result<()> {
        match self {
            Self::Native { kernel_name } => require_native(kernel_name),
            Self::Registry(_) => Ok(()),
        }
    }

    /// Name that sockets show.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        match self {
            Self::Registry(Loadable { kernel_name, .. }) | Self::Native { kernel_name } => kernel_name,
        }
    }

    /// Which ECN its connections ask for.
    #[must_use]
    pub fn ecn(&self) -> EcnNeed {
        match self {
            Self::Registry(loadable) => loadable.ecn(),
            Self::Native { kernel_name } if native::NEGOTIATE_ECN.contains(&kernel_name.as_str()) => EcnNeed::Classic,
            Self::Native { .. } => EcnNeed::None,
        }
    }

    /// Tunables that the user set.
    #[must_use]
    pub fn tunables(&self) -> &[(&'static Tunable, i64)] {
        match self {
            Self::Registry(loadable) => &loadable.tunables,
            Self::Native { .. } => &[],
        }
    }

    /// Name as the user writes it.
    #[must_use]
    pub fn algorithm_name(&self) -> String {
        match self {
            Self::Registry(loadable) => loadable.algorithm.name.to_owned(),
            Self::Native { kernel_name } => format!("native:{kernel_name}"),
        }
    }

    /// The same with the hash of its code where that is not the one of the name: see [`exact_name`](crate::exact_name).
    #[must_use]
    pub fn exact_name(&self) -> String {
        match self {
            Self::Registry(loadable) => names::exact_name(loadable.algorithm),
            Self::Native { .. } => self.algorithm_name(),
        }
    }
}

/// The kernel's names that are not of our making, for messages.
pub(crate) fn available_natives() -> String {
    let mut names = names::registered().unwrap_or_default();
    names.retain(|name| Algorithm::by_kernel_name(name).is_none());
    names.join(", ")
}

/// Asks the kernel for one of its own algorithms the way an application does, which also loads its module. Programs
/// cannot load modules later.
pub(crate) fn require_native(name: &str) -> Result<()> {
    let unknown = || Error::UnknownNative { name: name.to_owned(), available: available_natives() };
    if name.is_empty() || name.len() >= NAME_LEN || Algorithm::by_kernel_name(name).is_some() {
        return Err(unknown());
    }
    if native::NOT_BY_BPF.contains(&name) {
        return Err(Error::NativeNotByBpf { name: name.to_owned() });
    }
    let probe = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|errno| Error::Io { what: "cannot open a TCP socket".to_owned(), source: errno.into() })?;
    setsockopt(&probe, TcpCongestion, &OsString::from(name)).map_err(|_| unknown())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NameProblem;
    use ccactl_abi::layout::{MAX_TUNABLES, TUNABLE_NAME_LEN};
    use ccactl_abi::{ALGORITHMS, TunableError};

    fn f_bbrv2(set: &[(&str, &str)]) -> Result<Choice> {
        let set: Vec<_> = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Choice::parse("f-bbrv2", &set, None)
    }

    #[test]
    fn every_row_fits_into_the_record_of_a_load() {
        for algorithm in ALGORITHMS.iter() {
            assert!(algorithm.tunables.len() <= MAX_TUNABLES, "{}", algorithm.name);
            assert!(algorithm.name.len() < TUNABLE_NAME_LEN, "{}", algorithm.name);
            for tunable in algorithm.tunables {
                assert!(tunable.name.len() < TUNABLE_NAME_LEN, "{}: {}", algorithm.name, tunable.name);
            }
        }
    }

    #[test]
    fn without_another_name_the_registry_gives_the_kernel_name() {
        let choice = f_bbrv2(&[]).unwrap();
        assert_eq!((choice.kernel_name(), choice.algorithm_name().as_str()), ("f_bbrv2", "f-bbrv2"));
        let native = Choice::parse("native:cubic", &[], None).unwrap();
        assert_eq!((native.kernel_name(), native.algorithm_name().as_str()), ("cubic", "native:cubic"));
    }

    /// The kernel says so only when a socket is to get it, and then the socket would keep the host's default.
    #[test]
    fn a_native_algorithm_that_no_program_may_choose_is_refused() {
        let choice = Choice::parse("native:cdg", &[], None).unwrap();
        let error = choice.check_native().unwrap_err();
        assert!(error.to_string().starts_with("native:cdg cannot be given to a cgroup"), "{error}");
    }

    #[test]
    fn a_native_algorithm_takes_neither_tunables_nor_another_name() {
        let set = [("alpha".to_owned(), "1".to_owned())];
        assert!(matches!(Choice::parse("native:cubic", &set, None), Err(Error::NativeTakesNo { .. })));
        assert!(matches!(Choice::parse("native:cubic", &[], Some("x")), Err(Error::NativeTakesNo { .. })));
        for name in ["native:", "native:f_bbrv2", "native:a_name_too_long_for_the_kernel"] {
            assert!(matches!(Choice::parse(name, &[], None), Err(Error::UnknownNative { .. })), "{name}");
        }
    }

    #[test]
    fn each_way_to_get_a_tunable_wrong_has_its_own_message() {
        let row = names::pick_algorithm("f-bbrv2").unwrap();
        let tunable = row.tunables.iter().find(|tunable| tunable.scale == 1000).expect("one with three decimals");
        let reason = |value: &str| match f_bbrv2(&[(tunable.name, value)]) {
            Err(Error::BadTunable { reason, .. }) => reason,
            other => panic!("{value}: {other:?}"),
        };
        assert_eq!(reason("fast"), TunableError::NotANumber);
        assert_eq!(reason("1.00001"), TunableError::TooFine { decimals: 3 });
        assert_eq!(reason("999999999"), TunableError::OutOfRange);
        let message = f_bbrv2(&[(tunable.name, "999999999")]).unwrap_err().to_string();
        assert!(message.contains(&tunable.display(tunable.max_raw)), "{message}");

        let slip = format!("{}x", tunable.name);
        match f_bbrv2(&[(&slip, "1")]) {
            Err(Error::UnknownTunable { nearest, .. }) => assert!(nearest.iter().any(|name| name == tunable.name)),
            other => panic!("{other:?}"),
        }
        let value = tunable.display(tunable.default_raw);
        let twice = f_bbrv2(&[(tunable.name, &value), (tunable.name, &value)]);
        assert!(matches!(twice, Err(Error::RepeatedTunable { .. })));
    }

    #[test]
    fn a_preset_sets_what_the_user_has_not() {
        let p1 = |set: &[(&str, &str)]| f_bbrv2(set).unwrap().preset(Some("p1")).unwrap();
        let values = |choice: &Choice| -> Vec<(&str, i64)> {
            choice.tunables().iter().map(|(tunable, raw)| (tunable.name, *raw)).collect()
        };
        let row = names::pick_algorithm("f-bbrv2").unwrap();
        let mut of_preset = row.presets.iter().find(|preset| preset.name == "p1").expect("it has p1").values.to_vec();
        of_preset.sort_by_key(|(name, _)| row.tunables.iter().position(|tunable| tunable.name == *name));
        assert_eq!(values(&p1(&[])), of_preset);
        let other = values(&p1(&[("up_sets_hi", "0")]));
        assert!(other.contains(&("up_sets_hi", 0)) && !other.contains(&("up_sets_hi", 1)), "{other:?}");
        assert_eq!(f_bbrv2(&[]).unwrap().preset(None).unwrap(), f_bbrv2(&[]).unwrap());
    }

    #[test]
    fn an_unknown_preset_is_refused_with_those_that_there_are() {
        let refused =
            |algorithm: &str| Choice::parse(algorithm, &[], None).unwrap().preset(Some("p9")).unwrap_err().to_string();
        assert_eq!(refused("f-bbrv2"), "f-bbrv2 has no preset 'p9'; it has p1");
        assert_eq!(refused("reno"), "reno has no preset 'p9', nor any other");
        assert!(refused("native:cubic").contains("takes no preset"), "{}", refused("native:cubic"));
    }

    #[test]
    fn a_name_is_checked_with_the_request() {
        let named = |name: &str| Choice::parse("f-bbrv2", &[], Some(name));
        assert_eq!(named("fbbr-a13").unwrap().kernel_name(), "fbbr_a13");
        let problem = |name: &str| match named(name) {
            Err(Error::BadName { problem, .. }) => problem,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(problem("a_name_of_16_byt"), NameProblem::TooLong);
        assert_eq!(problem("cubic"), NameProblem::Native);
        assert_eq!(problem("bbrv2"), NameProblem::OtherAlgorithm("bbrv2"));
    }
}
