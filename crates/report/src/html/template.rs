//! `{{name}}` in a template, replaced in one pass: what is filled in is never looked at again.

/// Replaces every `{{name}}` by `field(name)`.
pub fn fill(template: &str, field: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.push_str(&field(name));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn braces_in_a_value_are_not_fields() {
        assert_eq!(fill("<{{a}}|{{b}}>", |name| format!("{{{{{name}}}}}!")), "<{{a}}!|{{b}}!>");
    }

    #[test]
    fn an_open_field_stays_as_it_is() {
        assert_eq!(fill("x {{a", |_| String::new()), "x {{a");
    }
}
