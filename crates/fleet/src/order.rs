//! In which order the steps of a plan are safe, and which cannot be done at all.
//!
//! A kernel name stands for one code at a time, so a step that needs a name for other code has to wait until the
//! policies that hold it have gone elsewhere. Policies of removed cgroups are cleared first: nothing depends on them. What
//! is pruned goes as late as it can: when a policy moves from a cgroup to one below it, no new socket is to fall in
//! between. Inner cgroups come before outer ones, as the nearest policy counts: the live sockets of an inner one are not
//! moved to the algorithm of the outer one on their way.

use crate::code::Code;
use crate::observed::Observed;
use crate::plan::{Action, Step};
use ccactl_loader::PolicyStatus;
use std::cmp::Reverse;

/// Order of execution as indices of `steps`, and for each step that cannot be done the reason.
pub(crate) fn of(steps: &[Step], observed: &Observed) -> (Vec<usize>, Vec<(usize, String)>) {
    let mut names = Names::of(observed);
    let mut order = Vec::new();
    let mut take = |index: usize, names: &mut Names| {
        names.carry_out(&steps[index]);
        order.push(index);
    };
    let indices = |wanted: fn(&Action) -> bool| {
        steps.iter().enumerate().filter(move |(_, step)| wanted(&step.action)).map(|(index, _)| index)
    };
    indices(|action| *action == Action::Clear).for_each(|index| take(index, &mut names));

    let mut waiting: Vec<usize> = indices(Action::loads).collect();
    waiting.sort_by_key(|&index| Reverse(depth(&steps[index])));
    let mut prunable: Vec<usize> = indices(|action| *action == Action::Prune).collect();
    loop {
        // One at a time, for each may free a name that an earlier one of the file waits for.
        if let Some(position) = waiting.iter().position(|&index| names.obstacle(&steps[index]).is_none()) {
            take(waiting.remove(position), &mut names);
        } else if prunable.is_empty() {
            break;
        } else {
            prunable.drain(..).for_each(|index| take(index, &mut names));
        }
    }
    let conflicts = waiting.into_iter().filter_map(|index| Some((index, names.obstacle(&steps[index])?))).collect();
    (order, conflicts)
}

fn depth(step: &Step) -> usize {
    step.entry.as_ref().map_or(0, |entry| entry.cgroup.components().count())
}

/// Who holds which kernel name for which code.
struct Names {
    holders: Vec<Holder>,
}

struct Holder {
    cgroup: String,
    cgroup_id: Option<u64>,
    kernel_name: String,
    /// `None` when nothing is registered under the name.
    code: Option<Code>,
}

impl Names {
    fn of(observed: &Observed) -> Self {
        let holder = |policy: &PolicyStatus| Holder {
            cgroup: policy.cgroup.as_ref().map_or_else(String::new, |path| observed.mount.display(path)),
            cgroup_id: Some(policy.cgroup_id),
            kernel_name: policy.kernel_name.clone(),
            code: Code::loaded(policy),
        };
        Self { holders: observed.policies.iter().map(holder).collect() }
    }

    /// What a finished step changes.
    fn carry_out(&mut self, step: &Step) {
        let id = step.now.as_ref().map(|now| now.cgroup_id);
        self.holders.retain(|holder| id.is_none() || holder.cgroup_id != id);
        if let Some(entry) = &step.entry {
            let (kernel_name, code) = (entry.choice.kernel_name().to_owned(), Some(Code::wanted(&entry.choice)));
            let cgroup = entry.name.clone();
            self.holders.push(Holder { cgroup, cgroup_id: id, kernel_name, code });
        }
    }

    /// Why a step cannot be done now.
    fn obstacle(&self, step: &Step) -> Option<String> {
        let choice = &step.entry.as_ref()?.choice;
        let (name, wanted) = (choice.kernel_name(), Code::wanted(choice));
        let is_obstacle =
            |holder: &&Holder| holder.kernel_name == name && holder.code.as_ref().is_some_and(|code| *code != wanted);
        let obstacles: Vec<&Holder> = self.holders.iter().filter(is_obstacle).collect();
        let code = obstacles.first()?.code.as_ref()?;
        let cgroups: Vec<&str> = obstacles.iter().map(|holder| holder.cgroup.as_str()).collect();
        Some(format!(
            "the kernel name {name} stands for '{code}' in {} and cannot be '{wanted}' as well: give it another name with \
             `as` in the file",
            cgroups.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::test_host::Host;

    const ALPHA: [(&str, &str); 1] = [("alpha", "1.3")];

    #[test]
    fn other_tunables_need_another_name() {
        let host = Host::new().policy("/a", "f-bbrv2", &ALPHA, "x");
        let plan = host.plan("[cgroup.\"/a\"]\nalgorithm = \"f-bbrv2\"\nas = \"x\"\nset = { alpha = 1.4 }\n");
        assert_eq!((plan.steps[0].action.label(), plan.order.is_empty()), ("conflict", true));
        let other = host.plan("[cgroup.\"/a\"]\nalgorithm = \"f-bbrv2\"\nas = \"y\"\nset = { alpha = 1.4 }\n");
        assert_eq!((other.steps[0].action.label(), other.order.len()), ("switch", 1));
    }

    #[test]
    fn the_conflict_says_who_holds_the_name_and_for_what() {
        let host = Host::new().policy("/other", "f-bbrv2", &ALPHA, "x");
        let plan = host.plan("[cgroup.\"/a\"]\nalgorithm = \"f-bbrv2\"\nas = \"x\"\n");
        let crate::Action::Conflict { message } = &plan.steps[0].action else { panic!("{plan:?}") };
        for part in ["x stands for 'f-bbrv2 alpha=1.3'", "/other", "cannot be 'f-bbrv2'", "`as`"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_name_is_taken_over_once_its_holder_has_left_it() {
        let host = Host::new().policy("/b", "f-bbrv2", &ALPHA, "x");
        let text =
            "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n[cgroup.\"/b\"]\nalgorithm = \"cubic\"\nas = \"y\"\n";
        assert_eq!(host.plan(text).order, [1, 0]);
    }

    #[test]
    fn a_name_is_taken_over_from_what_is_pruned_and_all_else_comes_before() {
        let host = Host::new().policy("/old", "f-bbrv2", &ALPHA, "x");
        let text =
            "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"x\"\n[cgroup.\"/b\"]\nalgorithm = \"cubic\"\nas = \"y\"\n";
        assert_eq!(host.plan_with_prune(text).order, [1, 2, 0]);
        assert_eq!(host.plan(text).steps[0].action.label(), "conflict");
    }

    #[test]
    fn inner_cgroups_come_first_and_else_the_order_of_the_file_holds() {
        let table =
            |cgroup: &str, name: &str| format!("[cgroup.\"{cgroup}\"]\nalgorithm = \"reno\"\nas = \"{name}\"\n");
        let text = table("/a", "a") + &table("/b", "b") + &table("/a/x/y", "y") + &table("/a/x", "x");
        assert_eq!(Host::new().plan(&text).order, [2, 3, 0, 1]);
    }

    #[test]
    fn two_cgroups_cannot_exchange_their_names() {
        let host = Host::new().policy("/a", "reno", &[], "x").policy("/b", "cubic", &[], "y");
        let text =
            "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"y\"\n[cgroup.\"/b\"]\nalgorithm = \"cubic\"\nas = \"x\"\n";
        let plan = host.plan(text);
        assert_eq!(plan.steps.iter().map(|step| step.action.label()).collect::<Vec<_>>(), ["conflict"; 2]);
    }
}
