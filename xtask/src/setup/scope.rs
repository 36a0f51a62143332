//! For what a machine is prepared.

/// What the machine is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Building and running `ccactl`, which calls no other program.
    Build,
    /// Guests of the virtual lab.
    Lab,
    /// `cargo xtask test`.
    Test,
    /// `cargo xtask lint`.
    Lint,
}

impl Scope {
    /// Whether it needs what another one needs: everything is built first, and tests boot guests.
    pub(super) fn includes(self, other: Scope) -> bool {
        match other {
            Scope::Build => true,
            Scope::Lab => self != Scope::Build,
            other => other == self,
        }
    }
}
