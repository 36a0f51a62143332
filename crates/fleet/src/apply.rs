//! Carrying out a plan, and what came of it.

use crate::error::one_line;
use crate::plan::{Action, Plan, Step};
use ccactl_abi::exit;
use ccactl_loader::{Change, Loader};

/// What came of one step.
#[derive(Debug)]
pub enum Done {
    /// It was as the file says.
    Unchanged,
    /// The cgroup got its first policy.
    Loaded {
        /// Whether the cgroup was made.
        created: bool,
    },
    /// The cgroup got another algorithm, name or version.
    Switched {
        /// Kernel name before.
        from: String,
    },
    /// Program or algorithm are attached and registered again.
    Repaired,
    /// The cgroup does not exist yet.
    Waiting,
    /// The policy of a removed cgroup is gone.
    Cleared,
    /// The policy that is not in the file is gone.
    Pruned,
    /// The policy is not in the file and stays.
    Left,
    /// The kernel name stands for other code; the message says what to do.
    Conflict(String),
    /// The loader failed; the cgroup is as it was.
    Failed(ccactl_loader::Error),
}

impl Done {
    /// One word for tables and JSON.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Loaded { created: false } => "loaded",
            Self::Loaded { created: true } => "created",
            Self::Switched { .. } => "switched",
            Self::Repaired => "repaired",
            Self::Waiting => "waiting",
            Self::Cleared => "cleared",
            Self::Pruned => "pruned",
            Self::Left => "left",
            Self::Conflict(_) => "conflict",
            Self::Failed(_) => "failed",
        }
    }

    /// What is wrong and what to do about it, for steps that failed.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Conflict(message) => Some(message.clone()),
            Self::Failed(error) => Some(one_line(error)),
            _ => None,
        }
    }

    /// Whether the step changed something on the host.
    #[must_use]
    pub fn changed(&self) -> bool {
        !matches!(self, Self::Unchanged | Self::Waiting | Self::Left | Self::Conflict(_) | Self::Failed(_))
    }

    /// Exit code of the binary for this step (`ccactl_abi::exit`). A cgroup that does not exist is a failure: unless
    /// somebody waits for it, it will not have its policy.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Waiting => exit::FAILURE,
            Self::Conflict(_) => exit::USAGE,
            Self::Failed(error) => error.exit_code(),
            _ => exit::OK,
        }
    }
}

/// One cgroup of the file, or one policy that is not in it.
#[derive(Debug)]
pub struct Row {
    /// Relative to the cgroup2 mount; `(id 4711)` when the cgroup was removed.
    pub cgroup: String,
    /// As the user writes it; that of the policy where the file says nothing.
    pub algorithm: String,
    /// As sockets show it.
    pub kernel_name: String,
    /// What came of it.
    pub done: Done,
}

/// Everything that came of a plan, in the order of its steps.
#[derive(Debug)]
pub struct Report {
    /// One per step.
    pub rows: Vec<Row>,
}

impl Report {
    /// Whether anything was changed on the host.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.rows.iter().any(|row| row.done.changed())
    }

    /// Number of cgroups of the file that are as it says now.
    #[must_use]
    pub fn in_force(&self) -> usize {
        let in_force = |done: &Done| {
            matches!(done, Done::Unchanged | Done::Loaded { .. } | Done::Switched { .. } | Done::Repaired)
        };
        self.rows.iter().filter(|row| in_force(&row.done)).count()
    }

    /// Number of cgroups of the file that do not exist yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row.done, Done::Waiting)).count()
    }

    /// Number of steps that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.rows.iter().filter(|row| row.done.problem().is_some()).count()
    }

    /// Exit code of the binary: that of the worst step. A step that failed is worse than one that left some sockets
    /// behind; among failures the greatest code wins.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let badness = |code: &u8| (*code != exit::OK, *code != exit::SOCKETS, *code);
        self.rows.iter().map(|row| row.done.exit_code()).max_by_key(badness).unwrap_or(exit::OK)
    }
}

/// Carries out a plan: every step in the plan's order, whatever became of those before it.
#[must_use]
pub fn apply(loader: &Loader, plan: &Plan) -> Report {
    let mut done: Vec<Option<Done>> = plan.steps.iter().map(|step| untouched(&step.action)).collect();
    for &index in &plan.order {
        done[index] = Some(carry_out(loader, &plan.steps[index]).unwrap_or_else(Done::Failed));
    }
    let rows = plan.steps.iter().zip(done);
    Report { rows: rows.map(|(step, done)| row(step, done.expect("what changes something is in the order"))).collect() }
}

fn untouched(action: &Action) -> Option<Done> {
    match action {
        Action::Keep => Some(Done::Unchanged),
        Action::Wait => Some(Done::Waiting),
        Action::Leave => Some(Done::Left),
        Action::Conflict { message } => Some(Done::Conflict(message.clone())),
        _ => None,
    }
}

fn carry_out(loader: &Loader, step: &Step) -> Result<Done, ccactl_loader::Error> {
    let Some(entry) = &step.entry else {
        let id = step.now.as_ref().expect("what is not in the file is a policy").cgroup_id;
        loader.unload_id(id)?;
        return Ok(if step.action == Action::Clear { Done::Cleared } else { Done::Pruned });
    };
    let outcome = loader.load(&entry.request)?;
    Ok(match outcome.change {
        // Somebody else was faster.
        Change::Unchanged => Done::Unchanged,
        Change::Switched { from } => Done::Switched { from },
        Change::Attached if step.action == Action::Repair => Done::Repaired,
        Change::Attached => Done::Loaded { created: outcome.created_cgroup },
    })
}

fn row(step: &Step, done: Done) -> Row {
    let (algorithm, kernel_name) = match (&step.entry, &step.now) {
        (Some(entry), _) => (entry.choice.algorithm_name(), entry.choice.kernel_name().to_owned()),
        (None, Some(now)) => (now.algorithm.clone(), now.kernel_name.clone()),
        (None, None) => unreachable!("a step has an entry or a policy"),
    };
    Row { cgroup: step.cgroup.clone(), algorithm, kernel_name, done }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(done: Vec<Done>) -> u8 {
        let row = |done| Row { cgroup: "/a".into(), algorithm: "reno".into(), kernel_name: "bpf_reno".into(), done };
        Report { rows: done.into_iter().map(row).collect() }.exit_code()
    }

    #[test]
    fn the_worst_step_gives_the_exit_code() {
        let missing = || Done::Failed(ccactl_loader::Error::MissingCapabilities { capabilities: vec!["CAP_BPF"] });
        assert_eq!(code_of(vec![]), exit::OK);
        assert_eq!(code_of(vec![Done::Unchanged, Done::Left, Done::Pruned]), exit::OK);
        assert_eq!(code_of(vec![Done::Waiting, Done::Unchanged]), exit::FAILURE);
        assert_eq!(code_of(vec![missing(), Done::Conflict(String::new())]), exit::PERMISSION);
        assert_eq!(code_of(vec![Done::Conflict(String::new()), Done::Waiting]), exit::USAGE);
    }
}
