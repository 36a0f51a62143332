//! Subjects and bodies of commits, as CONTRIBUTING.md wants them.

use crate::error::{Error, FAILURE, Result};
use crate::shell::program;

/// The rule is checked from here on: older commits cannot be changed any more.
const SINCE: &str = "2026-11-24T04:00:00Z";
/// Characters of a subject, at most.
const SUBJECT_CHARS: usize = 72;

/// Checks the commits of this clone since the rule is checked. Merges have nothing to say.
pub fn check() -> Result {
    let mut git = program("git");
    git.args(["log", "--no-merges", "-z", "--format=%h%n%B", "--since", SINCE]);
    let output = git.output().map_err(|error| Error::io("cannot run git", &error))?;
    if !output.status.success() {
        println!("NOT CHECKED: git does not know this folder's history");
        return Ok(());
    }
    let log = String::from_utf8_lossy(&output.stdout);
    let commits: Vec<&str> = log.split('\0').filter(|commit| !commit.is_empty()).collect();
    let problems: Vec<String> = commits.iter().filter_map(|commit| problem(commit)).collect();
    for problem in &problems {
        eprintln!("{problem}");
    }
    if !problems.is_empty() {
        return Err(Error::new(FAILURE, format!("{} of {} commits to say better", problems.len(), commits.len())));
    }
    println!("{} commits say what and why", commits.len());
    Ok(())
}

/// What is wrong with one commit: its short hash, then its message.
fn problem(commit: &str) -> Option<String> {
    let (hash, message) = commit.split_once('\n')?;
    let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
    let chars = subject.chars().count();
    if chars > SUBJECT_CHARS {
        return Some(format!("{hash}: a subject of {chars} characters, expected at most {SUBJECT_CHARS}: {subject}"));
    }
    body.trim().is_empty().then(|| format!("{hash}: no body, expected why the change is made: {subject}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_a_short_subject_and_says_why() {
        assert_eq!(problem("abc\nSubject\n\nBecause.\n"), None);
        let long = format!("abc\n{}\n\nBecause.", "x".repeat(73));
        assert!(problem(&long).is_some_and(|problem| problem.contains("73 characters")));
        assert!(problem("abc\nSubject\n").is_some_and(|problem| problem.contains("no body")));
    }
}
