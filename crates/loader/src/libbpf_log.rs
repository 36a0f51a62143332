//! libbpf's own messages: to the log, and the telling ones into errors.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::RefCell;
use std::sync::Once;

/// Lines of libbpf's warnings that a reason consists of, and of a verifier log that go with it.
const TELLING_LINES: usize = 3;
const LOG_LINES: usize = 8;

thread_local! {
    /// Warnings since the last [`forget`]: libbpf prints on the thread that called it.
    static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Takes libbpf's messages off stderr. Idempotent.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Formatting its thousands of debug messages costs more than the load itself.
        let level = if tracing::enabled!(tracing::Level::TRACE) { PrintLevel::Debug } else { PrintLevel::Warn };
        set_print(Some((level, on_message)));
    });
}

fn on_message(level: PrintLevel, message: String) {
    let message = message.trim_end();
    if level == PrintLevel::Warn {
        tracing::debug!(target: "libbpf", "{message}");
        WARNINGS.with_borrow_mut(|warnings| warnings.push(message.to_owned()));
    } else {
        tracing::trace!(target: "libbpf", "{message}");
    }
}

/// Forgets earlier warnings, before a step whose warnings matter.
pub(crate) fn forget() {
    WARNINGS.with_borrow_mut(Vec::clear);
}

/// What libbpf and the verifier said of an object that does not load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// On one line: the program, the line of its source, the reason, and what to do where that is known.
    pub(crate) reason: String,
    /// The last lines of the verifier's log, none when it was not the verifier.
    pub(crate) log: Vec<String>,
}

/// What was said since the last [`forget`], or `fallback` when nothing was.
pub(crate) fn rejection(fallback: &libbpf_rs::Error) -> Rejection {
    let Rejection { reason, log } = WARNINGS
        .with_borrow(|warnings| summary(warnings))
        .unwrap_or_else(|| Rejection { reason: format!("{fallback:#}"), log: Vec::new() });
    let reason = match advice(&reason) {
        Some(advice) => format!("{reason}; {advice}"),
        None => reason,
    };
    Rejection { reason, log }
}

/// What the verifier's words about struct_ops mean to the author of an algorithm (kernel/bpf/verifier.c,
/// net/ipv4/bpf_tcp_ca.c).
fn advice(words: &str) -> Option<&'static str> {
    const KNOWN: &[(&str, &str)] = &[
        (
            "must have a GPL compatible license",
            "expected char LICENSE[] SEC(\"license\") = \"GPL\", as cc.bpf.h has it",
        ),
        (
            "attach to unsupported member",
            "the kernel does not offer this callback to BPF: take it out of the tcp_congestion_ops",
        ),
        (
            "no write support to",
            "writable are the 104 bytes of icsk_ca_priv (more state goes into CC_STORAGE) and the fields that \
             bpf/README.md lists",
        ),
        (
            "beyond the end of member",
            "private state has the 104 bytes of icsk_ca_priv: more goes into CC_STORAGE (bpf/README.md)",
        ),
        ("infinite loop detected", "give the loop a bound that the compiler can see"),
        ("back-edge", "give the loop a bound that the compiler can see"),
        (
            "program is too large",
            "a loop may take a million instructions in all: a smaller bound, or CC_GLOBAL for what stands in the loop",
        ),
        ("_or_null'", "test the pointer for NULL first"),
        (
            "Invalid offset",
            "clang puts a `static const` of 4, 8, 16 or 32 bytes where its own BTF does not find it: leave out `static`",
        ),
    ];
    KNOWN.iter().find(|(sign, _)| words.contains(sign)).map(|(_, advice)| *advice)
}

/// A program that the verifier rejects leaves three kinds of messages: which program, its log between two rulers, and
/// that the object failed.
fn summary(warnings: &[String]) -> Option<Rejection> {
    let telling = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !line.starts_with("-- ")
            && !line.contains("PROG LOAD LOG")
            && !line.contains("failed to load object")
            && !line.contains("failed to load program")
    };
    let Some(log) = warnings.iter().find(|message| message.contains("BEGIN PROG LOAD LOG")) else {
        let lines: Vec<&str> = warnings.iter().flat_map(|message| message.lines()).filter(telling).collect();
        return (!lines.is_empty()).then(|| Rejection { reason: shorten(&lines), log: Vec::new() });
    };
    let program = warnings
        .iter()
        .find_map(|message| message.strip_prefix("libbpf: prog '")?.split_once('\''))
        .map_or_else(String::new, |(name, _)| format!("program {name}"));
    let lines: Vec<&str> = log.lines().filter(telling).map(|line| line.trim().trim_start_matches("libbpf: ")).collect();
    let (reason, place) = verdict(&lines);
    let told = [program, place.unwrap_or_default(), reason].into_iter().filter(|part| !part.is_empty());
    let log = lines[lines.len().saturating_sub(LOG_LINES)..].iter().map(|line| cut(line)).collect();
    Some(Rejection { reason: told.collect::<Vec<_>>().join(": "), log })
}

/// States of many registers have long lines.
fn cut(line: &str) -> String {
    const SHOWN: usize = 150;
    let end = line.floor_char_boundary(SHOWN);
    if end < line.len() { format!("{} …", &line[..end]) } else { line.to_owned() }
}

/// Why the verifier refuses, and the line of the source that it was at (kernel/bpf/log.c, verifier.c). The reason is the last
/// line that is neither an instruction nor a state nor one of its figures. The source is the last such line before it.
fn verdict(lines: &[&str]) -> (String, Option<String>) {
    const ASIDE: &[&str] = &[
        "processed ",
        "verification time",
        "stack depth",
        "cur state",
        "old state",
        "mark_precise",
        "from ",
        "Live regs",
        "func#",
        "Func#",
        "Validating ",
        "max_states",
        "peak_states",
        ";",
    ];
    let is_instruction = |line: &str| {
        let number = line.split(':').next().unwrap_or_default();
        line.contains(':') && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_reason = |line: &&str| !is_instruction(line) && !ASIDE.iter().any(|start| line.starts_with(start));
    let Some(at) = lines.iter().rposition(is_reason) else { return (shorten(lines), None) };
    let source = lines[..at].iter().rev().find_map(|line| line.strip_prefix(';')).map(str::trim);
    // `text @ file:line` since Linux 6.9, before that the text alone.
    let place = source.filter(|text| !text.is_empty()).map(|text| match text.rsplit_once(" @ ") {
        Some((text, place)) => format!("{place} `{}`", text.trim()),
        None => format!("`{text}`"),
    });
    (lines[at].to_owned(), place)
}

fn shorten(lines: &[&str]) -> String {
    let last = &lines[lines.len().saturating_sub(TELLING_LINES)..];
    last.iter().map(|line| line.trim().trim_start_matches("libbpf: ")).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "libbpf: prog 'reno_init': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n; n += 1; @ mine.bpf.c:44\n\
         1: (79) r1 = *(u64 *)(r1 +0)\n2: (7b) *(u64 *)(r1 +0) = r1\nonly read is supported\n\
         cur state: R1=ctx()\nprocessed 3 insns (limit 1000000)\n-- END PROG LOAD LOG --";

    fn said(log: &str) -> Rejection {
        let warnings = [
            "libbpf: prog 'reno_init': BPF program load failed: Permission denied".to_owned(),
            log.to_owned(),
            "libbpf: failed to load object 'reno'".to_owned(),
        ];
        summary(&warnings).unwrap()
    }

    #[test]
    fn a_verifier_log_shrinks_to_the_program_the_line_and_the_reason() {
        let Rejection { reason, log } = said(LOG);
        assert_eq!(reason, "program reno_init: mine.bpf.c:44 `n += 1;`: only read is supported");
        assert_eq!((log.len(), log[1].as_str()), (7, "; n += 1; @ mine.bpf.c:44"));
        let older = said(&LOG.replace(" @ mine.bpf.c:44", ""));
        assert_eq!(older.reason, "program reno_init: `n += 1;`: only read is supported");
    }

    #[test]
    fn without_a_verifier_log_the_last_messages_remain() {
        let warnings = ["libbpf: extern (func ksym) 'x': not found in kernel or module BTFs".to_owned()];
        let Rejection { reason, log } = summary(&warnings).unwrap();
        assert_eq!(reason, "extern (func ksym) 'x': not found in kernel or module BTFs");
        assert!(log.is_empty());
        assert_eq!(summary(&[]), None);
    }
}
