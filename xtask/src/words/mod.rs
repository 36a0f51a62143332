//! `cargo xtask words`: what can be counted of plain English in documents and doc comments, and whether what documents name
//! exists.
//!
//! A sentence has at most 35 words. A line of a document has at most 100 characters. A link, an anchor and a path of the
//! repository lead somewhere. A page of `docs/` is in its summary and links to pages of `docs/` only.
//! Code, tables, headings and what `cargo xtask gen` writes are left out of the counting.

mod book;
mod finding;
mod markdown;
mod places;

use crate::error::{Error, FAILURE, Result};
use crate::shell::{program, root};
use finding::{Finding, LINE_CHARS, SENTENCE_WORDS, What};
use std::path::Path;

/// Documents whose words are not counted: golden files are what a program prints.
const NOT_COUNTED: [&str; 2] = ["crates/report/tests/golden/", "crates/suites/tests/golden/"];

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
        let mut found = check(file)?;
        if *file == book::SUMMARY {
            let text = std::fs::read_to_string(root().join(file)).map_err(|error| Error::io(file, &error))?;
            found.extend(book::findings(&files, &text));
        }
        for Finding { line, what } in found {
            eprintln!("{file}:{line}: {what}");
            findings += 1;
        }
    }
    if findings > 0 {
        return Err(Error::new(FAILURE, format!("{findings} places to mend")));
    }
    println!("{} files: sentences, lines, links and paths are as they should be", files.len());
    Ok(())
}

/// The Markdown and Rust files in git, new ones too.
fn documents() -> Result<String> {
    let mut git = program("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.rs"]);
    let output = git.output().map_err(|error| Error::io("cannot run git", &error))?;
    if !output.status.success() {
        return Err(Error::new(FAILURE, "git does not list the documents: expected a clone of the repository"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn check(file: &str) -> Result<Vec<Finding>> {
    let text = std::fs::read_to_string(root().join(file)).map_err(|error| Error::io(file, &error))?;
    if Path::new(file).extension().is_some_and(|extension| extension == "rs") {
        return Ok(long_sentences(&doc_comments(&text)));
    }
    let mut findings = places::check(Path::new(file), &text);
    if !NOT_COUNTED.iter().any(|folder| file.starts_with(folder)) {
        findings.extend(long_lines(&text));
        findings.extend(long_sentences(&text));
    }
    findings.sort_by_key(|finding| finding.line);
    Ok(findings)
}

fn long_lines(text: &str) -> Vec<Finding> {
    let blocks = markdown::blocks(text);
    let lines = blocks.iter().flat_map(|block| &block.lines).filter(|(_, content)| !markdown::has_link(content));
    let lengths = lines.map(|(line, content)| (*line, content.chars().count()));
    let too_long = lengths.filter(|(_, chars)| *chars > LINE_CHARS);
    too_long.map(|(line, chars)| Finding { line, what: What::LongLine(chars) }).collect()
}

fn long_sentences(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sentence in markdown::blocks(text).iter().flat_map(markdown::Block::sentences) {
        let words = markdown::words(&sentence.text);
        if words.len() > SENTENCE_WORDS {
            let what = What::LongSentence { words: words.len(), begins: words[..6].join(" ") };
            findings.push(Finding { line: sentence.line, what });
        }
    }
    findings
}

/// The doc comments of a Rust file, each in the line where it is; other lines are empty.
fn doc_comments(text: &str) -> String {
    let comment = |line: &str| {
        let line = line.trim_start();
        let content = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        content.unwrap_or_default().to_owned()
    };
    text.lines().map(comment).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(text: &str) -> Vec<Finding> {
        [long_lines(text), long_sentences(text)].concat()
    }

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
    fn of_code_the_doc_comments_are_read() {
        let long = "word ".repeat(36);
        let code = format!("fn f() {{}}\n\n    /// Short. {long}\n    // {long}\n");
        let findings = long_sentences(&doc_comments(&code));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_list_ends_a_sentence_and_code_is_one_word() {
        let items = format!("Three things:\n- {}\n- {}\n", "word ".repeat(19).trim(), "word ".repeat(19).trim());
        assert_eq!(counted(&items), []);
        let code = format!("Type `{}` here.", "word ".repeat(10).trim());
        assert_eq!(counted(&code), []);
    }
}
