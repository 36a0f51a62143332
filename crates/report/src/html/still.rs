//! A page of tables and still figures in the look of a report, without a script.

use super::PAGE_CSS;
use super::escape::text;

/// A whole page; `body` is HTML, what stands in it must be [escaped](super::text). `style` comes after the common one.
#[must_use]
pub fn still_page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
         <style>{PAGE_CSS}{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n</header>\n<main>\n{body}</main>\n\
         <footer>Made by ccactl {version}. This file needs no network.</footer>\n</body>\n</html>\n",
        title = text(title),
        version = env!("CARGO_PKG_VERSION"),
    )
}
