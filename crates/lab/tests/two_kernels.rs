//! Every algorithm in two other kernels: the oldest that is supported, whose `cong_control` takes two arguments, and one of the newest, which
//! has the events of 7.1. `cargo xtask vm matrix` is the same with more kernels.

mod needs;

use ccactl_lab::matrix::{Cell, Column};
use std::sync::atomic::AtomicBool;

const KERNELS: [&str; 2] = ["6.1", "7"];

#[test]
fn every_algorithm_loads_carries_data_is_recorded_and_goes_away() {
    let labs = KERNELS.map(needs::ccactl_in);
    let columns = std::thread::scope(|scope| {
        let guest = |lab| scope.spawn(move || Column::measure(lab, &std::env::temp_dir(), &AtomicBool::new(false)));
        let guests: Vec<_> = labs.iter().flatten().map(guest).collect();
        guests.into_iter().map(|guest| guest.join().expect("no panic").expect("a table")).collect::<Vec<_>>()
    });
    for column in &columns {
        let others: Vec<_> = column.cells.iter().filter(|(_, cell)| !matches!(cell, Cell::Works { .. })).collect();
        let told: Vec<_> = others.iter().map(|(algorithm, cell)| format!("{}: {cell:?}", algorithm.name)).collect();
        assert!(told.is_empty(), "{}: {}", column.release, told.join("\n"));
    }
}
