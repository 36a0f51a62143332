//! Recordings of real traffic. Root is needed: without it the tests say so and pass, unless CI=true, where they fail.

mod changes;
mod events;
mod files;
mod filters;
mod host;
mod losses;
mod rates;
mod recording;
mod totals;
mod traffic;
mod workload;
