//! Carrying out a plan, and what came of it.

use crate::fleet::error::one_line;
use crate::fleet::file::Entry;
use crate::fleet::plan::Plan;
use crate::fleet::step::{Action, Step};
use crate::{Change, Counts, Loader, State, SwapOutcome, SwapRequest, UnloadOutcome};
use ccactl_abi::exit;
use ccactl_host::{interrupt, lock};

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
    /// What applications choose is overruled from now on, or no longer.
    Enforcement,
    /// The policy was in force, and live sockets were brought to it.
    Moved,
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
    /// Not begun, for a signal asked for the end.
    Interrupted,
    /// The loader failed; the cgroup is as it was.
    Failed(crate::Error),
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
            Self::Enforcement => "enforcement",
            Self::Moved => "moved",
            Self::Waiting => "waiting",
            Self::Cleared => "cleared",
            Self::Pruned => "pruned",
            Self::Left => "left",
            Self::Conflict(_) => "conflict",
            Self::Interrupted => "interrupted",
            Self::Failed(_) => "failed",
        }
    }

    /// What is wrong and what to do about it, for steps that failed.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Conflict(message) => Some(message.clone()),
            Self::Failed(error) => Some(one_line(error)),
            Self::Interrupted => Some("not begun: a signal came before; the same command again does it".to_owned()),
            _ => None,
        }
    }

    /// Whether the step changed something on the host.
    #[must_use]
    pub fn changed(&self) -> bool {
        !matches!(
            self,
            Self::Unchanged | Self::Waiting | Self::Left | Self::Conflict(_) | Self::Interrupted | Self::Failed(_)
        )
    }

    /// Whether the cgroup is as the file says now.
    #[must_use]
    pub fn is_in_force(&self) -> bool {
        matches!(
            self,
            Self::Unchanged
                | Self::Loaded { .. }
                | Self::Switched { .. }
                | Self::Repaired
                | Self::Enforcement
                | Self::Moved
        )
    }

    /// Exit code of the binary for this step (`ccactl_abi::exit`). A cgroup that does not exist has a code
    /// of its own: the host was not at fault, but unless somebody waits for it, the cgroup will not have its policy.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Waiting => exit::WAITING,
            Self::Conflict(_) => exit::USAGE,
            Self::Interrupted => exit::INTERRUPTED,
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
    /// What became of the live sockets; `None` where nothing was done about them.
    pub live: Option<Live>,
}

/// The live sockets of a cgroup after a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Live {
    /// By what became of them.
    pub counts: Counts,
    /// Whether each that was to be moved was moved, as read back.
    pub complete: bool,
}

impl Row {
    /// What is wrong and what to do about it.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        self.done.problem().or_else(|| self.live.as_ref().and_then(Live::problem))
    }

    /// Exit code of the binary for this step (`ccactl_abi::exit`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match (self.done.exit_code(), &self.live) {
            (exit::OK, Some(live)) if !live.complete => exit::SOCKETS,
            (code, _) => code,
        }
    }
}

impl Live {
    fn problem(&self) -> Option<String> {
        if self.complete {
            return None;
        }
        let Counts { locked, refused, failed, .. } = &self.counts;
        let failed: u64 = failed.values().sum();
        let kinds = [
            (*locked, "their route fixes the algorithm"),
            (*refused, "the algorithm needs ECN, which they have not negotiated"),
            (failed, "the kernel refused"),
        ];
        let reasons: Vec<String> =
            kinds.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count}: {why}")).collect();
        let why =
            if reasons.is_empty() { "read back, some have another algorithm".to_owned() } else { reasons.join(", ") };
        let (left, total) = (self.counts.not_moved(), self.counts.total());
        Some(format!("{left} of {total} live sockets were not moved ({why}); `ccactl status` shows what they have"))
    }
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
        self.rows.iter().filter(|row| row.done.is_in_force()).count()
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

    /// Exit code of the binary: that of the worst step. A step that failed is worse than one that waits for its cgroup, and that is
    /// worse than one that left some sockets behind; among failures the greatest code wins.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let badness = |code: &u8| (![exit::OK, exit::SOCKETS, exit::WAITING].contains(code), *code);
        self.rows.iter().map(Row::exit_code).max_by_key(badness).unwrap_or(exit::OK)
    }
}

/// Carries out a plan: every step in the plan's order, whatever became of those before it. Once a signal asks for the
/// end, no other step is begun.
#[must_use]
pub fn apply(loader: &Loader, plan: &Plan) -> Report {
    let mut rows: Vec<Row> = plan.steps.iter().map(untouched).collect();
    for &index in &plan.order {
        if interrupt::is_requested() {
            rows[index].done = Done::Interrupted;
            continue;
        }
        (rows[index].done, rows[index].live) = match carry_out(loader, &plan.steps[index]) {
            Ok((done, live)) => (done, live),
            Err(crate::Error::Lock(lock::Error::Interrupted { .. })) => (Done::Interrupted, None),
            Err(error) => (Done::Failed(error), None),
        };
    }
    Report { rows }
}

/// The row of a step before anything was done about it.
fn untouched(step: &Step) -> Row {
    let (algorithm, kernel_name) = match (&step.entry, &step.now) {
        (Some(entry), _) => (entry.request.choice.algorithm_name(), entry.request.choice.kernel_name().to_owned()),
        (None, Some(now)) => (now.algorithm.clone(), now.kernel_name.clone()),
        (None, None) => unreachable!("a step has an entry or a policy"),
    };
    let done = match &step.action {
        Action::Wait => Done::Waiting,
        Action::Leave => Done::Left,
        Action::Conflict { message } => Done::Conflict(message.clone()),
        _ => Done::Unchanged,
    };
    Row { cgroup: step.cgroup.clone(), algorithm, kernel_name, done, live: None }
}

type Outcome = Result<(Done, Option<Live>), crate::Error>;

fn carry_out(loader: &Loader, step: &Step) -> Outcome {
    match (&step.entry, &step.now) {
        (Some(entry), Some(now)) if entry.live && now.state == State::Active => swap(loader, entry, step),
        (Some(entry), _) => load(loader, entry, step),
        (None, Some(now)) => take_back(loader, now.cgroup_id, step),
        (None, None) => unreachable!("a step has an entry or a policy"),
    }
}

/// Policy and live sockets in one operation, which goes back as a whole when it fails.
fn swap(loader: &Loader, entry: &Entry, step: &Step) -> Outcome {
    let outcome = loader.swap(&SwapRequest::of(entry.request.clone()))?;
    let done = match step.action {
        Action::Switch => Done::Switched { from: outcome.from.clone() },
        Action::Enforcement => Done::Enforcement,
        _ if outcome.counts.moved > 0 => Done::Moved,
        // They were closed, or somebody else was faster.
        _ => Done::Unchanged,
    };
    Ok((done, Some(Live::from(outcome))))
}

/// The policy first, as there is none or only half of one; then the live sockets.
fn load(loader: &Loader, entry: &Entry, step: &Step) -> Outcome {
    let outcome = loader.load(&entry.request)?;
    let done = match outcome.change {
        // Somebody else was faster.
        Change::Unchanged => Done::Unchanged,
        Change::Switched { from } => Done::Switched { from },
        Change::Enforcement => Done::Enforcement,
        Change::Attached | Change::Replaced if step.action == Action::Repair => Done::Repaired,
        Change::Attached | Change::Replaced => Done::Loaded { created: outcome.created_cgroup },
    };
    if !entry.live {
        return Ok((done, None));
    }
    let live = Live::from(loader.swap(&SwapRequest::of(entry.request.clone()))?);
    let done = if matches!(done, Done::Unchanged) && live.counts.moved > 0 { Done::Moved } else { done };
    Ok((done, Some(live)))
}

fn take_back(loader: &Loader, id: u64, step: &Step) -> Outcome {
    let done = if step.action == Action::Clear { Done::Cleared } else { Done::Pruned };
    match loader.unload_id(id) {
        Ok(outcome) => Ok((done, Some(Live::from(outcome)))),
        // Every change clears what belongs to removed cgroups, so another ccactl may have been faster.
        Err(crate::Error::NoSuchPolicy { .. }) => Ok((done, None)),
        Err(error) => Err(error),
    }
}

impl From<SwapOutcome> for Live {
    fn from(outcome: SwapOutcome) -> Self {
        Self { complete: outcome.is_complete(), counts: outcome.counts }
    }
}

impl From<UnloadOutcome> for Live {
    fn from(outcome: UnloadOutcome) -> Self {
        Self { complete: outcome.is_complete(), counts: outcome.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(done: Vec<Done>) -> u8 {
        Report { rows: done.into_iter().map(row).collect() }.exit_code()
    }

    fn row(done: Done) -> Row {
        Row { cgroup: "/a".into(), algorithm: "reno".into(), kernel_name: "bpf_reno".into(), done, live: None }
    }

    #[test]
    fn the_worst_step_gives_the_exit_code() {
        let missing = || Done::Failed(crate::Error::MissingCapabilities { capabilities: vec!["CAP_BPF".into()] });
        assert_eq!(code_of(vec![]), exit::OK);
        assert_eq!(code_of(vec![Done::Unchanged, Done::Left, Done::Pruned]), exit::OK);
        assert_eq!(code_of(vec![Done::Waiting, Done::Unchanged]), exit::WAITING);
        assert_eq!(code_of(vec![missing(), Done::Conflict(String::new())]), exit::PERMISSION);
        assert_eq!(code_of(vec![Done::Conflict(String::new()), Done::Waiting]), exit::USAGE);
    }

    #[test]
    fn sockets_left_behind_have_their_code_and_a_reason_but_a_failure_is_worse() {
        let counts = Counts { moved: 5, locked: 2, failed: [(16, 1)].into(), ..Counts::default() };
        let left = || Row { live: Some(Live { counts: counts.clone(), complete: false }), ..row(Done::Moved) };
        assert_eq!(Report { rows: vec![row(Done::Unchanged), left()] }.exit_code(), exit::SOCKETS);
        assert_eq!(Report { rows: vec![left(), row(Done::Waiting)] }.exit_code(), exit::WAITING);
        let problem = left().problem().unwrap();
        assert!(problem.starts_with("3 of 8 live sockets were not moved (2: their route"), "{problem}");
        let all = Row { live: Some(Live { counts: Counts::default(), complete: true }), ..row(Done::Moved) };
        assert_eq!((all.exit_code(), all.problem()), (exit::OK, None));
    }
}
