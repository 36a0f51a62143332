//! What a process that answers needs beside its door.

use crate::http::error::{Error, Result};
use ccactl_host::interrupt;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(50);

/// Where everything of a server runs, once signals end it instead of the process.
pub(crate) fn runtime() -> Result<Runtime> {
    let failed = |doing| move |cause| Error::Server { doing, cause };
    interrupt::on_signals().map_err(failed("handle signals"))?;
    Builder::new_current_thread().enable_all().build().map_err(failed("start a runtime"))
}

/// How many files this process may open, once it has taken what it is allowed to: shells and systemd give 1024 until a
/// program asks for more.
pub(crate) fn most_files() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => hard,
        Err(_) => soft,
    }
}

/// The flag and not a signal of the runtime, as it is also looked at by what the recorder waits for while it starts and
/// ends, on threads that have no runtime.
pub(crate) async fn interrupted() {
    while !interrupt::is_requested() {
        sleep(LOOK).await;
    }
}
