//! libbpf's own messages: to the log, and the telling ones into errors.

use libbpf_rs::{PrintLevel, set_print};
use std::cell::RefCell;
use std::sync::Once;

/// Lines of a verifier log that an error message carries.
const TELLING_LINES: usize = 3;

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

/// The last words of libbpf and the verifier on one line, or `fallback` when they said nothing, and what to do about them
/// where that is known.
pub(crate) fn last_words(fallback: &libbpf_rs::Error) -> String {
    let words = WARNINGS.with_borrow(|warnings| summary(warnings)).unwrap_or_else(|| format!("{fallback:#}"));
    match advice(&words) {
        Some(advice) => format!("{words}; {advice}"),
        None => words,
    }
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
    ];
    KNOWN.iter().find(|(sign, _)| words.contains(sign)).map(|(_, advice)| *advice)
}

/// A program that the verifier rejects leaves three kinds of messages: which program, its log between two rulers, and
/// that the object failed. The log's last lines before its statistics hold the reason.
fn summary(warnings: &[String]) -> Option<String> {
    let is_log = |message: &&String| message.contains("BEGIN PROG LOAD LOG");
    let telling = |line: &&str| {
        let line = line.trim();
        !line.is_empty()
            && !line.starts_with("processed ")
            && !line.starts_with("-- ")
            && !line.contains("PROG LOAD LOG")
            && !line.contains("failed to load object")
            && !line.contains("failed to load program")
    };
    let Some(log) = warnings.iter().find(is_log) else {
        let lines: Vec<&str> = warnings.iter().flat_map(|message| message.lines()).filter(telling).collect();
        return (!lines.is_empty()).then(|| shorten(&lines));
    };
    let program = warnings
        .iter()
        .find_map(|message| message.strip_prefix("libbpf: prog '")?.split_once('\''))
        .map_or_else(String::new, |(name, _)| format!("program {name}: "));
    let lines: Vec<&str> = log.lines().filter(telling).collect();
    Some(format!("{program}{}", shorten(&lines)))
}

fn shorten(lines: &[&str]) -> String {
    let last = &lines[lines.len().saturating_sub(TELLING_LINES)..];
    last.iter().map(|line| line.trim().trim_start_matches("libbpf: ")).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_log_shrinks_to_the_program_and_the_reason() {
        let warnings = [
            "libbpf: prog 'reno_init': BPF program load failed: Permission denied".to_owned(),
            "libbpf: prog 'reno_init': -- BEGIN PROG LOAD LOG --\n0: R1=ctx()\n1: (79) r1 = *(u64 *)(r1 +0)\n\
             2: (7b) *(u64 *)(r1 +0) = r1\nonly read is supported\nprocessed 3 insns (limit 1000000)\n\
             -- END PROG LOAD LOG --"
                .to_owned(),
            "libbpf: failed to load object 'reno'".to_owned(),
        ];
        let text = summary(&warnings).unwrap();
        assert_eq!(
            text,
            "program reno_init: 1: (79) r1 = *(u64 *)(r1 +0) | 2: (7b) *(u64 *)(r1 +0) = r1 | only read is supported"
        );
    }

    #[test]
    fn without_a_verifier_log_the_last_messages_remain() {
        let warnings = ["libbpf: extern (func ksym) 'x': not found in kernel or module BTFs".to_owned()];
        assert_eq!(summary(&warnings).unwrap(), "extern (func ksym) 'x': not found in kernel or module BTFs");
        assert_eq!(summary(&[]), None);
    }
}
