//! What another hand has changed about cgroups that were as the file says, and how often that was put back.

use crate::fleet::apply::{Done, Report};
use crate::fleet::plan::Plan;
use crate::fleet::step::{Action, Step};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// One cgroup that was as the file says and is not any more, although the file is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// Relative to the cgroup2 mount.
    pub cgroup: String,
    /// What was found in the place of what the file says.
    pub found: String,
    /// What the file says: `f_bbrv2 (f-bbrv2 alpha=1.3)`; `None` for a policy that is not in it and has to go.
    pub wanted: Option<String>,
    /// What was done about it.
    pub outcome: Outcome,
    /// How often the policy of this cgroup was put back, this time included.
    pub mended: u32,
}

/// What was done about a drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is as the file says again.
    PutBack {
        /// Live sockets that were moved.
        sockets: u64,
    },
    /// Nothing, as asked for.
    Left,
    /// It could not be put back; why, and what to do.
    Failed(String),
}

/// A step of a plan that is drift.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// Index of the step.
    pub(super) step: usize,
    pub(super) text: String,
}

/// What the service remembers from one round to the next.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Ids of the cgroups that were as the file says. A cgroup that was made anew has another id, and no drift.
    settled: HashMap<PathBuf, u64>,
    /// By cgroup: what was told and is still so.
    told: HashMap<String, String>,
    /// By cgroup id; those that were never put back are not here.
    mended: BTreeMap<u64, u32>,
}

/// The id of a cgroup, if it exists.
pub(super) type IdOf<'a> = &'a dyn Fn(&Path) -> Option<u64>;

impl Ledger {
    /// The steps of a plan that undo what another hand has done.
    pub(super) fn drift(&self, plan: &Plan, id_of: IdOf<'_>) -> Vec<Found> {
        let found = |(index, step): (usize, &Step)| Some(Found { step: index, text: self.found(step, id_of)? });
        plan.steps.iter().enumerate().filter_map(found).collect()
    }

    /// Of these, what was not told yet.
    pub(super) fn news<'f>(&self, plan: &Plan, found: &'f [Found]) -> Vec<&'f Found> {
        found.iter().filter(|found| self.told.get(&plan.steps[found.step].cgroup) != Some(&found.text)).collect()
    }

    /// Drift that is gone, by whose hand ever, is news when it is found the next time.
    pub(super) fn forget_cured(&mut self, plan: &Plan, found: &[Found]) {
        let now: HashMap<&str, &str> =
            found.iter().map(|found| (plan.steps[found.step].cgroup.as_str(), found.text.as_str())).collect();
        self.told.retain(|cgroup, text| now.get(cgroup.as_str()) == Some(&text.as_str()));
    }

    /// Leaves drift alone; what of it was not told yet.
    pub(super) fn leave(&mut self, plan: &Plan, found: &[Found]) -> Vec<Drift> {
        let news: Vec<Found> = self.news(plan, found).into_iter().cloned().collect();
        let left = |found: &Found| self.drifted(&plan.steps[found.step], found, Outcome::Left);
        let drift: Vec<Drift> = news.iter().map(left).collect();
        self.told.extend(drift.iter().map(|drift| (drift.cgroup.clone(), drift.found.clone())));
        drift
    }

    fn found(&self, step: &Step, id_of: IdOf<'_>) -> Option<String> {
        match (&step.entry, &step.action) {
            (_, Action::Prune) => step.now_text(),
            (Some(entry), action) if is_change(action) => {
                // Whoever watches a canary decides about this cgroup, and takes the policy back or on.
                let is_watched = step.now.iter().flat_map(|now| &now.canary).any(|canary| canary.is_watched);
                let settled = *self.settled.get(&entry.cgroup)?;
                let id = step.now.as_ref().map(|now| now.cgroup_id).or_else(|| id_of(&entry.cgroup))?;
                (id == settled && !is_watched).then(|| step.now_text().unwrap_or_else(|| "no policy".to_owned()))
            }
            _ => None,
        }
    }

    /// Takes over what a round has done, and says what became of the drift that was found before it.
    pub(super) fn settle(&mut self, plan: &Plan, report: &Report, found: &[Found], id_of: IdOf<'_>) -> Vec<Drift> {
        let in_force = plan.steps.iter().zip(&report.rows).filter(|(_, row)| row.done.is_in_force());
        let settled = in_force.filter_map(|(step, _)| {
            let cgroup = &step.entry.as_ref()?.cgroup;
            Some((cgroup.clone(), id_of(cgroup)?))
        });
        let before = plan.steps.iter().filter_map(|step| self.still_settled(step));
        self.settled = before.chain(settled).collect();
        let drift: Vec<Drift> = found.iter().filter_map(|found| self.outcome(plan, report, found)).collect();
        self.forget_cured(plan, found);
        let settled: HashSet<u64> = self.settled.values().copied().collect();
        self.mended.retain(|id, _| settled.contains(id));
        for drift in &drift {
            match drift.outcome {
                Outcome::PutBack { .. } => drop(self.told.remove(&drift.cgroup)),
                Outcome::Left | Outcome::Failed(_) => {
                    self.told.insert(drift.cgroup.clone(), drift.found.clone());
                }
            }
        }
        drift
    }

    /// What was left alone, or could not be put back, was as the file says once and stays drift, whatever the cause of
    /// this round.
    fn still_settled(&self, step: &Step) -> Option<(PathBuf, u64)> {
        let cgroup = &step.entry.as_ref()?.cgroup;
        self.settled.get(cgroup).map(|id| (cgroup.clone(), *id))
    }

    /// What became of one drift; `None` when that was told before, or somebody else was faster.
    fn outcome(&mut self, plan: &Plan, report: &Report, found: &Found) -> Option<Drift> {
        let (step, row) = (&plan.steps[found.step], &report.rows[found.step]);
        let outcome = match &row.done {
            Done::Unchanged | Done::Waiting | Done::Interrupted => return None,
            Done::Left => Outcome::Left,
            done => match done.problem() {
                Some(problem) => Outcome::Failed(problem),
                None => Outcome::PutBack { sockets: row.live.as_ref().map_or(0, |live| live.counts.moved) },
            },
        };
        let was_told = self.told.get(&step.cgroup) == Some(&found.text);
        if was_told && !matches!(outcome, Outcome::PutBack { .. }) {
            return None;
        }
        if let (Some(id), Outcome::PutBack { .. }) = (self.id_of(step), &outcome) {
            *self.mended.entry(id).or_default() += 1;
        }
        Some(self.drifted(step, found, outcome))
    }

    fn drifted(&self, step: &Step, found: &Found, outcome: Outcome) -> Drift {
        let mended = self.id_of(step).and_then(|id| self.mended.get(&id)).copied().unwrap_or(0);
        let (cgroup, wanted) = (step.cgroup.clone(), step.wanted_text());
        Drift { cgroup, found: found.text.clone(), wanted, outcome, mended }
    }

    fn id_of(&self, step: &Step) -> Option<u64> {
        self.settled.get(&step.entry.as_ref()?.cgroup).copied()
    }

    /// The numbers that an earlier service has left in the policies.
    pub(super) fn learn(&mut self, policies: &[crate::PolicyStatus]) {
        for policy in policies.iter().filter(|policy| policy.mended > 0) {
            let count = self.mended.entry(policy.cgroup_id).or_default();
            *count = (*count).max(policy.mended);
        }
    }

    /// Which policy was put back how often, by cgroup id.
    pub(super) fn counts(&self) -> Vec<(u64, u32)> {
        self.mended.iter().map(|(id, count)| (*id, *count)).collect()
    }
}

/// Whether the step undoes something. That live sockets have something else may be their applications' choice.
fn is_change(action: &Action) -> bool {
    matches!(action, Action::Load | Action::Switch | Action::Repair | Action::Enforcement | Action::Conflict { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::apply::{Live, Row};
    use crate::fleet::test_host::Host;
    use crate::{Counts, State};

    const FILE: &str = "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n";

    /// The cgroup as `Host` numbers it.
    fn id_of(_: &Path) -> Option<u64> {
        Some(100)
    }

    fn in_force() -> Host {
        Host::new().policy("/a", "reno", &[], "x")
    }

    fn report(plan: &Plan, done: impl Fn() -> Done) -> Report {
        let row = |step: &Step| Row {
            cgroup: step.cgroup.clone(),
            algorithm: "reno".into(),
            kernel_name: "x".into(),
            done: done(),
            live: Some(Live { counts: Counts { moved: 2, ..Counts::default() }, complete: true }),
        };
        Report { rows: plan.steps.iter().map(row).collect() }
    }

    /// A ledger of a service that has brought the host to the file.
    fn settled() -> Ledger {
        let (mut ledger, plan) = (Ledger::default(), in_force().plan(FILE));
        assert_eq!(ledger.drift(&plan, &id_of), []);
        assert_eq!(ledger.settle(&plan, &report(&plan, || Done::Unchanged), &[], &id_of), []);
        ledger
    }

    fn texts(ledger: &Ledger, plan: &Plan) -> Vec<String> {
        ledger.drift(plan, &id_of).into_iter().map(|found| found.text).collect()
    }

    #[test]
    fn each_foreign_change_is_drift() {
        let ledger = settled();
        let cases = [
            (Host::new(), "no policy"),
            (Host::new().policy("/a", "cubic", &[], "y"), "y (cubic)"),
            (Host::new().policy("/a", "f-bbrv2", &[("alpha", "1.3")], "x"), "x (f-bbrv2 alpha=1.3)"),
            (Host::new().state("/a", "reno", "x", State::Detached), "x (reno), detached"),
            (Host::new().state("/a", "reno", "x", State::Unregistered), "x, unregistered"),
            (in_force().enforced(), "x (reno), enforced"),
        ];
        for (host, found) in cases {
            assert_eq!(texts(&ledger, &host.plan(FILE)), [found]);
        }
        assert_eq!(texts(&ledger, &in_force().still_to_move(3).plan(FILE)), [""; 0], "sockets alone are none");
    }

    #[test]
    fn what_was_never_in_force_or_is_another_cgroup_now_is_no_drift() {
        let plan = Host::new().plan(FILE);
        assert_eq!(texts(&Ledger::default(), &plan), [""; 0]);
        let other_id = |_: &Path| Some(101);
        assert_eq!(settled().drift(&plan, &other_id), []);
        assert_eq!(texts(&settled(), &Host::new().missing("/a").plan(FILE)), [""; 0], "it waits");
    }

    #[test]
    fn a_policy_beside_the_file_is_drift_only_where_the_file_is_to_be_all() {
        let host = in_force().policy("/b", "reno", &[], "b");
        assert_eq!(texts(&settled(), &host.plan(FILE)), [""; 0]);
        assert_eq!(texts(&settled(), &host.plan_with_prune(FILE)), ["b (reno)"]);
    }

    #[test]
    fn a_canary_that_is_watched_is_left_to_its_watcher() {
        let mut plan = in_force().enforced().plan(FILE);
        let canary = |is_watched| {
            Some(crate::CanaryStatus {
                kernel_name: "y".into(),
                share: 0.1,
                since: String::new(),
                is_watched,
                lease_left: None,
            })
        };
        plan.steps[0].now.as_mut().unwrap().canary = canary(true);
        assert_eq!(texts(&settled(), &plan), [""; 0]);
        plan.steps[0].now.as_mut().unwrap().canary = canary(false);
        assert_eq!(texts(&settled(), &plan).len(), 1);
    }

    #[test]
    fn what_is_put_back_is_counted_each_time_and_goes_on_from_what_the_policy_says() {
        let (mut ledger, plan) = (settled(), Host::new().plan(FILE));
        for expected in 1..=2 {
            let found = ledger.drift(&plan, &id_of);
            let done = report(&plan, || Done::Loaded { created: false });
            let drift = ledger.settle(&plan, &done, &found, &id_of);
            assert_eq!(drift.len(), 1);
            assert_eq!((drift[0].mended, &drift[0].outcome), (expected, &Outcome::PutBack { sockets: 2 }));
            assert_eq!(drift[0].wanted.as_deref(), Some("x (reno)"));
        }
        assert_eq!(ledger.counts(), [(100, 2)]);
        let mut status = in_force().plan(FILE).steps[0].now.clone().unwrap();
        status.mended = 7;
        ledger.learn(&[status]);
        assert_eq!(ledger.counts(), [(100, 7)]);
    }

    #[test]
    fn what_is_left_or_cannot_be_put_back_is_told_once_until_it_changes() {
        for done in [|| Done::Left, || Done::Conflict("taken".to_owned())] {
            let (mut ledger, gone) = (settled(), Host::new().plan(FILE));
            let mut round = |plan: &Plan, done: &dyn Fn() -> Done| {
                let found = ledger.drift(plan, &id_of);
                assert_eq!(found.len(), 1, "it stays drift");
                ledger.settle(plan, &report(plan, done), &found, &id_of).len()
            };
            assert_eq!((round(&gone, &done), round(&gone, &done)), (1, 0));
            let other = Host::new().policy("/a", "cubic", &[], "y").plan(FILE);
            assert_eq!((round(&other, &done), round(&other, &done)), (1, 0));
            assert_eq!(round(&other, &|| Done::Repaired), 1, "put back at last");
            assert_eq!(round(&other, &done), 1, "and found again");
        }
    }

    #[test]
    fn what_is_left_alone_is_told_once_and_again_after_it_was_cured() {
        let (mut ledger, gone) = (settled(), Host::new().plan(FILE));
        let mut look = |plan: &Plan| {
            let found = ledger.drift(plan, &id_of);
            ledger.forget_cured(plan, &found);
            ledger.leave(plan, &found).len()
        };
        assert_eq!((look(&gone), look(&gone)), (1, 0));
        assert_eq!((look(&in_force().plan(FILE)), look(&gone)), (0, 1));
    }

    /// As after SIGHUP, where nothing counts as drift.
    #[test]
    fn a_round_of_the_whole_file_that_fails_leaves_drift_what_it_was() {
        let (mut ledger, gone) = (settled(), Host::new().plan(FILE));
        assert_eq!(ledger.settle(&gone, &report(&gone, || Done::Conflict("taken".to_owned())), &[], &id_of), []);
        assert_eq!(texts(&ledger, &gone), ["no policy"]);
    }

    #[test]
    fn where_somebody_else_was_faster_there_is_nothing_to_tell() {
        let (mut ledger, plan) = (settled(), Host::new().plan(FILE));
        let found = ledger.drift(&plan, &id_of);
        assert_eq!(ledger.settle(&plan, &report(&plan, || Done::Unchanged), &found, &id_of), []);
        assert_eq!(ledger.counts(), []);
    }
}
