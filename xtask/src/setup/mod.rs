//! `cargo xtask setup`: what the host offers, then what is missing on it.

mod apt;
mod distro;
pub mod host;
pub mod privilege;
mod requirement;
pub mod s3;
mod scope;

use crate::error::{Error, FAILURE, Result};
use crate::shell::heading;
use distro::Family;
use requirement::{REQUIREMENTS, Requirement};
pub use scope::Scope;

/// Shows what the kernel offers and installs what is missing. Does nothing on a machine that is ready.
pub fn run(scope: Scope) -> Result {
    heading("kernel");
    host::mount_bpffs();
    host::print(&host::inspect());
    tools(scope)
}

/// Installs what is missing for a scope, or says what to install and stops.
pub fn tools(scope: Scope) -> Result {
    heading("set-up");
    let lacking = missing(scope);
    if lacking.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    for requirement in &lacking {
        println!("missing: {:<24} {}", requirement.name, requirement.purpose);
    }
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    match Family::detect(&os_release, apt::available()) {
        Some(Family::Debian) => apt::install(&packages(&lacking, Family::Debian))?,
        other => return Err(Error::new(FAILURE, by_hand(&lacking, other, &distro::name(&os_release)))),
    }
    let still: Vec<&str> = missing(scope).iter().map(|r| r.name).collect();
    if still.is_empty() {
        return Ok(());
    }
    Err(Error::new(
        FAILURE,
        format!(
            "the packages are installed, but these still do not work: {}; does PATH or CLANG point to another one?",
            still.join(", ")
        ),
    ))
}

fn missing(scope: Scope) -> Vec<&'static Requirement> {
    REQUIREMENTS.iter().filter(|r| scope.includes(r.scope) && !(r.works)()).collect()
}

/// Packages that bring the requirements, each once.
fn packages(requirements: &[&Requirement], family: Family) -> Vec<&'static str> {
    let mut names: Vec<&str> =
        requirements.iter().flat_map(|r| r.packages.of(family).split(' ')).filter(|name| !name.is_empty()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What to type on a distribution that xtask does not install on by itself.
fn by_hand(requirements: &[&Requirement], family: Option<Family>, distribution: &str) -> String {
    let (family, command) = match family {
        Some(family) => {
            (family, format!("`{} {}`", family.install_command(), packages(requirements, family).join(" ")))
        }
        None => {
            let names = packages(requirements, Family::Debian).join(" ");
            (Family::Debian, format!("what Debian calls: {names}"))
        }
    };
    debug_assert!(!packages(requirements, family).is_empty());
    format!("packages are installed by xtask only with apt-get; on {distribution} install {command}, then repeat")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<&'static Requirement> {
        REQUIREMENTS.iter().collect()
    }

    #[test]
    fn every_requirement_has_a_package_in_every_family() {
        for requirement in REQUIREMENTS {
            for family in Family::ALL {
                assert!(!requirement.packages.of(family).is_empty(), "{} on {family:?}", requirement.name);
            }
        }
    }

    #[test]
    fn a_package_that_serves_two_requirements_is_named_once() {
        let names = packages(&all(), Family::Arch);
        assert_eq!(names.iter().filter(|name| **name == "clang").count(), 1, "{names:?}");
    }

    #[test]
    fn another_distribution_gets_its_own_names_and_command() {
        let text = by_hand(&all(), Some(Family::Fedora), "Fedora Linux 43");
        assert!(text.contains("on Fedora Linux 43 install `dnf install "), "{text}");
        assert!(text.contains("elfutils-libelf-devel"), "{text}");
        assert!(!text.contains("libelf-dev "), "{text}");
    }

    #[test]
    fn an_unknown_distribution_gets_the_debian_names_to_translate() {
        let text = by_hand(&all(), None, "an unknown distribution");
        assert!(text.contains("what Debian calls: "), "{text}");
        assert!(text.contains("libelf-dev"), "{text}");
    }

    #[test]
    fn building_needs_less_than_the_tests_and_the_gates() {
        let count = |scope: Scope| REQUIREMENTS.iter().filter(|r| scope.includes(r.scope)).count();
        assert!(count(Scope::Build) < count(Scope::Test));
        assert!(count(Scope::Build) < count(Scope::Lint));
    }
}
