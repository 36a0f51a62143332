//! The link-sharing structure: which classes and groups there are, and what they must be together.

use super::Cbq;

/// Number of priorities, as in ns-2, ALTQ and Linux.
pub const PRIORITIES: usize = 8;
/// Above every group.
pub(super) const LINK_LEVEL: u32 = u32::MAX;
const WHOLE_PERMILLE: u64 = 1000;

/// Classes and groups that share what one agency, department or protocol family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CbqGroup {
    /// Number of the group that it is in, which comes before it; `None` is the link.
    pub group: Option<u32>,
    /// Share of the rate of the link, in thousandths; not 0.
    pub share_permille: u32,
    /// What is in it may borrow from what is above it.
    pub borrow: bool,
}

/// A class with a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CbqClass {
    /// Number of the group that it is in; `None` is the link.
    pub group: Option<u32>,
    /// Share of the rate of the link, in thousandths; not 0.
    pub share_permille: u32,
    /// It may borrow from what is above it. If not, its share is its limit.
    pub borrow: bool,
    /// 0 goes before 1 and so on, below [`PRIORITIES`].
    pub priority: u32,
}

/// A class or a group in the tree.
pub(super) struct Node {
    /// `None` is the link.
    pub parent: Option<usize>,
    pub share_permille: u32,
    pub borrow: bool,
    /// 1 for a class; above everything that is in it.
    pub level: u32,
}

impl Cbq {
    /// What contradicts the documentation of classes and groups, with the field.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        if self.classes.is_empty() {
            return Some(("classes", "expected at least one class, found none".to_owned()));
        }
        let missing = |(number, group): (usize, &CbqGroup)| group.group.filter(|group| *group as usize >= number);
        if let Some(group) = self.groups.iter().enumerate().find_map(missing) {
            return Some((
                "groups",
                format!("expected a group to come after the one that it is in, found group {group}"),
            ));
        }
        let known = self.groups.len();
        let missing = |class: &CbqClass| class.group.filter(|group| *group as usize >= known);
        if let Some(group) = self.classes.iter().find_map(missing) {
            return Some(("classes", format!("expected a group below {known}, the number of groups, found {group}")));
        }
        self.fault_of_shares()
    }

    fn fault_of_shares(&self) -> Option<(&'static str, String)> {
        let groups = self.groups.iter().map(|group| (group.group, group.share_permille));
        let shares: Vec<_> =
            self.classes.iter().map(|class| (class.group, class.share_permille)).chain(groups).collect();
        if shares.iter().any(|(_, share)| *share == 0) {
            return Some(("classes", "expected shares from 1, found 0".to_owned()));
        }
        let sum = |of: Option<u32>| -> u64 {
            shares.iter().filter(|(group, _)| *group == of).map(|(_, share)| u64::from(*share)).sum()
        };
        if sum(None) > WHOLE_PERMILLE {
            let found = sum(None);
            return Some((
                "classes",
                format!("expected shares of {WHOLE_PERMILLE} thousandths at most together, found {found}"),
            ));
        }
        let over = |(number, group): (usize, &CbqGroup)| {
            let found = sum(Some(number as u32));
            let most = group.share_permille;
            (found > u64::from(most)).then(|| {
                (
                    "classes",
                    format!("expected shares of {most} thousandths at most together in group {number}, found {found}"),
                )
            })
        };
        self.groups.iter().enumerate().find_map(over)
    }

    /// The classes, then the groups.
    pub(super) fn nodes(&self) -> Vec<Node> {
        let first = self.classes.len();
        let parent = |group: Option<u32>| group.map(|group| first + group as usize);
        let class = |class: &CbqClass| {
            let CbqClass { group, share_permille, borrow, .. } = *class;
            Node { parent: parent(group), share_permille, borrow, level: 1 }
        };
        let group = |group: &CbqGroup| {
            let CbqGroup { group, share_permille, borrow } = *group;
            Node { parent: parent(group), share_permille, borrow, level: 2 }
        };
        let mut nodes: Vec<Node> = self.classes.iter().map(class).chain(self.groups.iter().map(group)).collect();
        // What is in a group comes after it.
        for number in (first..nodes.len()).rev() {
            if let Some(parent) = nodes[number].parent {
                nodes[parent].level = nodes[parent].level.max(nodes[number].level + 1);
            }
        }
        nodes
    }
}
