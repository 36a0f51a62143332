//! Measured beside printed.

mod difference;
mod faults;
mod pairs;
mod printed;
mod table;

pub use difference::{Compared, Difference, Mark};
pub use pairs::Pairs;
pub use printed::{Printed, SHEETS, Sheet, sheet};
pub use table::{Entry, Listed, Row, Table};
