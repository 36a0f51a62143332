//! Text of unknown origin (names, scenarios) inside a page.

/// Text for element content and quoted attributes.
pub fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_stays_text() {
        assert_eq!(text(r#"<b a='1'>"x" & y"#), "&lt;b a=&#39;1&#39;&gt;&quot;x&quot; &amp; y");
    }
}
