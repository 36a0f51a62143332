//! Whether this process is asked to end. Whatever waits looks here several times a second, so that every command ends
//! within two seconds of SIGTERM.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on SIGINT, SIGTERM and SIGHUP do not end the process but set the flag, which is returned.
///
/// # Errors
/// When a handler cannot be installed.
pub fn on_signals() -> io::Result<Arc<AtomicBool>> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&REQUESTED))?;
    }
    Ok(Arc::clone(&REQUESTED))
}

/// The same; a second signal ends the process at once with this exit code, for a command whose end may take its time.
///
/// # Errors
/// When a handler cannot be installed.
pub fn on_first_signal(exit_code: u8) -> io::Result<Arc<AtomicBool>> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // Before the flag is set by the same signal.
        flag::register_conditional_shutdown(signal, exit_code.into(), Arc::clone(&REQUESTED))?;
    }
    on_signals()
}

/// Whether one of the signals has come: to the flag, or to a thread that blocks them and reads them later, as the
/// service of `apply --watch` and `run` do.
#[must_use]
pub fn is_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed) || is_pending()
}

fn is_pending() -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is ours; it is read only after the call has filled it.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && [SIGINT, SIGTERM].into_iter().any(|signal| libc::sigismember(pending.as_ptr(), signal) == 1)
    }
}
