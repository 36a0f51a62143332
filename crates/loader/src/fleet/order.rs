//! In which order the steps of a plan are safe, and which cannot be done at all.
//!
//! A kernel name stands for one code at a time, so a step that needs a name for other code has to wait until the
//! policies that hold it have gone elsewhere. Policies of removed cgroups are cleared first: nothing depends on them. What
//! is pruned goes as late as it can: when a policy moves from a cgroup to one below it, no new socket is to fall in
//! between. Inner cgroups come before outer ones, as the nearest policy counts: the live sockets of an inner one are not
//! moved to the algorithm of the outer one on their way.

use crate::PolicyStatus;
use crate::fleet::code::Code;
use crate::fleet::observed::Observed;
use crate::fleet::step::{Action, Step};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Order of execution as indices of `steps`, and for each step that cannot be done the reason.
pub(crate) fn of(steps: &[Step], observed: &Observed) -> (Vec<usize>, Vec<(usize, String)>) {
    let indices = |wanted: fn(&Action) -> bool| {
        steps.iter().enumerate().filter(move |(_, step)| wanted(&step.action)).map(|(index, _)| index)
    };
    let mut loads: Vec<usize> = indices(Action::loads).collect();
    loads.sort_by_key(|&index| Reverse(depth(&steps[index])));
    let mut queue = Queue::of(steps, loads, observed);
    let mut order: Vec<usize> = indices(|action| *action == Action::Clear).collect();
    order.iter().for_each(|&index| queue.release(&steps[index]));
    let mut prunable: Vec<usize> = indices(|action| *action == Action::Prune).collect();
    loop {
        // One at a time, for each may free a name that an earlier one of the file waits for.
        if let Some(index) = queue.pop() {
            queue.release(&steps[index]);
            order.push(index);
        } else if prunable.is_empty() {
            break;
        } else {
            prunable.iter().for_each(|&index| queue.release(&steps[index]));
            order.append(&mut prunable);
        }
    }
    (order, queue.conflicts(steps, observed))
}

fn depth(step: &Step) -> usize {
    step.entry.as_ref().map_or(0, |entry| entry.cgroup.components().count())
}

/// The steps that give a cgroup what the file says, by whether their kernel names are free for them. A file has one code
/// for each name ([`crate::fleet::PolicyFile`]), so what is in the way of a name only becomes less.
struct Queue<'a> {
    /// Indices of the steps, in the order in which they are wanted.
    loads: Vec<usize>,
    /// Positions in `loads` of those that can be done now.
    ready: BTreeSet<usize>,
    names: HashMap<&'a str, Name>,
    /// Names by the cgroup id of the policy that is in their way.
    in_the_way: HashMap<u64, &'a str>,
}

/// What the file wants with a kernel name.
struct Name {
    code: Code,
    /// Number of policies that hold it for other code.
    obstacles: usize,
    /// Positions of those who wait for it.
    waiting: Vec<usize>,
}

impl<'a> Queue<'a> {
    fn of(steps: &'a [Step], loads: Vec<usize>, observed: &'a Observed) -> Self {
        let mut names: HashMap<&str, Name> = HashMap::new();
        for (position, &index) in loads.iter().enumerate() {
            let Some(entry) = &steps[index].entry else { continue };
            let new = || Name { code: Code::wanted(&entry.request.choice), obstacles: 0, waiting: Vec::new() };
            names.entry(entry.request.choice.kernel_name()).or_insert_with(new).waiting.push(position);
        }
        let mut in_the_way = HashMap::new();
        for policy in &observed.policies {
            let Some(name) = names.get_mut(policy.kernel_name.as_str()) else { continue };
            if is_obstacle(policy, &name.code) {
                name.obstacles += 1;
                in_the_way.insert(policy.cgroup_id, policy.kernel_name.as_str());
            }
        }
        let free = names.values().filter(|name| name.obstacles == 0);
        let ready = free.flat_map(|name| name.waiting.iter().copied()).collect();
        Self { loads, ready, names, in_the_way }
    }

    /// The first step that can be done.
    fn pop(&mut self) -> Option<usize> {
        self.ready.pop_first().map(|position| self.loads[position])
    }

    /// A step was done: its cgroup no longer has the policy that it had.
    fn release(&mut self, step: &Step) {
        let Some(now) = &step.now else { return };
        let Some(name) = self.in_the_way.remove(&now.cgroup_id) else { return };
        let name = self.names.get_mut(name).expect("a name that is in the way of one of the file");
        name.obstacles -= 1;
        if name.obstacles == 0 {
            self.ready.extend(name.waiting.iter().copied());
        }
    }

    /// What is left cannot be done: the steps with the reason.
    fn conflicts(&self, steps: &[Step], observed: &Observed) -> Vec<(usize, String)> {
        let mut holders: HashMap<&str, Vec<&PolicyStatus>> = HashMap::new();
        for policy in observed.policies.iter().filter(|policy| self.in_the_way.contains_key(&policy.cgroup_id)) {
            holders.entry(policy.kernel_name.as_str()).or_default().push(policy);
        }
        let reasons: HashMap<&str, String> = holders
            .iter()
            .filter_map(|(name, holders)| Some((*name, reason(name, self.names.get(name)?, holders, observed))))
            .collect();
        let reason = |&index: &usize| {
            let entry = steps[index].entry.as_ref()?;
            Some((index, reasons.get(entry.request.choice.kernel_name())?.clone()))
        };
        self.loads.iter().filter_map(reason).collect()
    }
}

fn is_obstacle(policy: &PolicyStatus, wanted: &Code) -> bool {
    // Nothing is registered under the name otherwise.
    Code::loaded(policy).is_some_and(|code| code != *wanted)
}

/// Cgroups that a message names; the others are counted.
const NAMED: usize = 5;

fn reason(name: &str, wanted: &Name, holders: &[&PolicyStatus], observed: &Observed) -> String {
    let code =
        holders.first().and_then(|policy| Code::loaded(policy)).map_or_else(String::new, |code| code.to_string());
    let cgroup = |policy: &&PolicyStatus| match &policy.cgroup {
        Some(path) => observed.mount.display(path),
        None => format!("(id {})", policy.cgroup_id),
    };
    let cgroups: Vec<String> = holders.iter().take(NAMED).map(cgroup).collect();
    let more = if holders.len() > NAMED { format!(" and {} more", holders.len() - NAMED) } else { String::new() };
    format!(
        "the kernel name {name} stands for '{code}' in {}{more} and cannot be '{}' as well: give it another name with `as` in \
         the file",
        cgroups.join(", "),
        wanted.code
    )
}

#[cfg(test)]
mod tests {
    use crate::fleet::test_host::Host;

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
        let crate::fleet::Action::Conflict { message } = &plan.steps[0].action else { panic!("{plan:?}") };
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

    /// Each table waits for the name that the next one gives up: the order is the reverse of the file's.
    #[test]
    fn ten_thousand_tables_that_wait_for_each_other_find_their_order() {
        const TABLES: usize = 10_000;
        let host =
            (0..TABLES).fold(Host::new(), |host, i| host.policy(&format!("/{i}"), "reno", &[], &format!("n{i}")));
        let table = |i: usize| format!("[cgroup.\"/{i}\"]\nalgorithm = \"cubic\"\nas = \"n{}\"\n", i + 1);
        let plan = host.plan(&(0..TABLES).map(table).collect::<String>());
        assert!(plan.order.iter().copied().eq((0..TABLES).rev()));
        assert!(plan.steps.iter().all(|step| step.action == crate::fleet::Action::Switch));
    }

    #[test]
    fn a_name_that_thousands_hold_is_one_short_line() {
        let host = (0..2000).fold(Host::new(), |host, i| host.policy(&format!("/{i}"), "reno", &[], "x"));
        let table = |i: usize| format!("[cgroup.\"/w{i}\"]\nalgorithm = \"cubic\"\nas = \"x\"\n");
        let plan = host.plan(&(0..2000).map(table).collect::<String>());
        let crate::fleet::Action::Conflict { message } = &plan.steps[1999].action else {
            panic!("{:?}", plan.steps[1999])
        };
        assert!(message.contains("/0, /1, /2, /3, /4 and 1995 more"), "{message}");
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
