//! `cargo xtask words`: what can be counted of plain English in the documents, and whether what they name exists.
//!
//! A sentence has at most 35 words and a line at most 100 characters; a link, an anchor and a path of the repository lead
//! somewhere. Code, tables, headings and what `cargo xtask gen` writes are left out of the counting.

mod markdown;
mod places;

use crate::error::{Error, FAILURE, Result};
use crate::shell::{program, root};
use std::fmt;
use std::path::Path;

/// Words of a sentence, at most.
const SENTENCE_WORDS: usize = 35;
/// Characters of a line, at most.
const LINE_CHARS: usize = 100;

/// Documents whose words are not counted yet: pages of experiments are rewritten together with their figures. Golden files are
/// what a program prints.
const NOT_COUNTED: [&str; 3] = ["docs/experiments/", "crates/report/tests/golden/", "crates/suites/tests/golden/"];

/// Something to mend.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    /// From 1.
    line: usize,
    what: What,
}

#[derive(Debug, PartialEq, Eq)]
enum What {
    LongLine(usize),
    LongSentence { words: usize, begins: String },
    NoSuchPath(String),
    NoSuchAnchor(String),
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
        }
    }
}

/// Checks the documents that are named, relative to the root of the repository; without names all that git knows.
pub fn run(named: &[&str]) -> Result {
    let listed;
    let files: Vec<&str> = if named.is_empty() {
        listed = documents()?;
        listed.lines().collect()
    } else {
        named.to_vec()
    };
    let mut findings = 0;
    for file in &files {
        for Finding { line, what } in check(file)? {
            eprintln!("{file}:{line}: {what}");
            findings += 1;
        }
    }
    if findings > 0 {
        return Err(Error::new(FAILURE, format!("{findings} places in the documents to mend")));
    }
    println!("{} documents: sentences, lines, links and paths are as they should be", files.len());
    Ok(())
}

/// The Markdown files in git, new ones too.
fn documents() -> Result<String> {
    let mut git = program("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md"]);
    let output = git.output().map_err(|error| Error::io("cannot run git", &error))?;
    if !output.status.success() {
        return Err(Error::new(FAILURE, "git does not list the documents: expected a clone of the repository"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn check(file: &str) -> Result<Vec<Finding>> {
    let text = std::fs::read_to_string(root().join(file)).map_err(|error| Error::io(file, &error))?;
    let mut findings = places::check(Path::new(file), &text);
    if !NOT_COUNTED.iter().any(|folder| file.starts_with(folder)) {
        findings.extend(counted(&text));
    }
    findings.sort_by_key(|finding| finding.line);
    Ok(findings)
}

fn counted(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for block in markdown::blocks(text) {
        for (line, content) in &block.lines {
            let chars = content.chars().count();
            if chars > LINE_CHARS && !markdown::has_link(content) {
                findings.push(Finding { line: *line, what: What::LongLine(chars) });
            }
        }
        for sentence in block.sentences() {
            let words = markdown::words(&sentence.text);
            if words.len() > SENTENCE_WORDS {
                let begins = words[..6].join(" ");
                let what = What::LongSentence { words: words.len(), begins };
                findings.push(Finding { line: sentence.line, what });
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_and_a_line_that_are_too_long_are_found_where_they_begin() {
        let long = "word ".repeat(36);
        let text = format!("# Heading\n\nShort one. {}\n", long.trim());
        let findings = counted(&text);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.iter().all(|finding| finding.line == 3));
        let fits =
            format!("{}\n{}\n{}.", "word ".repeat(12).trim(), "word ".repeat(12).trim(), "word ".repeat(11).trim());
        assert_eq!(counted(&fits), []);
    }

    #[test]
    fn code_tables_headings_and_generated_text_are_not_counted() {
        let long = "word ".repeat(60);
        for text in [
            format!("```sh\n{long}\n```\n"),
            format!("| {long} |\n|---|\n"),
            format!("# {long}\n"),
            format!("<!-- table: begin, written by `cargo xtask gen` -->\n{long}\n<!-- table: end -->\n"),
        ] {
            assert_eq!(counted(&text), [], "{text}");
        }
    }

    #[test]
    fn a_list_ends_a_sentence_and_code_is_one_word() {
        let items = format!("Three things:\n- {}\n- {}\n", "word ".repeat(19).trim(), "word ".repeat(19).trim());
        assert_eq!(counted(&items), []);
        let code = format!("Type `{}` here.", "word ".repeat(10).trim());
        assert_eq!(counted(&code), []);
    }
}
