//! A look at callbacks of loaded units from outside: one that does not return is told with its name.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

static INSIDE: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A call that is under way. One thread at a time has any.
pub(crate) struct Call;

pub(crate) fn enter(function: *const ()) -> Call {
    CALLS.fetch_add(1, Ordering::Relaxed);
    INSIDE.store(function.cast_mut(), Ordering::Relaxed);
    Call
}

impl Drop for Call {
    fn drop(&mut self) {
        INSIDE.store(ptr::null_mut(), Ordering::Relaxed);
    }
}

/// Starts a thread that calls `tell` once with the callback that has not returned after `limit`.
pub fn on_overdue(limit: Duration, tell: impl FnOnce(*const ()) + Send + 'static) {
    thread::spawn(move || {
        loop {
            let before = CALLS.load(Ordering::Relaxed);
            thread::sleep(limit);
            let inside = INSIDE.load(Ordering::Relaxed);
            if !inside.is_null() && CALLS.load(Ordering::Relaxed) == before {
                return tell(inside);
            }
        }
    });
}
