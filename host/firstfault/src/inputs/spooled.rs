//! Copies what can be read once only to a file that can be read anywhere and any number of times.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most bytes that are kept of one input.
pub const MOST_BYTES: u64 = 64 << 30;

/// Copies to a new file, at most so many bytes. Says whether there were more.
///
/// # Errors
/// It cannot be read, or the file not be written.
pub fn copy(mut input: impl Read, path: &Path, most: u64) -> io::Result<bool> {
    let mut file = File::create_new(path)?;
    let copied = io::copy(&mut input.by_ref().take(most), &mut file)?;
    Ok(copied == most && input.read(&mut [0])? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_the_most_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        for (most, cut, kept) in [(3, true, "abc"), (5, false, "abcde"), (9, false, "abcde")] {
            let path = folder.path().join(most.to_string());
            assert_eq!(copy(&b"abcde"[..], &path, most).unwrap(), cut);
            assert_eq!(std::fs::read_to_string(path).unwrap(), kept);
        }
    }
}
