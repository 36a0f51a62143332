//! Which cgroup has which algorithm, said in a file: what the file wants ([`PolicyFile`]), what that takes on this host
//! ([`Plan`]), doing it ([`apply`]), and keeping it so ([`watch`]).
//!
//! A file is checked as a whole before anything is touched. After that each cgroup is on its own: the failure of one
//! is reported and the others get what the file says.
//!
//! ```no_run
//! use ccactl_loader::fleet::{Observed, Plan, PolicyFile, apply};
//! use ccactl_loader::Loader;
//!
//! # fn main() -> Result<(), ccactl_loader::fleet::Error> {
//! let loader = Loader::open()?;
//! let file = PolicyFile::read("policy.toml".as_ref(), loader.mount())?;
//! let plan = Plan::new(&file, &Observed::of(&loader, &file)?, false);
//! for row in apply(&loader, &plan).rows {
//!     println!("{}: {}", row.cgroup, row.done.label());
//! }
//! # Ok(())
//! # }
//! ```

mod apply;
mod code;
mod document;
mod error;
mod file;
mod observed;
mod order;
mod plan;
mod step;
#[cfg(test)]
mod test_host;
pub mod watch;

pub use apply::{Done, Live, Report, Row, apply};
pub use error::{Error, FileError, Result, one_line};
pub use file::{Entry, PolicyFile};
pub use observed::Observed;
pub use plan::Plan;
pub use step::{Action, Step};
