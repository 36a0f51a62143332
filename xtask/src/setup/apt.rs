//! Installing packages on Debian and what is derived from it.

use super::privilege::Privilege;
use crate::error::{Error, PERMISSION, Result};
use crate::shell::{line, run, succeeds};
use std::process::{Command, Stdio};

/// Whether there is an apt-get.
pub fn available() -> bool {
    succeeds(Command::new("apt-get").arg("--version"))
}

/// Installs packages, saying which. The package lists are fetched only when they do not name one of them or are too
/// old to install from.
pub fn install(packages: &[&str]) -> Result {
    let by_hand = format!("sudo apt-get install {}", packages.join(" "));
    let privilege = Privilege::current();
    let Some(mut update) = apt_get(privilege, &["update"]) else {
        return Err(Error::new(
            PERMISSION,
            format!("installing packages needs root, and sudo does not work here: run `{by_hand}`, then repeat"),
        ));
    };
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    let mut install = apt_get(privilege, &arguments).expect("it was possible above");

    println!("installing with apt-get: {}", packages.join(" "));
    let mut updated = false;
    if !packages.iter().all(|package| is_known(package)) {
        shown(&mut update)?;
        updated = true;
    }
    match shown(&mut install) {
        Err(_) if !updated => {
            println!("apt-get failed with the package lists of this machine: fetching new ones");
            shown(&mut update)?;
            shown(&mut install)
        }
        result => result,
    }
}

fn shown(command: &mut Command) -> Result {
    println!("$ {}", line(command));
    // dpkg tells hundreds of lines of each package; what goes wrong is on stderr.
    run(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

/// apt-get as root, quiet and never asking; waits for another apt instead of failing.
fn apt_get(privilege: Privilege, arguments: &[&str]) -> Option<Command> {
    // Through env, because sudo passes on only the variables of its own list.
    let mut command = privilege.command("env")?;
    command.arg("DEBIAN_FRONTEND=noninteractive").args(["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]);
    command.args(arguments);
    Some(command)
}

/// Whether the package lists of this machine have a package.
fn is_known(package: &str) -> bool {
    succeeds(Command::new("apt-cache").args(["show", "--no-all-versions", package]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_never_asks_and_runs_as_root() {
        let line = |privilege| apt_get(privilege, &["update"]).map(|command| line(&command));
        let expected = "env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120 update";
        assert_eq!(line(Privilege::Root).as_deref(), Some(expected));
        assert_eq!(line(Privilege::Sudo), Some(format!("sudo {expected}")));
        assert_eq!(line(Privilege::None), None);
    }
}
