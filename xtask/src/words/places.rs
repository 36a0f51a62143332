//! What documents point to: links, anchors, and paths of the repository in code.

use super::book::leaves;
use super::finding::{Finding, What};
use super::markdown::fence_of;
use crate::shell::root;
use std::path::{Component, Path, PathBuf};

/// Folders of the repository by which a path in code is known.
const FOLDERS: [&str; 10] =
    ["bench", "bpf", "crates", "docs", "fuzz", "measure", "packaging", "published", "scenarios", "xtask"];

/// Everything in `text`, the content of `file`, that leads nowhere.
pub fn check(file: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, content) in outside_code(text) {
        let of_link = links(content).filter_map(|link| broken_link(file, text, link));
        let of_code = spans(content).filter_map(missing_path);
        findings.extend(of_link.chain(of_code).map(|what| Finding { line, what }));
    }
    findings
}

/// Lines with their numbers, from 1, without those of blocks of code.
fn outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence = None;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let found = fence_of(line.trim_start());
        let outside = fence.is_none() && found.is_none();
        match (fence, found) {
            (None, Some(_)) => fence = found,
            (Some(open), Some(close)) if open == close => fence = None,
            _ => {}
        }
        outside.then_some((i + 1, line))
    })
}

/// Targets of the links of a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("](").filter_map(move |(at, mark)| {
        let target = line[at + mark.len()..].split_once(')')?.0;
        Some(target.split_whitespace().next().unwrap_or_default())
    })
}

/// What stands in single backticks.
fn spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn broken_link(file: &Path, text: &str, link: &str) -> Option<What> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = normal(&file.parent().unwrap_or(Path::new("")).join(path));
    if !path.is_empty() && !root().join(&target).exists() {
        return Some(What::NoSuchPath(link.to_owned()));
    }
    if !path.is_empty() && leaves(file, &target) {
        return Some(What::LeavesBook(link.to_owned()));
    }
    let anchor = anchor?;
    let other;
    let content = if path.is_empty() {
        text
    } else {
        other = std::fs::read_to_string(root().join(&target)).ok()?;
        &other
    };
    (target.extension().is_none_or(|e| e == "md") && !has_anchor(content, anchor))
        .then(|| What::NoSuchAnchor(link.to_owned()))
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = normal.pop(),
            other => normal.push(other),
        }
    }
    normal
}

fn has_anchor(text: &str, anchor: &str) -> bool {
    let headings = outside_code(text).filter(|(_, line)| line.starts_with('#'));
    let given = format!("id=\"{anchor}\"");
    text.contains(&given) || headings.map(|(_, line)| slug(line)).any(|slug| slug == anchor)
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A path of the repository that is not there. What has a pattern or a placeholder (`NAME`) is no path.
fn missing_path(code: &str) -> Option<What> {
    let first = code.split('/').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    let is_path = code.contains('/') && FOLDERS.contains(&first) && code.chars().all(plain);
    let placeholder = |part: &str| {
        let stem = part.split('.').next().unwrap_or_default();
        part.contains("..") || (stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    let known = ["README", "LICENSE", "SUMMARY", "CHANGELOG"];
    let is_pattern = code.split('/').any(|part| placeholder(part) && !known.iter().any(|name| part.starts_with(name)));
    (is_path && !is_pattern && !root().join(code).exists()).then(|| What::NoSuchPath(code.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<What> {
        check(Path::new("docs/page.md"), text).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn links_and_anchors_that_lead_nowhere_are_found() {
        let good = "# A heading: two\n[a](schema.md) [b](#a-heading-two) [c](https://example.org/x) `bpf/cc`\n";
        assert_eq!(found(good), []);
        assert_eq!(found("[a](nowhere.md)"), [What::NoSuchPath("nowhere.md".to_owned())]);
        assert_eq!(found("[a](#nowhere)"), [What::NoSuchAnchor("#nowhere".to_owned())]);
        assert_eq!(found("[a](schema.md#nowhere)"), [What::NoSuchAnchor("schema.md#nowhere".to_owned())]);
        assert_eq!(found("[a](../README.md)"), [What::LeavesBook("../README.md".to_owned())]);
    }

    #[test]
    fn a_path_in_code_has_to_exist_unless_it_is_a_pattern() {
        assert_eq!(found("`crates/nowhere/src/lib.rs`"), [What::NoSuchPath("crates/nowhere/src/lib.rs".to_owned())]);
        assert_eq!(found("`bpf/cc/NAME.bpf.c`, `crates/*/tests`, `docs/{a,b}.md` and `bpf/README.md`"), []);
        assert_eq!(found("```\n`crates/nowhere`\n```"), []);
    }
}
