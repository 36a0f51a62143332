//! The virtual lab: ccactl in a real kernel of the user's choice, in a machine whose clock counts instructions.
//!
//! ```text
//!   Cache ──Kernel──▶ Lab::run ──initramfs──▶ QEMU: kernel, ccactl as init (guest::main) ──▶ commands of the Task
//!                        ▲                                                                        │
//!                        └──────── Results ◀── archive on a raw disk ◀── what they leave in /results
//! ```
//!
//! `docs/virtual-lab.md` says what the clock means for results, and what a guest cannot do.

mod archive;
pub mod bench;
mod call;
mod disk;
mod elf;
mod error;
pub mod guest;
mod host_time;
mod initramfs;
mod job;
pub mod kernel;
mod lab;
mod machine;
pub mod matrix;
mod modules;
mod program;
mod qemu;
mod space;

pub use call::Ran;
pub use error::{Error, Result};
pub use job::{CommandOutcome, End, GuestCommand, Outcome};
pub use lab::{Lab, Results, Task};
pub use machine::Clock;
pub use qemu::Qemu;
