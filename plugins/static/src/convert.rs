//! TOML to JSON. Dates and times become text, which is what the schema wants of them.

use firstfault_plugin::Error;
use toml::Value;

/// A TOML document as JSON.
///
/// # Errors
/// `malformed`: not TOML, with line and column; or a number that is not whole, which no context has.
pub fn to_json(text: &str) -> Result<String, Error> {
    let table: toml::Table = text.parse().map_err(|error| Error::malformed(describe(text, &error)))?;
    let json = value(Value::Table(table))?;
    Ok(json.to_string())
}

/// The parser's message with its line and column, on one line.
fn describe(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', "; ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => {
            let line = before.matches('\n').count().saturating_add(1);
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
            format!("line {line}, column {column}: {message}")
        }
        None => message,
    }
}

fn value(toml: Value) -> Result<serde_json::Value, Error> {
    Ok(match toml {
        Value::String(text) => text.into(),
        Value::Integer(number) => number.into(),
        Value::Boolean(yes) => yes.into(),
        Value::Datetime(time) => time.to_string().into(),
        Value::Float(_) => {
            return Err(Error::malformed("a number that is not whole has no place in a context"));
        }
        Value::Array(items) => {
            serde_json::Value::Array(items.into_iter().map(value).collect::<Result<_, _>>()?)
        }
        Value::Table(table) => {
            let fields = table.into_iter().map(|(key, item)| Ok((key, value(item)?)));
            serde_json::Value::Object(fields.collect::<Result<_, Error>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value() {
        let toml = "
            id = \"48213\"
            attempt = 1
            start = 2026-11-02T20:14:07Z
            [terminal]
            requeued = false
            [[nodes]]
            name = \"gpu-1\"
            ranks = [0, 1]
        ";
        let json = r#"{"attempt":1,"id":"48213","nodes":[{"name":"gpu-1","ranks":[0,1]}],"start":"2026-11-02T20:14:07Z","terminal":{"requeued":false}}"#;
        assert_eq!(to_json(toml).unwrap(), json);
        assert_eq!(to_json("").unwrap(), "{}");
    }

    #[test]
    fn faults_are_placed() {
        let error = to_json("id = \"1\"\nname = \n").unwrap_err();
        assert_eq!(error.code, "malformed");
        assert!(error.message.starts_with("line 2, column "), "{}", error.message);
        assert!(!error.message.contains('\n'));
        assert!(to_json("attempt = 1.5").is_err());
        assert!(to_json("a = 1\na = 2").is_err());
    }
}
