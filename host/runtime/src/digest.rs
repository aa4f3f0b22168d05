//! SHA-256, as it is written in the diagnosis and in file names.

use sha2::{Digest, Sha256};

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a string cannot fail.
        write!(out, "{byte:02x}").ok();
        out
    })
}

/// `sha256:` and 64 digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Digests a sequence of fields, each with its length, so that no two sequences look alike.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Sha256);

impl Fields {
    pub(crate) fn add(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let field = field.as_ref();
        self.0.update((field.len() as u64).to_le_bytes());
        self.0.update(field);
        self
    }

    pub(crate) fn add_pairs(&mut self, pairs: &[(String, String)]) -> &mut Self {
        self.add((pairs.len() as u64).to_le_bytes());
        for (key, value) in pairs {
            self.add(key).add(value);
        }
        self
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(digest(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn fields_are_told_apart() {
        let of = |fields: &[&str]| {
            let mut all = Fields::default();
            for field in fields {
                all.add(field);
            }
            all.finish()
        };
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
    }
}
