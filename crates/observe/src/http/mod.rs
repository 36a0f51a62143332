//! HTTP for whoever runs beside other things on a busy host: a port or a unix socket, few answers at a time, bounds for clients that
//! are slow, silent or many.

mod address;
mod door;
mod error;
mod listen;
mod rooms;
mod run;

pub use address::Address;
pub use door::{Lasting, answer};
pub use error::{Error, Result};
pub use listen::Listener;
pub use rooms::Limits;
pub(crate) use run::{interrupted, most_files, runtime};
