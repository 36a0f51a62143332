//! Names of algorithms: the kernel's own, the registry's, and what the user may have meant.

use crate::error::{Error, NameProblem, Result};
use crate::source;
use ccactl_abi::layout::NAME_LEN;
use ccactl_abi::{ALGORITHMS, Algorithm, Kind, RECEIVERS, native};
use std::fs;
use std::path::Path;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Every name that the kernel knows at this moment, ours included.
pub(crate) fn registered() -> Result<Vec<String>> {
    let text = fs::read_to_string(AVAILABLE).map_err(Error::io(format!("cannot read {AVAILABLE}")))?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Turns the name of `--as` into a kernel name: `-` becomes `_`.
///
/// # Errors
/// [`Error::BadName`] when it is too long, has other characters, or belongs to another algorithm.
pub(crate) fn kernel_name(name: &str, of: &Algorithm) -> Result<String> {
    let bad = |problem| Err(Error::BadName { name: name.to_owned(), problem });
    if name.is_empty() {
        return bad(NameProblem::Empty);
    }
    if name.len() >= NAME_LEN {
        return bad(NameProblem::TooLong);
    }
    if !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-') {
        return bad(NameProblem::Characters);
    }
    let kernel_name = name.replace('-', "_");
    if native::NAMES.contains(&name) || native::NAMES.contains(&kernel_name.as_str()) {
        return bad(NameProblem::Native);
    }
    match Algorithm::by_kernel_name(&kernel_name) {
        Some(other) if other.name != of.name => bad(NameProblem::OtherAlgorithm(other.name)),
        _ => Ok(kernel_name),
    }
}

/// What stands for this very code, whatever becomes of the file that it is from: `NAME`, or `NAME-HASH.bpf.o`. This process
/// knows what it has read; for others it is the name of a file.
#[must_use]
pub fn exact_name(algorithm: &Algorithm) -> String {
    if algorithm.is_built_in() {
        return algorithm.name.to_owned();
    }
    format!("{}-{:016x}{}", algorithm.name, algorithm.hash(), source::OBJECT)
}

/// The name and the hash of an [`exact_name`] of code from a file.
fn exact_parts(name: &str) -> Option<(&str, u64)> {
    let (name, hash) = name.strip_suffix(source::OBJECT)?.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some((name, u64::from_str_radix(hash, 16).ok().filter(|_| is_hash)?))
}

/// What a person calls the algorithm of an [`exact_name`]: its name alone.
#[must_use]
pub fn plain_name(algorithm: &str) -> &str {
    exact_parts(algorithm).map_or(algorithm, |(name, _)| name)
}

/// The algorithm of an [`exact_name`] of this process. With a folder it is the name of a file.
fn known_exactly(name: &str) -> Option<&'static Algorithm> {
    let (name, hash) = exact_parts(name)?;
    Algorithm::by_hash(hash).filter(|algorithm| algorithm.name == name && !algorithm.is_built_in())
}

/// An algorithm as it stands in a file of the user. What it names by a path is relative to `folder`. From now on this
/// process means the code that the path has at this moment.
///
/// # Errors
/// Those of [`pick_algorithm`] for a path.
pub fn settle_algorithm(folder: &Path, algorithm: &str) -> Result<String> {
    if !source::is_file(algorithm) {
        return Ok(algorithm.to_owned());
    }
    match known_exactly(algorithm) {
        Some(known) => Ok(exact_name(known)),
        None => source::algorithm(&folder.join(algorithm)).map(exact_name),
    }
}

/// The algorithm that decides what a socket sends, by its name or of a file (`.bpf.c`, `.bpf.o`).
///
/// # Errors
/// [`Error::UnknownAlgorithm`] with the nearest names, [`Error::WrongKind`]; of a file those of reading and compiling it.
pub fn pick_algorithm(name: &str) -> Result<&'static Algorithm> {
    of_kind(pick_either(name)?, Kind::Send)
}

/// The algorithm that decides what window a socket offers, as [`pick_algorithm`].
///
/// # Errors
/// Those of [`pick_algorithm`].
pub fn pick_receiver(name: &str) -> Result<&'static Algorithm> {
    let known = |error| match error {
        Error::UnknownAlgorithm { name, .. } => {
            let nearest = nearest(&name, RECEIVERS.iter().map(|algorithm| algorithm.name));
            Error::UnknownAlgorithm { name, nearest }
        }
        other => other,
    };
    of_kind(pick_either(name).map_err(known)?, Kind::Receive)
}

fn of_kind(algorithm: &'static Algorithm, kind: Kind) -> Result<&'static Algorithm> {
    if algorithm.kind == kind { Ok(algorithm) } else { Err(Error::WrongKind { algorithm }) }
}

/// An algorithm of either kind.
///
/// # Errors
/// Those of [`pick_algorithm`], but [`Error::WrongKind`].
pub fn pick_either(name: &str) -> Result<&'static Algorithm> {
    if let Some(algorithm) = Algorithm::by_name(name).or_else(|| Algorithm::receiver_by_name(name)) {
        return Ok(algorithm);
    }
    if source::is_file(name) {
        return known_exactly(name).map_or_else(|| source::algorithm(Path::new(name)), Ok);
    }
    let mut nearest = nearest(name, ALGORITHMS.iter().map(|algorithm| algorithm.name));
    // Those who type the kernel name, or the name of a native algorithm of this host, get exactly the one that they mean.
    let is_here = || registered().is_ok_and(|names| names.iter().any(|other| other == name));
    let meant = Algorithm::by_kernel_name(name)
        .map(|algorithm| algorithm.name.to_owned())
        .or_else(|| (native::NAMES.contains(&name) && is_here()).then(|| format!("native:{name}")));
    if let Some(meant) = meant {
        nearest.retain(|other| *other != meant);
        nearest.insert(0, meant);
    }
    Err(Error::UnknownAlgorithm { name: name.to_owned(), nearest })
}

/// Up to three of `candidates` that resemble `name`, best first.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<String> {
    const ALIKE: f64 = 0.7;
    let mut scored: Vec<(f64, &str)> = candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(3).map(|(_, candidate)| candidate.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno() -> &'static Algorithm {
        Algorithm::by_name("reno").expect("reno is a row")
    }

    #[test]
    fn a_copy_of_a_file_is_called_as_the_file_was() {
        let named = ["mine-343fcb6cf6a92e69.bpf.o", "f-bbrv2", "native:cubic", "my-own.bpf.o"].map(plain_name);
        assert_eq!(named, ["mine", "f-bbrv2", "native:cubic", "my-own.bpf.o"]);
    }

    fn problem(name: &str) -> Option<NameProblem> {
        match kernel_name(name, reno()) {
            Err(Error::BadName { problem, .. }) => Some(problem),
            _ => None,
        }
    }

    #[test]
    fn a_hyphen_becomes_an_underscore() {
        assert_eq!(kernel_name("fbbr-a13", reno()).unwrap(), "fbbr_a13");
        assert_eq!(kernel_name("fifteen_bytes_x", reno()).unwrap(), "fifteen_bytes_x");
    }

    #[test]
    fn a_name_that_the_kernel_cannot_take_is_refused() {
        assert_eq!(problem(""), Some(NameProblem::Empty));
        assert_eq!(problem("sixteen_bytes_xy"), Some(NameProblem::TooLong));
        for name in ["Reno", "a b", "a/b", "naïve", "a.b"] {
            assert_eq!(problem(name), Some(NameProblem::Characters), "{name}");
        }
        for name in ["cubic", "dctcp-reno", "vegas"] {
            assert_eq!(problem(name), Some(NameProblem::Native), "{name}");
        }
    }

    #[test]
    fn no_registry_row_has_a_native_or_overlong_kernel_name() {
        for algorithm in ALGORITHMS.iter() {
            assert_eq!(kernel_name(algorithm.kernel_name, algorithm).unwrap(), algorithm.kernel_name);
        }
    }

    #[test]
    fn the_kernel_name_of_another_row_is_refused_and_the_own_one_taken() {
        assert_eq!(problem("bpf_reno"), None);
        for other in ALGORITHMS.iter().filter(|algorithm| algorithm.name != "reno") {
            assert_eq!(problem(other.kernel_name), Some(NameProblem::OtherAlgorithm(other.name)));
        }
    }

    #[test]
    fn a_slip_of_the_finger_gets_the_nearest_names() {
        let names = ["reno", "cubic", "bbr", "bbrv2", "f-bbrv2"];
        assert_eq!(nearest("cubc", names.into_iter())[0], "cubic");
        assert_eq!(nearest("fbbrv2", names.into_iter())[0], "f-bbrv2");
        assert!(nearest("zzz", names.into_iter()).is_empty());
    }

    #[test]
    fn a_native_algorithm_that_this_host_has_not_is_not_offered() {
        let offered = |name| match pick_algorithm(name) {
            Err(Error::UnknownAlgorithm { nearest, .. }) => nearest.contains(&format!("native:{name}")),
            other => panic!("{other:?}"),
        };
        let here = registered().expect("the kernel lists them");
        for name in ["bbr2", "highspeed"] {
            assert_eq!(
                offered(name),
                native::NAMES.contains(&name) && here.iter().any(|other| other == name),
                "{name}"
            );
        }
    }

    #[test]
    fn the_kernel_name_of_a_row_leads_to_the_row() {
        match pick_algorithm("bpf_reno") {
            Err(Error::UnknownAlgorithm { nearest, .. }) => assert_eq!(nearest[0], "reno"),
            other => panic!("{other:?}"),
        }
    }
}
