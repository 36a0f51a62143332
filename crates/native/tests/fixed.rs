//! `fixed.bpf.h`: roots and windowed maximum.

use std::collections::VecDeque;

use ccactl_native::fixed::{Window, cube_root, square_root};
use proptest::prelude::*;

#[test]
fn small_cube_roots_are_rounded() {
    for a in 0..64 {
        let exact = (a as f64).cbrt();
        assert!((f64::from(cube_root(a)) - exact).abs() <= 0.75, "cbrt({a}) = {}", cube_root(a));
    }
    assert_eq!([0, 1, 8, 27, 63].map(cube_root), [0, 1, 2, 3, 4]);
}

/// Over the arguments that K is computed from, for windows from one packet to a million.
#[test]
fn cube_roots_are_as_exact_as_the_kernels() {
    let (mut sum, mut count, mut worst) = (0.0_f64, 0.0_f64, 0.0_f64);
    let mut a = 1e6_f64;
    while a < 1e15 {
        let error = (f64::from(cube_root(a as u64)) / a.cbrt() - 1.0).abs();
        sum += error;
        count += 1.0;
        worst = worst.max(error);
        a *= 1.001;
    }
    assert!(sum / count < 0.0008, "mean error {}", sum / count);
    assert!(worst < 0.01, "worst error {worst}");
}

proptest! {
    #[test]
    fn square_roots_are_exact_and_rounded_down(a in prop_oneof![0_u64..100_000, any::<u64>()]) {
        let root = u128::from(square_root(a));
        prop_assert!(root * root <= u128::from(a) && (root + 1) * (root + 1) > u128::from(a), "sqrt({}) = {}", a, root);
    }
}

#[test]
fn square_roots_at_the_ends() {
    assert_eq!([0, 1, 2, 3, 4, u64::MAX].map(square_root), [0, 1, 1, 1, 2, u32::MAX]);
}

#[test]
fn the_window_forgets_a_maximum_when_it_is_too_old() {
    let mut window = Window::default();
    assert_eq!(window.max(10, 0, 100), 100);
    for at in 1..=10 {
        assert_eq!(window.max(10, at, 50), 100, "at {at}");
    }
    assert_eq!(window.max(10, 11, 50), 50);
}

#[test]
fn the_successor_is_the_best_sample_after_the_maximum() {
    let mut window = Window::default();
    window.max(10, 0, 100);
    window.max(10, 3, 80);
    window.max(10, 6, 60);
    assert_eq!(window.max(10, 11, 10), 80);
    assert_eq!(window.max(10, 14, 10), 60);
    assert_eq!(window.max(10, 17, 10), 10);
}

proptest! {
    #[test]
    fn the_maximum_lies_between_the_newest_sample_and_the_true_maximum(
        start in any::<u32>(),
        length in 1_u32..50,
        samples in prop::collection::vec((0_u32..20, 0_u32..1000), 1..200),
    ) {
        let mut window = Window::default();
        let mut history: VecDeque<(u32, u32)> = VecDeque::new();
        let mut at = start;
        for (index, (step, value)) in samples.into_iter().enumerate() {
            at = at.wrapping_add(step);
            if index == 0 {
                // An empty window says 0 at time 0; a user starts it at its own time.
                window.max(0, at, u32::MAX);
                window.max(length, at.wrapping_add(length + 1), value);
                at = at.wrapping_add(length + 1);
                history.push_back((at, value));
                continue;
            }
            history.push_back((at, value));
            while history.front().is_some_and(|&(then, _)| at.wrapping_sub(then) > length) {
                history.pop_front();
            }
            let exact = history.iter().map(|&(_, value)| value).max().expect("the newest is in");
            let found = window.max(length, at, value);
            prop_assert!(value <= found && found <= exact, "{value} <= {found} <= {exact}");
        }
    }
}
