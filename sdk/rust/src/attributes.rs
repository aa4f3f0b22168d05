//! Open facts as (key, value): the form in which places, captures and facts cross the boundary.

use std::collections::BTreeMap;

/// Facts as they cross the boundary. Keys are unique in one list.
pub type Attributes = Vec<(String, String)>;

/// The longest value that the host takes.
const MAX_VALUE: usize = 8 * 1024;

/// The value of a key.
#[must_use]
pub fn get<'a>(attributes: &'a [(String, String)], key: &str) -> Option<&'a str> {
    attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

/// Collects facts: each key once, in the order of the keys, values no longer than the host takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts(BTreeMap<&'static str, String>);

impl Facts {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a fact, or replaces the one of this key.
    pub fn set(&mut self, key: &'static str, value: impl Into<String>) {
        let mut value = value.into();
        if value.len() > MAX_VALUE {
            value.truncate(value.floor_char_boundary(MAX_VALUE));
        }
        self.0.insert(key, value);
    }

    /// Adds a fact if there is one.
    pub fn set_some<T: Into<String>>(&mut self, key: &'static str, value: Option<T>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

impl From<Facts> for Attributes {
    fn from(facts: Facts) -> Self {
        facts.0.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_sorted_and_values_are_cut_between_characters() {
        let mut facts = Facts::new();
        facts.set("name", "old");
        facts.set("count", "1");
        facts.set("name", "é".repeat(MAX_VALUE));
        facts.set_some("none", None::<String>);
        let list = Attributes::from(facts);
        assert_eq!(list.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["count", "name"]);
        assert_eq!(get(&list, "count"), Some("1"));
        assert_eq!(get(&list, "name").map(str::len), Some(MAX_VALUE));
        assert_eq!(get(&list, "none"), None);
    }
}
