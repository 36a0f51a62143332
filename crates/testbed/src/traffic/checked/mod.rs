//! Checked traffic: thousands of live TCP connections on which every byte is known before it arrives, to prove that nothing
//! that is done to them meanwhile loses, changes, repeats or resets anything.
//!
//! Half of the connections are IPv4, half IPv6; data goes both ways on each. Each end is one process with one thread
//! ([`end`]); [`CheckedLoad`] starts both, asks them and compares what they say.
//!
//! An end says `ready`; then each line of its standard input is answered by one line of JSON:
//!
//! | line | answer |
//! |---|---|
//! | `sample` | [`Sample`] |
//! | `stop` | [`Sample`]; it sends nothing more and no longer counts the end of a connection as early |
//! | `finish` | [`Totals`], after every connection was closed in order; then the process ends |

mod connection;
pub mod end;
mod load;
mod report;
mod socket;
mod stream;

pub use end::{EndOptions, Side};
pub use load::{Bottleneck, CheckedLoad, Finish, LoadOptions};
pub use report::{STATES, Sample, StreamTotals, Totals, WrongByte};
