//! One metric per file. Each says what it folds out of the steps and what it makes of the result.

pub mod amounts;
pub mod changes;
pub mod drops;
pub mod inner;
pub mod offers;
pub mod phases;
pub mod swaps;
pub mod totals;
