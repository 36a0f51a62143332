//! How to do what only root may.

use crate::shell::succeeds;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// What this process may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// It is root.
    Root,
    /// `sudo` works, or will after it has asked for a password on this terminal.
    Sudo,
    /// Neither.
    None,
}

impl Privilege {
    /// Finds out, without asking for a password.
    pub fn current() -> Self {
        if is_root() {
            Privilege::Root
        } else if succeeds(Command::new("sudo").args(["-n", "true"]))
            || (std::io::stdin().is_terminal() && succeeds(Command::new("sudo").arg("-V")))
        {
            Privilege::Sudo
        } else {
            Privilege::None
        }
    }

    /// A command that will run as root, or `None`.
    pub fn command(self, program: &str) -> Option<Command> {
        match self {
            Privilege::Root => Some(Command::new(program)),
            Privilege::Sudo => {
                let mut command = Command::new("sudo");
                command.arg(program);
                Some(command)
            }
            Privilege::None => None,
        }
    }
}

/// Whether the effective user is root: the kernel gives `/proc/self` to that user.
pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

/// Arguments for cargo that make it start what it built through sudo.
pub fn sudo_runner() -> [&'static str; 2] {
    ["--config", "target.'cfg(unix)'.runner=['sudo','-E']"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_prefixed_only_where_it_must_be() {
        let line = |p: Privilege| p.command("apt-get").map(|c| crate::shell::line(&c));
        assert_eq!(line(Privilege::Root).as_deref(), Some("apt-get"));
        assert_eq!(line(Privilege::Sudo).as_deref(), Some("sudo apt-get"));
        assert_eq!(line(Privilege::None), None);
    }
}
