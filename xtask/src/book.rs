//! `cargo xtask book`: the documents as a book, by mdBook.

use crate::error::{Error, FAILURE, Result};
use crate::shell::{program, root, run as run_command, succeeds, target_dir};

/// Writes `target/book`. mdBook only warns of an include that it does not find; here that is an error.
pub fn run() -> Result {
    if !succeeds(program("mdbook").arg("--version")) {
        let how = "mdbook does not run; install it with `cargo install mdbook --locked --no-default-features`";
        return Err(Error::new(FAILURE, how));
    }
    let book = target_dir().join("book");
    run_command(program("mdbook").args(["build", "docs", "--dest-dir"]).arg(&book))?;
    let page = book.join("bpf.html");
    let text = std::fs::read_to_string(&page).map_err(|error| Error::io(&page.display().to_string(), &error))?;
    if text.contains("{{#include") {
        return Err(Error::new(FAILURE, format!("{} is empty: docs/bpf.md includes nothing", page.display())));
    }
    println!("{}", root().join(book).join("index.html").display());
    Ok(())
}
