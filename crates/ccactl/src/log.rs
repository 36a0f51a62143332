//! Where messages go: to standard error, unless a command has the whole screen. Then they wait until it gives it back.

use ccactl_host::terminal::{fit, has_colors, log_err};
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::debug_fn;

/// Messages that wait at most; what comes after is the same again.
const HELD_BYTES: usize = 64 * 1024;

/// What is logged, by how often `--verbose` is given. A figure embeds its font, which the converter to PNG does not need and
/// warns of.
pub const FILTERS: [&str; 3] = ["warn,simplecss=error", "info,simplecss=error", "debug,simplecss=error"];
/// With `--quiet`.
pub const QUIET: &str = "error";

static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<Vec<u8>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins the log with a filter, or with what `CCACTL_LOG` says. Colours are for a terminal only. What a message quotes is made fit
/// before it is coloured, for the colours are escapes themselves.
pub fn begin(filter: &'static str) {
    let fields = debug_fn(|out, field, value| {
        let text = format!("{value:?}");
        if field.name() == "message" { write!(out, "{}", fit(&text)) } else { write!(out, "{field}={}", fit(&text)) }
    });
    tracing_subscriber::fmt()
        .fmt_fields(fields.delimited(" "))
        .with_ansi(has_colors())
        .with_writer(|| Log)
        .with_env_filter(EnvFilter::try_from_env("CCACTL_LOG").unwrap_or_else(|_| filter.into()))
        // Standard error is gone: there is nobody to tell, and telling it there would be a panic.
        .log_internal_errors(false)
        .init();
}

/// Takes what is written to the log.
struct Log;

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match &mut *held() {
            None => return log_err().write(text),
            Some(waiting) if waiting.len() < HELD_BYTES => waiting.extend_from_slice(text),
            Some(_) => {}
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        log_err().flush()
    }
}

/// While it lives, messages wait; dropping it writes them.
pub struct Hold(());

impl Hold {
    /// Lets messages wait from now on.
    pub fn begin() -> Hold {
        *held() = Some(Vec::new());
        Hold(())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let waiting = held().take().unwrap_or_default();
        // Standard error is gone: there is nobody to tell.
        let _ = log_err().write_all(&waiting);
    }
}
