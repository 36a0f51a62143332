//! The short form that belongs to the tests: three twins on one path and dctcp on that with marks, at one phase.

use crate::compare::Comparison;
use crate::paths::PATHS;
use crate::runs::{Guests, PHASES_US, Side};
use crate::trace;

#[path = "../../../../crates/lab/tests/needs/mod.rs"]
mod needs;

const KERNEL: &str = "6.1";
const TWINS: [(&str, &str); 4] = [("reno", "reno"), ("cubic", "cubic"), ("vegas", "vegas"), ("dctcp", "dctcp")];

#[test]
fn reno_cubic_vegas_and_dctcp_decide_as_the_kernels_own_up_to_the_first_loss_or_mark() {
    let Some(lab) = needs::ccactl_in(KERNEL) else { return };
    let dir = tempfile::tempdir().expect("a folder");
    let marks = *PATHS.iter().find(|path| path.marks).expect("a path with marks");
    let paths = [PATHS[0], marks];
    let guests = Guests::new(lab, dir.path().to_owned());
    guests.run(&TWINS, &paths, 1).expect("guests");
    for (twin, _) in TWINS {
        let path = paths.into_iter().find(|path| path.is_for(twin)).expect("a path for each");
        let of = |side| trace::of_main(&guests.folder(&path, twin, side, PHASES_US[0])).expect("a trace");
        let comparison = Comparison::of(&of(Side::Ours), &of(Side::Native));
        assert!(comparison.trouble.is_some_and(|at| at > 50), "{twin}: the path has a loss or a mark, but not at once");
        assert!(comparison.holds(), "{twin}: {}", comparison.told());
    }
}
