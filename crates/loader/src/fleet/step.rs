//! One step of a plan: what one cgroup has, what it should have, and what to do.

use crate::fleet::code::Code;
use crate::fleet::file::Entry;
use crate::{LoadRequest, PolicyStatus, State};

/// What one cgroup needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing, it is as the file says.
    Keep,
    /// Nothing yet: the cgroup does not exist and the file does not say to make it.
    Wait,
    /// A policy, where there is none.
    Load,
    /// The cgroup and its policy.
    Create,
    /// Another algorithm, name or version.
    Switch,
    /// The same again: the program was detached or the algorithm unregistered behind ccactl's back, or a ccactl was
    /// killed while it changed the policy.
    Repair,
    /// What applications choose is to be overruled, or no longer.
    Enforcement,
    /// So many live sockets do not have what the policy says.
    Move {
        /// How many.
        sockets: u64,
    },
    /// It cannot be done: the kernel name stands for other code.
    Conflict {
        /// What to do about it.
        message: String,
    },
    /// To be taken back, for it is not in the file.
    Prune,
    /// Nothing, although it is not in the file.
    Leave,
    /// To be cleared: the cgroup was removed, so the policy affects nothing.
    Clear,
}

impl Action {
    /// One word for tables and JSON.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Wait => "wait",
            Self::Load => "load",
            Self::Create => "create",
            Self::Switch => "switch",
            Self::Repair => "repair",
            Self::Enforcement => "enforcement",
            Self::Move { .. } => "move",
            Self::Conflict { .. } => "conflict",
            Self::Prune => "prune",
            Self::Leave => "leave",
            Self::Clear => "clear",
        }
    }

    /// Whether it gives the cgroup what its entry says.
    pub(crate) fn loads(&self) -> bool {
        matches!(self, Self::Load | Self::Create | Self::Switch | Self::Repair | Self::Enforcement | Self::Move { .. })
    }
}

/// One cgroup of the file, or one policy that is not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Relative to the cgroup2 mount; `(id 4711)` when the cgroup was removed.
    pub cgroup: String,
    /// What the file says.
    pub entry: Option<Entry>,
    /// What is in force.
    pub now: Option<PolicyStatus>,
    /// What to do.
    pub action: Action,
}

impl Step {
    /// What is in force, for people: `f_bbrv2 (f-bbrv2 alpha=1.3), detached`.
    #[must_use]
    pub fn now_text(&self) -> Option<String> {
        self.now.as_ref().map(|now| {
            let name = &now.kernel_name;
            let code = Code::loaded(now).map(|code| format!(" ({code})")).unwrap_or_default();
            let enforced = if now.enforce { ", enforced" } else { "" };
            let state = match now.state {
                State::Active | State::CgroupRemoved => "",
                State::Detached => ", detached",
                State::Unregistered => ", unregistered",
                State::Moving => ", interrupted",
                State::Leaving => ", leaving",
            };
            format!("{name}{code}{enforced}{state}")
        })
    }

    /// What the file says, for people: `f_bbrv2 (f-bbrv2 alpha=1.3)`.
    #[must_use]
    pub fn wanted_text(&self) -> Option<String> {
        self.entry.as_ref().map(|Entry { request: LoadRequest { choice, enforce, .. }, .. }| {
            let enforced = if *enforce { ", enforced" } else { "" };
            format!("{} ({}){enforced}", choice.kernel_name(), Code::wanted(choice))
        })
    }
}
