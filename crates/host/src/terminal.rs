//! Names of others, fit for a terminal.
//!
//! A cgroup, a file and a recording may be named by somebody who wants a terminal to do something: set its title, hide a
//! line, read a word backwards. So all that a person reads goes through this module, which writes such characters as
//! `\u{1b}`: [`outln!`](crate::outln), [`errln!`](crate::errln) and the writers [`out`] and [`err`]. A screen and a
//! progress bar, which need escapes of their own, get texts that [`fit`] or [`fit_line`] has made fit.
//!
//! JSON loses nothing: [`json_out`] writes the same characters as JSON escapes them.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};
use std::sync::{Mutex, OnceLock, PoisonError};
use terminal_size::terminal_size_of;

/// Whether a terminal may act on this character instead of showing it: the control characters but newline and tab, those
/// of C1, and the marks that turn the direction of writing.
#[must_use]
pub fn is_unfit(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text has such a character. A report may be large, so bytes with which none of them begins are passed over.
fn has_unfit(text: &str) -> bool {
    let begins = |byte: &u8| matches!(byte, 0..=8 | 0xb..=0x1f | 0x7f | 0xc2 | 0xd8 | 0xe2);
    let mut at = 0;
    while let Some(next) = text.as_bytes()[at..].iter().position(begins) {
        at += next;
        // Each of these bytes begins a character, so this is its boundary.
        let Some(c) = text[at..].chars().next() else { break };
        if is_unfit(c) {
            return true;
        }
        at += c.len_utf8();
    }
    false
}

/// A text with each such character written as `\u{1b}`.
#[must_use]
pub fn fit(text: &str) -> Cow<'_, str> {
    escaped(text, is_unfit)
}

/// The same for a text that is to stay on its line, such as a cell of a table: newlines and tabs are escaped as well.
#[must_use]
pub fn fit_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unfit(c) || matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, is_unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut fit = String::with_capacity(text.len() + 16);
    text.chars().for_each(|c| if is_unfit(c) { Escape::Text.push(c, &mut fit) } else { fit.push(c) });
    Cow::Owned(fit)
}

/// How a character that must not reach a terminal is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    /// `\u{1b}`
    Text,
    /// `\u001b`. None of these characters stands outside of a string in JSON, so the value stays the same.
    Json,
}

impl Escape {
    fn push(self, c: char, fit: &mut String) {
        let code = u32::from(c);
        let written = match self {
            Self::Text => write!(fit, "\\u{{{code:x}}}"),
            Self::Json => write!(fit, "\\u{code:04x}"),
        };
        written.expect("a string takes all");
    }
}

/// Passes on what is fit for a terminal and escapes the rest. Bytes that are no UTF-8 become `\x9b`.
#[derive(Debug)]
pub struct Fit<W: Write> {
    inner: W,
    escape: Escape,
    /// The first bytes of a character whose last have not come yet.
    begun: Vec<u8>,
}

impl<W: Write> Fit<W> {
    /// For text.
    pub fn text(inner: W) -> Self {
        Self { inner, escape: Escape::Text, begun: Vec::new() }
    }

    /// For JSON.
    pub fn json(inner: W) -> Self {
        Self { inner, escape: Escape::Json, begun: Vec::new() }
    }

    /// What is fit of these bytes, and how many at the end are a character that has only begun.
    fn made_fit(&self, bytes: &[u8]) -> (String, usize) {
        let mut fit = String::with_capacity(bytes.len() + 16);
        let (mut begun, mut seen) = (0, 0);
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                if is_unfit(c) { self.escape.push(c, &mut fit) } else { fit.push(c) }
            }
            seen += chunk.valid().len() + chunk.invalid().len();
            let lacks_more = |bytes| str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
            // Only at the very end may the rest of it be still to come.
            if seen == bytes.len() && lacks_more(chunk.invalid()) {
                begun = chunk.invalid().len();
            } else {
                push_bytes(chunk.invalid(), &mut fit);
            }
        }
        (fit, begun)
    }
}

fn push_bytes(bytes: &[u8], fit: &mut String) {
    bytes.iter().for_each(|byte| write!(fit, "\\x{byte:02x}").expect("a string takes all"));
}

impl<W: Write> Write for Fit<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_fit = || str::from_utf8(bytes).is_ok_and(|text| !has_unfit(text));
        if self.begun.is_empty() && is_fit() {
            self.inner.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut all = std::mem::take(&mut self.begun);
        all.extend_from_slice(bytes);
        let (fit, begun) = self.made_fit(&all);
        self.begun = all.split_off(all.len() - begun);
        self.inner.write_all(fit.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for Fit<W> {
    fn drop(&mut self) {
        if !self.begun.is_empty() {
            let mut fit = String::new();
            push_bytes(&self.begun, &mut fit);
            // Whoever wrote half a character has gone; an error has nobody to go to.
            let _ = self.inner.write_all(fit.as_bytes());
        }
    }
}

/// Standard output for people.
#[must_use]
pub fn out() -> Fit<StdoutLock<'static>> {
    Fit::text(io::stdout().lock())
}

/// Standard error for people.
#[must_use]
pub fn err() -> Fit<StderrLock<'static>> {
    Fit::text(io::stderr().lock())
}

/// Standard output for JSON.
#[must_use]
pub fn json_out() -> Fit<StdoutLock<'static>> {
    Fit::json(io::stdout().lock())
}

/// Standard output for CSV and Markdown: to the byte what was made, unless it is a terminal.
///
/// # Errors
/// What the write answers.
pub fn write_data(text: &str) -> io::Result<()> {
    if is_out() { out().write_all(text.as_bytes()) } else { io::stdout().write_all(text.as_bytes()) }
}

/// Standard error to the byte, for a log that has made its texts fit and may colour them.
pub fn log_err() -> StderrLock<'static> {
    io::stderr().lock()
}

/// Whether standard output is a terminal.
#[must_use]
pub fn is_out() -> bool {
    io::stdout().is_terminal()
}

/// Columns of standard output, where it is a terminal.
#[must_use]
pub fn width() -> Option<usize> {
    terminal_size_of(io::stdout()).map(|(width, _)| width.0.into())
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colors {
    /// Where standard error is a terminal that wants them (<https://no-color.org>).
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// How much is said on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// Colours.
    pub colors: Colors,
    /// Neither progress nor warnings.
    pub quiet: bool,
}

static MANNER: OnceLock<Manner> = OnceLock::new();

/// Decides it for this process, once.
pub fn set_manner(manner: Manner) {
    let _ = MANNER.set(manner);
}

fn manner() -> Manner {
    MANNER.get().copied().unwrap_or_default()
}

/// Whether standard error has colours.
#[must_use]
pub fn has_colors() -> bool {
    match manner().colors {
        Colors::Always => true,
        Colors::Never => false,
        Colors::Auto => io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// Whether progress and warnings are unwanted.
#[must_use]
pub fn is_quiet() -> bool {
    manner().quiet
}

/// A line about progress on standard error, unless that is unwanted.
pub fn note(line: &str) {
    if !is_quiet() {
        print_err(format_args!("{line}\n"));
    }
}

static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Why standard output did not take everything, if so. A reader that went away is no reason.
#[must_use]
pub fn failure() -> Option<io::Error> {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// For the macros: one write, so that lines of several processes do not mix.
#[doc(hidden)]
pub fn print_out(text: fmt::Arguments<'_>) {
    match out().write_all(text.to_string().as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            FAILURE.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        _ => {}
    }
}

/// For the macros.
#[doc(hidden)]
pub fn print_err(text: fmt::Arguments<'_>) {
    // Standard error is gone: there is nobody to tell.
    let _ = err().write_all(text.to_string().as_bytes());
}

/// `print!` for people: what a terminal must not get is escaped, and a closed pipe does not panic.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::terminal::print_out(format_args!($($text)*)) };
}

/// `println!` in the same way.
#[macro_export]
macro_rules! outln {
    () => { $crate::terminal::print_out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::terminal::print_out(format_args!("{}\n", format_args!($($text)*))) };
}

/// `eprint!` in the same way.
#[macro_export]
macro_rules! err {
    ($($text:tt)*) => { $crate::terminal::print_err(format_args!($($text)*)) };
}

/// `eprintln!` in the same way.
#[macro_export]
macro_rules! errln {
    ($($text:tt)*) => { $crate::terminal::print_err(format_args!("{}\n", format_args!($($text)*))) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(fit: impl FnOnce(&mut Vec<u8>) -> Fit<&mut Vec<u8>>, parts: &[&[u8]]) -> String {
        let mut written = Vec::new();
        let mut writer = fit(&mut written);
        parts.iter().for_each(|part| writer.write_all(part).unwrap());
        drop(writer);
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn every_character_of_the_promise_is_escaped_and_no_other() {
        let unfit: Vec<u32> = (0..=0x10_ffff).filter(|&code| char::from_u32(code).is_some_and(is_unfit)).collect();
        let mut promised: Vec<u32> = (0..0x20).filter(|code| ![0x9, 0xa].contains(code)).chain(0x7f..=0x9f).collect();
        promised.extend([0x61c, 0x200e, 0x200f]);
        promised.extend((0x202a..=0x202e).chain(0x2066..=0x2069));
        assert_eq!(unfit, promised);
        for c in (0..=0x10_ffff).filter_map(char::from_u32) {
            assert_eq!(has_unfit(&format!("aé–{c}€b")), is_unfit(c), "{c:?}");
        }
    }

    #[test]
    fn an_escape_sequence_and_a_turned_word_are_shown_and_not_obeyed() {
        assert_eq!(fit("/a\u{1b}]0;title\u{7}"), "/a\\u{1b}]0;title\\u{7}");
        assert_eq!(fit("/a\u{202e}gpj\u{9b}2J"), "/a\\u{202e}gpj\\u{9b}2J");
        assert!(matches!(fit("/straße – 10 µs\n\tλ"), Cow::Borrowed(_)));
        assert_eq!(fit_line("two\nlines\tand a tab"), "two\\u{a}lines\\u{9}and a tab");
    }

    #[test]
    fn the_writer_does_the_same_wherever_its_input_is_cut() {
        let text = "/ä\u{1b}[31m\u{202e}…\n".as_bytes();
        for cut in 0..=text.len() {
            let (start, end) = text.split_at(cut);
            assert_eq!(through(|w| Fit::text(w), &[start, end]), "/ä\\u{1b}[31m\\u{202e}…\n", "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_escaped_and_half_a_character_is_not_lost() {
        assert_eq!(through(|w| Fit::text(w), &[b"a\x9b31m\xffb"]), "a\\x9b31m\\xffb");
        assert_eq!(through(|w| Fit::text(w), &[b"a\xe2\x80"]), "a\\xe2\\x80");
        assert_eq!(through(|w| Fit::text(w), &[b"a\xe2\x80", b"b"]), "a\\xe2\\x80b");
    }

    #[test]
    fn json_says_the_same_to_whoever_parses_it() {
        let written = through(|w| Fit::json(w), &["[\"/a\u{7f}\u{9b}\u{202e}é\"]\n".as_bytes()]);
        assert_eq!(written, "[\"/a\\u007f\\u009b\\u202eé\"]\n");
    }
}
