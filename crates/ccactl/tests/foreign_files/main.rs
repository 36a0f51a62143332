//! As root, ccactl writes neither through nor into what belongs to somebody else, whatever stands under the names that
//! it uses, in folders that others may write, with and without `--force`.
//!
//! Root is needed: without it the tests say so and pass, unless CI=true, where they fail.

#[allow(dead_code, reason = "shared with the tests of the loader's commands")]
#[path = "../cli_loader/host.rs"]
mod host;

mod bench;
mod record;
mod recover;
mod report;
mod room;
