//! What the documents need to be a book: each of them in the summary, and no link that leaves it.

use super::finding::{Finding, What};
use std::path::Path;

/// The folder of the book.
const BOOK: &str = "docs";
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// Documents that the summary does not name.
pub fn outside_summary<'a>(files: &[&'a str], summary: &str) -> Vec<&'a str> {
    let is_page = |file: &&&str| file.starts_with("docs/") && file.ends_with(".md") && **file != SUMMARY;
    let listed = |file: &&str| summary.contains(&format!("({})", file.trim_start_matches("docs/")));
    files.iter().filter(is_page).copied().filter(|file| !listed(file)).collect()
}

/// A link of a page, already without its anchor, to a file that the book does not have.
pub fn leaves(file: &Path, target: &Path) -> bool {
    file.starts_with(BOOK) && !target.starts_with(BOOK)
}

/// In the summary's name.
pub fn findings(files: &[&str], summary: &str) -> Vec<Finding> {
    let what = |file: &str| Finding { line: 1, what: What::NotInSummary(file.to_owned()) };
    outside_summary(files, summary).into_iter().map(what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_summary_does_not_name_is_found() {
        let files = ["README.md", "docs/SUMMARY.md", "docs/a.md", "docs/how-to/b.md", "docs/c.svg"];
        assert_eq!(outside_summary(&files, "- [A](a.md)\n"), ["docs/how-to/b.md"]);
        assert_eq!(outside_summary(&files, "- [A](a.md)\n- [B](how-to/b.md)\n"), [""; 0]);
    }

    #[test]
    fn a_link_from_a_page_into_the_source_leaves_the_book() {
        let page = Path::new("docs/how-to/load.md");
        assert!(leaves(page, Path::new("bpf/README.md")));
        assert!(!leaves(page, Path::new("docs/schema.md")));
        assert!(!leaves(Path::new("README.md"), Path::new("bpf/README.md")));
    }
}
