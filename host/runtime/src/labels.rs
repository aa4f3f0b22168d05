//! Labels of streams: what a collector says that a file or an observation is.

use std::collections::BTreeMap;

use crate::attributes::{self, shown};

/// Checks the labels of `files.attach` and `sink.observe`. Keys beyond the known ones are kept.
pub(crate) fn check(pairs: Vec<(String, String)>) -> Result<BTreeMap<String, String>, String> {
    let labels = attributes::map(pairs)?;
    let source =
        labels.get("source").ok_or("the label 'source' is missing: say what wrote the lines, such as app")?;
    attributes::word("the label 'source'", source, 64, true)?;
    for key in ["node", "stream"] {
        if let Some(value) = labels.get(key)
            && (value.is_empty() || value.chars().any(char::is_control))
        {
            return Err(format!(
                "the label '{key}' is empty or contains control characters: '{}'",
                shown(value)
            ));
        }
    }
    for key in ["rank", "part"] {
        if let Some(value) = labels.get(key)
            && (value.parse::<u32>().is_err() || !value.bytes().all(|b| b.is_ascii_digit()))
        {
            return Err(format!("the label '{key}' is '{}', where a decimal number is wanted", shown(value)));
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_do_not_fit() {
        let of = |pairs: &[(&str, &str)]| {
            check(pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        of(&[("source", "app"), ("node", "gpu-1"), ("rank", "3"), ("part", "0"), ("more", "")]).unwrap();
        for (pairs, wants) in [
            (&[("node", "gpu-1")][..], "'source' is missing"),
            (&[("source", "App")], "'source'"),
            (&[("source", "")], "'source'"),
            (&[("source", "app"), ("rank", "-1")], "'rank'"),
            (&[("source", "app"), ("rank", "+1")], "'rank'"),
            (&[("source", "app"), ("part", "x")], "'part'"),
            (&[("source", "app"), ("node", "")], "'node'"),
            (&[("source", "app"), ("stream", "a\nb")], "'stream'"),
            (&[("source", "app"), ("source", "app")], "twice"),
        ] {
            let error = of(pairs).unwrap_err();
            assert!(error.contains(wants), "{error}");
        }
    }
}
