//! The JSON schema: it takes every shipped scenario, and refuses what the reader refuses for the sake of one field.

use ccactl_scenario::{SHIPPED, Scenario, schema};
use serde_json::{Value, json};

/// The part of JSON Schema that the schema uses, but for patterns. What is wrong, if anything.
fn fault(root: &Value, schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let definition = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} is defined"));
        return fault(root, definition, value, path);
    }
    let wrong = |what: &str| Some(format!("{path}: {what}: {value}"));
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let refused = match keyword.as_str() {
            "anyOf" => rule.as_array().unwrap().iter().all(|form| fault(root, form, value, path).is_some()),
            "const" => value != rule,
            "enum" => !rule.as_array().unwrap().contains(value),
            "type" => match rule {
                Value::Array(types) => !types.iter().any(|name| is(name.as_str().unwrap(), value)),
                name => !is(name.as_str().unwrap(), value),
            },
            "minimum" => value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_some_and(|number| number > rule.as_f64().unwrap()),
            "exclusiveMaximum" => value.as_f64().is_some_and(|number| number >= rule.as_f64().unwrap()),
            "minItems" => value.as_array().is_some_and(|items| (items.len() as u64) < rule.as_u64().unwrap()),
            "required" => rule.as_array().unwrap().iter().any(|name| value.get(name.as_str().unwrap()).is_none()),
            "items" | "properties" | "additionalProperties" => false,
            "pattern" | "description" | "title" | "$schema" | "$defs" => false,
            other => panic!("{other} is not looked at by this test"),
        };
        if refused {
            return wrong(keyword);
        }
    }
    if let (Some(items), Some(entries)) = (schema.get("items"), value.as_array()) {
        return entries.iter().enumerate().find_map(|(i, entry)| fault(root, items, entry, &format!("{path}[{i}]")));
    }
    let fields = value.as_object()?;
    fields.iter().find_map(|(name, entry)| {
        let path = format!("{path}.{name}");
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        match (known, schema.get("additionalProperties")) {
            (Some(schema), _) => fault(root, schema, entry, &path),
            (None, Some(Value::Bool(false))) => Some(format!("{path}: unknown")),
            (None, Some(schema)) => fault(root, schema, entry, &path),
            (None, None) => None,
        }
    })
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("{other} is no type"),
    }
}

fn refused(text: &str) -> Option<String> {
    let schema = schema();
    let document: toml::Table = text.parse().unwrap();
    fault(&schema, &schema, &json!(document), "")
}

#[test]
fn it_takes_every_shipped_scenario_and_its_resolved_form() {
    for shipped in SHIPPED {
        assert_eq!(refused(shipped.text), None, "{}", shipped.name);
        let resolved = Scenario::parse(shipped.name, shipped.text).unwrap().to_toml();
        assert_eq!(refused(&resolved), None, "{}", shipped.name);
    }
}

#[test]
fn it_refuses_what_is_wrong_with_one_field() {
    const GOOD: &str = "duration = \"1s\"\n[link]\nrate = \"1Mbit/s\"\nbase_rtt = \"1ms\"\nbuffer = \"9p\"\n[[flow]]\nname = \"a\"\nalgorithm = \"reno\"\n";
    assert_eq!(refused(GOOD), None);
    for (from, to, path) in [
        ("duration = \"1s\"", "", ": required"),
        ("duration = \"1s\"", "durations = 1\nduration = \"1s\"", ".durations: unknown"),
        ("duration = \"1s\"", "duration = 1", ".duration: type"),
        ("duration = \"1s\"", "duration = \"1s\"\nrepeat = 1001", ".repeat: maximum"),
        ("buffer = \"9p\"", "buffer = { bdps = 1 }", ".link.buffer: anyOf"),
        ("buffer = \"9p\"", "buffer = \"9p\"\nloss = 1", ".link.loss: anyOf"),
        ("buffer = \"9p\"", "buffer = \"9p\"\nqueue = \"fifo\"", ".link.queue: anyOf"),
        (
            "buffer = \"9p\"",
            "buffer = \"9p\"\nqueue = { discipline = \"pie\", interval = \"1s\" }",
            ".link.queue: anyOf",
        ),
        ("name = \"a\"", "name = \"a\"\nrepeat = \"often\"", ".flow[0].repeat: anyOf"),
        ("name = \"a\"", "", ".flow[0]: required"),
        ("[[flow]]", "[host.a]\nrcvbuf_max = 1\n[[flow]]", ".host.a.rcvbuf_max: minimum"),
        (
            "[[flow]]",
            "[[matrix]]\nname = \"x\"\nfield = \"repeat\"\nvalues = []\n[[flow]]",
            ".matrix[0].values: minItems",
        ),
    ] {
        let fault = refused(&GOOD.replacen(from, to, 1)).unwrap_or_else(|| panic!("{to} is taken"));
        assert!(fault.starts_with(path), "{to}: expected {path}, found {fault}");
    }
}

#[test]
fn the_patterns_have_all_units() {
    let schema = schema();
    let pattern = |name: &str| schema.pointer(&format!("/$defs/{name}/pattern")).unwrap().as_str().unwrap().to_owned();
    assert_eq!(pattern("rate"), r"^[0-9]+(\.[0-9]*)?\s*(Gbit/s|Mbit/s|kbit/s|bit/s)$");
    assert_eq!(pattern("span"), r"^[0-9]+(\.[0-9]*)?\s*(h|min|s|ms|us|ns)$");
}
