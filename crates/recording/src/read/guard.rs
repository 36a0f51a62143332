//! What reads Parquet and Arrow panics on some damaged files, where it should give an error. Here it becomes one.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How the names of the threads begin on which Polars decodes.
const READERS: [&str; 3] = ["polars", "async-executor", "tokio"];

/// Calls of [`guarded`] that run, on whatever thread.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// What `decode` gives, or in one line why it has panicked. Nothing is printed then; what else panics is told as ever.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(hush);
    let _guard = Guard::enter();
    panic::catch_unwind(AssertUnwindSafe(decode)).map_err(|panic| reason(panic.as_ref()))
}

/// Puts a hook before that of the process, which passes over the panics of readers.
fn hush() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !is_reader() {
            before(info);
        }
    }));
}

fn is_reader() -> bool {
    let is_named = |name: &str| READERS.iter().any(|reader| name.starts_with(reader));
    let is_of_polars = || RUNNING.load(Ordering::Relaxed) > 0 && thread::current().name().is_some_and(is_named);
    IS_GUARDED.get() || is_of_polars()
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next()).unwrap_or("the reader gave up").to_owned()
}

struct Guard {
    was_guarded: bool,
}

impl Guard {
    fn enter() -> Guard {
        RUNNING.fetch_add(1, Ordering::Relaxed);
        Guard { was_guarded: IS_GUARDED.replace(true) }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        IS_GUARDED.set(self.was_guarded);
        RUNNING.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_first_line() {
        assert_eq!(guarded(|| 3), Ok(3));
        let number = 7;
        assert_eq!(guarded(|| -> u32 { panic!("page {number}\nof many") }), Err("page 7".to_owned()));
        assert_eq!(guarded(|| -> u32 { panic!("no page") }), Err("no page".to_owned()));
    }

    #[test]
    fn only_readers_are_quiet_and_only_while_they_read() {
        let is_quiet = |name: &str| {
            thread::scope(|scope| {
                thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, is_reader).unwrap().join().unwrap()
            })
        };
        assert!(!is_reader());
        let seen = guarded(|| (is_reader(), is_quiet("polars-3"), is_quiet("async-executor-0"), is_quiet("walker")));
        assert_eq!(seen, Ok((true, true, true, false)));
        assert!(!is_reader());
    }
}
