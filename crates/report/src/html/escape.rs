//! Text of unknown origin (names, scenarios) inside a page.

use serde::Serialize;

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

/// JSON that cannot end the script element that holds it.
pub fn script_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("charts have text keys and finite numbers");
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_stays_text() {
        assert_eq!(text(r#"<b a='1'>"x" & y"#), "&lt;b a=&#39;1&#39;&gt;&quot;x&quot; &amp; y");
    }

    #[test]
    fn a_script_end_in_the_data_does_not_end_the_script() {
        let json = script_json(&["</script><script>alert(1)"]);
        assert!(!json.contains('<'));
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), ["</script><script>alert(1)"]);
    }
}
