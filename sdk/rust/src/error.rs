//! Makers of the errors that have a code of their own in the interface.

use crate::Error;

impl Error {
    /// An error with a code (`[a-z0-9-]`) and a sentence for a person: what, where, and what to do.
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), retry_after_ms: None, details: Vec::new() }
    }

    /// What was given cannot be read as what it should be.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new("malformed", message)
    }

    /// What was asked for does not exist.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new("not-found", message)
    }

    /// The other side does not answer; a retry may succeed after so many milliseconds.
    #[must_use]
    pub fn unavailable(message: impl Into<String>, retry_after_ms: u64) -> Self {
        Self { retry_after_ms: Some(retry_after_ms), ..Self::new("unavailable", message) }
    }

    /// The operator has not granted it.
    #[must_use]
    pub fn not_granted(message: impl Into<String>) -> Self {
        Self::new("not-granted", message)
    }

    /// Adds a fact. A key that is there already is replaced.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        self.details.retain(|(name, _)| name != key);
        self.details.push((key.to_owned(), value.into()));
        self
    }

    /// Puts what it was about in front of the message.
    #[must_use]
    pub fn about(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_it_was_about() {
        let error =
            Error::malformed("no such field").about("context.json").with("path", "a").with("path", "b");
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("malformed", "context.json: no such field")
        );
        assert_eq!(error.details, [("path".to_owned(), "b".to_owned())]);
        assert_eq!(Error::unavailable("later", 500).retry_after_ms, Some(500));
    }
}
