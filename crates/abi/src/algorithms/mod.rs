//! The registry: one row per file of `bpf/cc/`, in one module per kind of signal.

mod bbr2;
mod bbr3;
mod delay;
mod ecn;
mod hybrid;
mod loss;
mod model;

use crate::registry::Algorithm;

const FAMILIES: [&[Algorithm]; 5] = [loss::ROWS, delay::ROWS, hybrid::ROWS, model::ROWS, ecn::ROWS];

/// Every algorithm, in the order in which lists show them.
pub const ALGORITHMS: &[Algorithm] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut family, mut rows) = (0, 0);
    while family < FAMILIES.len() {
        rows += FAMILIES[family].len();
        family += 1;
    }
    rows
}

const fn joined<const N: usize>() -> [Algorithm; N] {
    let mut all = [loss::ROWS[0]; N];
    let (mut family, mut next) = (0, 0);
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            all[next] = FAMILIES[family][row];
            next += 1;
            row += 1;
        }
        family += 1;
    }
    all
}
