//! Where messages go: to standard error, unless a command has the whole screen. Then they wait until it gives it back.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Messages that wait at most; what comes after is the same again.
const HELD_BYTES: usize = 64 * 1024;

static HELD: Mutex<Option<Vec<u8>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<Vec<u8>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes what is written to the log.
pub struct Log;

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match &mut *held() {
            None => return io::stderr().write(text),
            Some(waiting) if waiting.len() < HELD_BYTES => waiting.extend_from_slice(text),
            Some(_) => {}
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
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
        let _ = io::stderr().write_all(&waiting);
    }
}
