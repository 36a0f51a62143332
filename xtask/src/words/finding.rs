//! What is to be mended in a document, and the limits.

use std::fmt;

/// Words of a sentence, at most.
pub(super) const SENTENCE_WORDS: usize = 35;
/// Characters of a line, at most.
pub(super) const LINE_CHARS: usize = 100;

/// Something to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// From 1.
    pub(super) line: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    LongLine(usize),
    LongSentence { words: usize, begins: String },
    NoSuchPath(String),
    NoSuchAnchor(String),
    LeavesBook(String),
    NotInSummary(String),
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::LongLine(chars) => write!(f, "a line of {chars} characters, expected at most {LINE_CHARS}"),
            What::LongSentence { words, begins } => {
                write!(f, "a sentence of {words} words, expected at most {SENTENCE_WORDS}: \"{begins} …\"")
            }
            What::NoSuchPath(path) => write!(f, "`{path}` is not in the repository"),
            What::NoSuchAnchor(anchor) => write!(f, "no heading has the anchor `{anchor}`"),
            What::LeavesBook(link) => {
                write!(f, "`{link}` leads out of docs/, and nowhere in the book: write the path as code")
            }
            What::NotInSummary(file) => write!(f, "{file} is not in the summary"),
        }
    }
}
