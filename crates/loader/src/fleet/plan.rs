//! What it takes to get from what is on the host to what a file says. Pure: it touches nothing.

use crate::fleet::code::Code;
use crate::fleet::file::{Entry, PolicyFile};
use crate::fleet::observed::Observed;
use crate::fleet::order;
use crate::fleet::step::{Action, Step};
use crate::{PolicyStatus, State};
use ccactl_abi::layout;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// All steps for a file on a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// First the cgroups of the file in its order, then the policies that are not in it.
    pub steps: Vec<Step>,
    /// Indices of the steps that change something, in the order in which that is safe.
    pub order: Vec<usize>,
}

impl Plan {
    /// Compares a file with a host. `prune`: policies that are not in the file are to go.
    #[must_use]
    pub fn new(file: &PolicyFile, observed: &Observed, prune: bool) -> Self {
        let with_cgroup = observed.policies.iter().filter_map(|policy| Some((policy.cgroup.as_deref()?, policy)));
        let policies: HashMap<&Path, &PolicyStatus> = with_cgroup.collect();
        let in_file: HashSet<&Path> = file.entries.iter().map(|entry| entry.cgroup.as_path()).collect();
        let listed =
            file.entries.iter().map(|entry| listed(entry, policies.get(entry.cgroup.as_path()).copied(), observed));
        let mut steps: Vec<Step> = listed.collect();
        let others = observed.policies.iter();
        let others =
            others.filter(|policy| policy.cgroup.as_ref().is_none_or(|path| !in_file.contains(path.as_path())));
        steps.extend(others.map(|now| unlisted(now, observed, prune)));
        refuse_what_has_no_room(&mut steps);
        let (order, conflicts) = order::of(&steps, observed);
        for (index, message) in conflicts {
            steps[index].action = Action::Conflict { message };
        }
        Self { steps, order }
    }

    /// Whether the host is as the file says. A policy that is not in the file does not count unless it is to be pruned.
    #[must_use]
    pub fn in_force(&self) -> bool {
        self.steps.iter().all(|step| matches!(step.action, Action::Keep | Action::Leave))
    }
}

/// Policies that the kernel's map holds.
const MAX_POLICIES: usize = layout::MAX_POLICIES as usize;

/// The last ones of the file go without. What is pruned makes room for the next apply only, as it goes last.
fn refuse_what_has_no_room(steps: &mut [Step]) {
    let stays = |step: &&Step| step.now.is_some() && step.action != Action::Clear;
    let room = MAX_POLICIES.saturating_sub(steps.iter().filter(stays).count());
    let first = |step: &&mut Step| matches!(step.action, Action::Load | Action::Create);
    for step in steps.iter_mut().filter(first).skip(room) {
        let message = format!(
            "the kernel's map holds {MAX_POLICIES} policies, and those before it in the file and on the host are as many: \
             take some back, or give their common ancestor one policy"
        );
        step.action = Action::Conflict { message };
    }
}

fn listed(entry: &Entry, now: Option<&PolicyStatus>, observed: &Observed) -> Step {
    let missing = observed.missing.contains(&entry.cgroup);
    let now = now.cloned();
    let action = match &now {
        None if missing && entry.request.create => Action::Create,
        None if missing => Action::Wait,
        None => Action::Load,
        Some(now) if now.kernel_name != entry.request.choice.kernel_name() => Action::Switch,
        Some(now) => match Code::loaded(now) {
            // The order of the steps finds that the name is taken.
            Some(code) if code != Code::wanted(&entry.request.choice) => Action::Switch,
            _ if now.state != State::Active => Action::Repair,
            _ if now.enforce != entry.request.enforce => Action::Enforcement,
            _ => match observed.to_move.get(&now.cgroup_id) {
                Some(&sockets) if entry.live && sockets > 0 => Action::Move { sockets },
                _ => Action::Keep,
            },
        },
    };
    Step { cgroup: entry.name.clone(), entry: Some(entry.clone()), now, action }
}

fn unlisted(now: &PolicyStatus, observed: &Observed, prune: bool) -> Step {
    let cgroup = now.cgroup.as_deref().map(|path| observed.mount.display(path));
    let action = match (&cgroup, now.state) {
        (_, State::CgroupRemoved) => Action::Clear,
        (Some(_), _) if prune => Action::Prune,
        // Without a path nobody can say whether the file has this cgroup. It exists, so the policy stays.
        _ => Action::Leave,
    };
    let cgroup = cgroup.unwrap_or_else(|| format!("(id {})", now.cgroup_id));
    Step { cgroup, entry: None, now: Some(now.clone()), action }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::test_host::Host;

    fn actions(plan: &Plan) -> Vec<(&str, &'static str)> {
        plan.steps.iter().map(|step| (step.cgroup.as_str(), step.action.label())).collect()
    }

    #[test]
    fn what_is_as_the_file_says_is_kept() {
        let host = Host::new().policy("/a", "f-bbrv2", &[("alpha", "1.3")], "x").policy("/b", "native:cubic", &[], "");
        let text = "[cgroup.\"/a\"]\nalgorithm = \"f-bbrv2\"\nas = \"x\"\nset = { alpha = 1.300 }\n\
                    [cgroup.\"/b\"]\nalgorithm = \"native:cubic\"\n";
        let plan = host.plan(text);
        assert_eq!(actions(&plan), [("/a", "keep"), ("/b", "keep")]);
        assert!(plan.in_force() && plan.order.is_empty());
    }

    #[test]
    fn each_difference_has_its_action() {
        let host = Host::new()
            .policy("/switch", "reno", &[], "old")
            .state("/detached", "reno", "d", State::Detached)
            .state("/unregistered", "reno", "u", State::Unregistered)
            .missing("/missing")
            .missing("/made");
        let text = "[cgroup.\"/new\"]\nalgorithm = \"reno\"\nas = \"n\"\n[cgroup.\"/switch\"]\nalgorithm = \"cubic\"\n\
                    [cgroup.\"/detached\"]\nalgorithm = \"reno\"\nas = \"d\"\n\
                    [cgroup.\"/unregistered\"]\nalgorithm = \"reno\"\nas = \"u\"\n\
                    [cgroup.\"/missing\"]\nalgorithm = \"reno\"\n\
                    [cgroup.\"/made\"]\nalgorithm = \"reno\"\ncreate = true\n";
        let plan = host.plan(text);
        let expected = [
            ("/new", "load"),
            ("/switch", "switch"),
            ("/detached", "repair"),
            ("/unregistered", "repair"),
            ("/missing", "wait"),
            ("/made", "create"),
        ];
        assert_eq!(actions(&plan), expected);
        assert!(!plan.in_force());
        assert_eq!(plan.order, [0, 1, 2, 3, 5]);
    }

    #[test]
    fn a_missing_cgroup_alone_is_not_in_force_and_nothing_to_do() {
        let plan = Host::new().missing("/a").plan("[cgroup.\"/a\"]\nalgorithm = \"reno\"\n");
        assert!(!plan.in_force() && plan.order.is_empty());
    }

    #[test]
    fn what_is_not_in_the_file_goes_only_with_prune() {
        let host = Host::new().policy("/other", "reno", &[], "x");
        let left = host.plan("[cgroup]\n");
        assert_eq!((left.steps[0].cgroup.as_str(), left.steps[0].action.label()), ("/other", "leave"));
        assert!(left.in_force() && left.order.is_empty());
        let pruned = host.plan_with_prune("[cgroup]\n");
        assert_eq!((pruned.steps[0].action.label(), pruned.in_force(), &pruned.order[..]), ("prune", false, &[0][..]));
    }

    #[test]
    fn the_policy_of_a_removed_cgroup_is_cleared_first_even_when_the_cgroup_is_there_again() {
        let host = Host::new().removed("reno", "x");
        let plan = host.plan("[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n");
        assert_eq!(plan.steps.iter().map(|step| step.action.label()).collect::<Vec<_>>(), ["load", "clear"]);
        assert_eq!(plan.order, [1, 0]);
    }

    #[test]
    fn the_policy_of_a_cgroup_that_is_out_of_sight_stays_even_when_others_are_pruned() {
        let host = Host::new().out_of_sight("reno", "x");
        for plan in [host.plan("[cgroup]\n"), host.plan_with_prune("[cgroup]\n")] {
            assert_eq!((plan.steps[0].action.label(), &plan.order[..]), (Action::Leave.label(), &[][..]));
        }
    }

    #[test]
    fn live_sockets_count_unless_the_file_leaves_them_alone() {
        let host = Host::new().policy("/a", "reno", &[], "x").still_to_move(3);
        let text = "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n";
        let plan = host.plan(text);
        assert_eq!((&plan.steps[0].action, plan.in_force()), (&Action::Move { sockets: 3 }, false));
        assert!(host.plan(&format!("{text}live = false\n")).in_force());
        let none = Host::new().policy("/a", "reno", &[], "x").still_to_move(0);
        assert!(none.plan(text).in_force());
    }

    #[test]
    fn what_the_map_has_no_room_for_is_refused_with_the_reason() {
        let table = |i: usize| format!("[cgroup.\"/{i}\"]\nalgorithm = \"native:cubic\"\n");
        let text: String = (0..MAX_POLICIES + 2).map(table).collect();
        let host = Host::new().policy("/other", "native:reno", &[], "").policy("/7", "native:reno", &[], "");
        let plan = host.removed("native:reno", "").plan(&text);
        // The one beside the file stays, and so does that of /7, which has room already.
        assert_eq!((plan.steps[7].action.label(), plan.steps[MAX_POLICIES - 2].action.label()), ("switch", "load"));
        for step in &plan.steps[MAX_POLICIES - 1..MAX_POLICIES + 2] {
            let Action::Conflict { message } = &step.action else { panic!("{step:?}") };
            assert!(message.contains("4096 policies"), "{message}");
        }
        assert_eq!(plan.order.len(), MAX_POLICIES - 1 + 1, "with the removed one, which is cleared");
    }

    #[test]
    fn the_room_is_that_of_the_map() {
        let header = include_str!("../../../../bpf/include/ccactl_abi.h");
        assert!(header.contains(&format!("#define CCA_MAX_POLICIES {MAX_POLICIES} ")));
    }

    #[test]
    fn enforcement_is_a_difference_in_both_directions() {
        let text = "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n";
        let (free, enforced) = (text.to_owned(), format!("{text}enforce = true\n"));
        let host = || Host::new().policy("/a", "reno", &[], "x");
        assert_eq!(actions(&host().plan(&enforced)), [("/a", "enforcement")]);
        assert_eq!(actions(&host().enforced().plan(&free)), [("/a", "enforcement")]);
        assert!(host().enforced().plan(&enforced).in_force());
    }

    #[test]
    fn what_a_killed_ccactl_left_is_completed() {
        for state in [State::Moving, State::Leaving] {
            let plan =
                Host::new().state("/a", "reno", "x", state).plan("[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n");
            assert_eq!(actions(&plan), [("/a", "repair")]);
        }
    }

    #[test]
    fn the_texts_show_name_and_code() {
        let host = Host::new().policy("/a", "f-bbrv2", &[("alpha", "1.3")], "x");
        let step = &host.plan("[cgroup.\"/a\"]\nalgorithm = \"reno\"\n").steps[0];
        assert_eq!(step.now_text().unwrap(), "x (f-bbrv2 alpha=1.3)");
        assert_eq!(step.wanted_text().unwrap(), "bpf_reno (reno)");
    }
}
