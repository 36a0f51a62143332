//! Doubly linked lists of packets in one block of memory, so that any number of queues share one allocation.

/// No node.
const NONE: u32 = u32::MAX;

struct Node<T> {
    /// `None` in the list of free nodes.
    value: Option<T>,
    previous: u32,
    next: u32,
}

/// Memory for the nodes of many [`List`]s.
pub(crate) struct Arena<T> {
    nodes: Vec<Node<T>>,
    free: u32,
}

/// A queue whose nodes are in an [`Arena`]; always the same one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        List { first: NONE, last: NONE }
    }
}

impl<T> Arena<T> {
    pub fn new() -> Self {
        Arena { nodes: Vec::new(), free: NONE }
    }

    /// Makes room for `nodes` values in all.
    pub fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes.saturating_sub(self.nodes.len()));
    }

    pub fn push_back(&mut self, list: &mut List, value: T) {
        let node = self.take_node(Node { value: Some(value), previous: list.last, next: NONE });
        match list.last {
            NONE => list.first = node,
            last => self.nodes[last as usize].next = node,
        }
        list.last = node;
    }

    pub fn pop_front(&mut self, list: &mut List) -> Option<T> {
        let node = list.first;
        let next = self.nodes.get(node as usize)?.next;
        list.first = next;
        match next {
            NONE => list.last = NONE,
            next => self.nodes[next as usize].previous = NONE,
        }
        self.free_node(node)
    }

    pub fn pop_back(&mut self, list: &mut List) -> Option<T> {
        let node = list.last;
        let previous = self.nodes.get(node as usize)?.previous;
        list.last = previous;
        match previous {
            NONE => list.first = NONE,
            previous => self.nodes[previous as usize].next = NONE,
        }
        self.free_node(node)
    }

    pub fn front(&self, list: &List) -> Option<&T> {
        self.nodes.get(list.first as usize)?.value.as_ref()
    }

    /// The first node of a list, for a walk.
    pub fn first(&self, list: &List) -> Option<u32> {
        Self::some(list.first)
    }

    /// The last one.
    pub fn last(&self, list: &List) -> Option<u32> {
        Self::some(list.last)
    }

    /// The node behind one.
    pub fn next(&self, node: u32) -> Option<u32> {
        Self::some(self.nodes[node as usize].next)
    }

    /// The node ahead of one.
    pub fn previous(&self, node: u32) -> Option<u32> {
        Self::some(self.nodes[node as usize].previous)
    }

    /// The value of a node that is in a list.
    pub fn value(&self, node: u32) -> &T {
        self.nodes[node as usize].value.as_ref().expect("nodes of lists have values")
    }

    /// The same, to be changed.
    pub fn value_mut(&mut self, node: u32) -> &mut T {
        self.nodes[node as usize].value.as_mut().expect("nodes of lists have values")
    }

    /// Puts a value behind a node of the list, or ahead of all others.
    pub fn insert_after(&mut self, list: &mut List, previous: Option<u32>, value: T) {
        let (previous, next) = match previous {
            Some(previous) => (previous, self.nodes[previous as usize].next),
            None => (NONE, list.first),
        };
        let node = self.take_node(Node { value: Some(value), previous, next });
        self.join(list, previous, node);
        self.join(list, node, next);
    }

    /// Takes a node out of its list.
    pub fn remove(&mut self, list: &mut List, node: u32) -> Option<T> {
        let Node { previous, next, .. } = self.nodes[node as usize];
        self.join(list, previous, next);
        self.free_node(node)
    }

    /// Makes two nodes neighbours; none is the end of the list.
    fn join(&mut self, list: &mut List, previous: u32, next: u32) {
        match previous {
            NONE => list.first = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => list.last = previous,
            next => self.nodes[next as usize].previous = previous,
        }
    }

    fn some(node: u32) -> Option<u32> {
        (node != NONE).then_some(node)
    }

    fn take_node(&mut self, node: Node<T>) -> u32 {
        match self.free {
            NONE => {
                let index = u32::try_from(self.nodes.len()).expect("far fewer packets than 2^32");
                self.nodes.push(node);
                index
            }
            index => {
                self.free = self.nodes[index as usize].next;
                self.nodes[index as usize] = node;
                index
            }
        }
    }

    fn free_node(&mut self, index: u32) -> Option<T> {
        let node = &mut self.nodes[index as usize];
        node.next = std::mem::replace(&mut self.free, index);
        node.value.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn a_list_can_be_walked_and_changed_in_its_middle() {
        let (mut arena, mut list) = (Arena::new(), List::default());
        let walk = |arena: &Arena<u32>, list: &List| {
            let nodes = std::iter::successors(arena.first(list), |node| arena.next(*node));
            let there: Vec<u32> = nodes.map(|node| *arena.value(node)).collect();
            let nodes = std::iter::successors(arena.last(list), |node| arena.previous(*node));
            let mut back: Vec<u32> = nodes.map(|node| *arena.value(node)).collect();
            back.reverse();
            assert_eq!(there, back);
            there
        };
        arena.insert_after(&mut list, None, 2);
        arena.insert_after(&mut list, None, 0);
        let (first, last) = (arena.first(&list), arena.last(&list));
        arena.insert_after(&mut list, first, 1);
        arena.insert_after(&mut list, last, 3);
        assert_eq!(walk(&arena, &list), [0, 1, 2, 3]);
        let second = first.and_then(|first| arena.next(first)).unwrap();
        assert_eq!(arena.remove(&mut list, second), Some(1));
        let (first, last) = (first.unwrap(), arena.last(&list).unwrap());
        assert_eq!((arena.remove(&mut list, last), arena.remove(&mut list, first)), (Some(3), Some(0)));
        let only = arena.first(&list).unwrap();
        *arena.value_mut(only) += 5;
        assert_eq!(walk(&arena, &list), [7]);
        assert_eq!(arena.remove(&mut list, only), Some(7));
        assert_eq!(walk(&arena, &list), []);
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Push(usize),
        PopFront(usize),
        PopBack(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let list = 0..3_usize;
        prop_oneof![
            2 => list.clone().prop_map(Step::Push),
            1 => list.clone().prop_map(Step::PopFront),
            1 => list.prop_map(Step::PopBack),
        ]
    }

    proptest! {
        #[test]
        fn lists_in_one_arena_are_queues(steps in prop::collection::vec(step(), 0..300)) {
            let (mut arena, mut lists) = (Arena::new(), [List::default(); 3]);
            let mut expected: [VecDeque<usize>; 3] = Default::default();
            let mut most = 0;
            for (value, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push(i) => {
                        arena.push_back(&mut lists[i], value);
                        expected[i].push_back(value);
                    }
                    Step::PopFront(i) => prop_assert_eq!(arena.pop_front(&mut lists[i]), expected[i].pop_front()),
                    Step::PopBack(i) => prop_assert_eq!(arena.pop_back(&mut lists[i]), expected[i].pop_back()),
                }
                for (list, expected) in lists.iter().zip(&expected) {
                    prop_assert_eq!(arena.front(list), expected.front());
                }
                most = most.max(expected.iter().map(VecDeque::len).sum());
            }
            prop_assert_eq!(arena.nodes.len(), most, "nodes are used again");
        }
    }
}
