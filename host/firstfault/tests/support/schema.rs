//! Holds a document against the schema that the program prints: as much of JSON Schema as these schemas use, and a complaint
//! about whatever else they come to use.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::program::{firstfault, output};

static DIAGNOSIS: LazyLock<Value> = LazyLock::new(|| printed("diagnosis"));
static CONTEXT: LazyLock<Value> = LazyLock::new(|| printed("context"));

fn printed(document: &str) -> Value {
    serde_json::from_str(&output(firstfault().args(["schema", document]))).unwrap()
}

/// Fails unless the document is one of the schema `diagnosis` or `context`.
pub(crate) fn assert_valid(schema: &str, document: &Value) {
    let problems = problems(schema, document);
    assert!(problems.is_empty(), "against the schema {schema}: {problems:#?}");
}

/// What does not fit.
pub(crate) fn problems(schema: &str, document: &Value) -> Vec<String> {
    let root = match schema {
        "diagnosis" => &*DIAGNOSIS,
        "context" => &*CONTEXT,
        other => panic!("there is no schema {other}"),
    };
    let mut problems = Vec::new();
    check(root, root, document, "$", &mut problems);
    problems
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    let rules = match schema {
        Value::Bool(true) => return,
        Value::Object(rules) => rules,
        other => panic!("not a schema: {other}"),
    };
    for (keyword, rule) in rules {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => {}
            "$ref" => {
                let pointer =
                    rule.as_str().and_then(|r| r.strip_prefix('#')).expect("a reference within the schema");
                check(root, root.pointer(pointer).expect("what is referred to"), value, at, problems);
            }
            "type" => check_type(rule, value, at, problems),
            "const" if rule != value => problems.push(format!("{at}: {value} is not {rule}")),
            "const" => {}
            "enum" if !array(rule).contains(value) => {
                problems.push(format!("{at}: {value} is none of {rule}"))
            }
            "enum" => {}
            "minimum" if value.as_f64() < rule.as_f64() && value.is_number() => {
                problems.push(format!("{at}: {value} is below {rule}"));
            }
            "minimum" => {}
            "anyOf" | "oneOf" => check_choice(root, keyword, rule, value, at, problems),
            "required" => {
                for key in array(rule).iter().filter_map(Value::as_str) {
                    if value.is_object() && value.get(key).is_none() {
                        problems.push(format!("{at}: {key} is missing"));
                    }
                }
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, rule, item, &format!("{at}[{i}]"), problems);
                }
            }
            "properties" | "additionalProperties" => check_members(root, rules, keyword, value, at, problems),
            other => panic!("teach the tests the keyword {other}"),
        }
    }
}

fn check_choice(
    root: &Value,
    keyword: &str,
    rule: &Value,
    value: &Value,
    at: &str,
    problems: &mut Vec<String>,
) {
    let fits = |choice: &&Value| {
        let mut wrong = Vec::new();
        check(root, choice, value, at, &mut wrong);
        wrong.is_empty()
    };
    let count = array(rule).iter().filter(fits).count();
    if count == 0 || (keyword == "oneOf" && count > 1) {
        problems.push(format!("{at}: fits {count} choices of {keyword}: {value}"));
    }
}

fn check_members(
    root: &Value,
    rules: &Map<String, Value>,
    keyword: &str,
    value: &Value,
    at: &str,
    problems: &mut Vec<String>,
) {
    let named = rules.get("properties").and_then(Value::as_object);
    for (key, member) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match (keyword, named.and_then(|n| n.get(key)), &rules[keyword]) {
            ("properties", Some(own), _) => check(root, own, member, &at, problems),
            ("additionalProperties", None, Value::Bool(false)) => {
                problems.push(format!("{at}: is not known"))
            }
            ("additionalProperties", None, other) => check(root, other, member, &at, problems),
            _ => {}
        }
    }
}

fn check_type(rule: &Value, value: &Value, at: &str, problems: &mut Vec<String>) {
    let is = |name: &Value| match name.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("teach the tests the type {other}"),
    };
    let fits = if rule.is_array() { array(rule).iter().any(is) } else { is(rule) };
    if !fits {
        problems.push(format!("{at}: {value} is not of type {rule}"));
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}
