//! Measured beside printed.

mod difference;
pub(crate) mod evidence;
mod faults;
mod pairs;
mod printed;
mod remark;
mod table;

pub use difference::{Compared, Difference, ENOUGH_RUNS, Mark};
pub use pairs::Pairs;
pub use printed::{Printed, SHEETS, Sheet, sheet};
pub use table::{Entry, Listed, Row, Table};
