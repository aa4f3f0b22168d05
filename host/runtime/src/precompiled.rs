//! Compiled code with the record of what it was compiled from and for.
//!
//! A file is a magic line, the length of a JSON header, the header, and the code as the engine wrote it. Code is used only
//! where the header names exactly this component and exactly these engine settings; code of the cache, which a full disk
//! or a crash may have damaged, only where its digest is the recorded one as well.

use serde::{Deserialize, Serialize};

use crate::cache::Stored;
use crate::digest::digest;

const MAGIC: &[u8] = b"firstfault-cwasm 1\n";
/// Bytes of a header; real ones have some 250.
const MAX_HEADER: usize = 4096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    /// Digest of the component.
    wasm: String,
    /// Engine settings, as `engine::compatibility`.
    compatibility: String,
    /// Digest of the code.
    code: String,
}

/// Compiled code that is part of this program.
///
/// Compiled code is run as it is, so it is never taken from outside: there is no way to make this from a file.
#[derive(Debug, Clone, Copy)]
pub struct Precompiled<'a> {
    bytes: &'a [u8],
}

impl Precompiled<'static> {
    /// Bytes that `precompile` wrote and that are embedded in this program.
    #[must_use]
    pub const fn embedded(bytes: &'static [u8]) -> Self {
        Self { bytes }
    }
}

/// Code that may be run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Code<'a>(&'a [u8]);

impl<'a> Code<'a> {
    /// Code of this program; `Err` says what does not match.
    pub(crate) fn embedded(file: Precompiled<'a>, wasm: &str, compatibility: &str) -> Result<Self, String> {
        Ok(Self(open(file.bytes, wasm, compatibility)?.0))
    }

    /// Code of the private cache; `Err` says what does not match.
    pub(crate) fn cached(file: &'a Stored, wasm: &str, compatibility: &str) -> Result<Self, String> {
        let (code, recorded) = open(file.bytes(), wasm, compatibility)?;
        if recorded != digest(code) {
            return Err("its code is damaged".to_owned());
        }
        Ok(Self(code))
    }

    pub(crate) const fn bytes(&self) -> &[u8] {
        self.0
    }
}

/// Writes a file.
pub(crate) fn seal(wasm: &str, compatibility: &str, code: &[u8]) -> Vec<u8> {
    let header =
        Header { wasm: wasm.to_owned(), compatibility: compatibility.to_owned(), code: digest(code) };
    // Three strings always serialise.
    let header = serde_json::to_vec(&header).unwrap_or_default();
    let length = u32::try_from(header.len()).unwrap_or(u32::MAX).to_le_bytes();
    [MAGIC, &length, &header, code].concat()
}

/// The code and its recorded digest.
fn open<'a>(file: &'a [u8], wasm: &str, compatibility: &str) -> Result<(&'a [u8], String), String> {
    let rest = file.strip_prefix(MAGIC).ok_or("it is not a file of compiled code")?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or("it is truncated")?;
    let length = u32::from_le_bytes(*length) as usize;
    let (header, code) =
        rest.split_at_checked(length).filter(|_| length <= MAX_HEADER).ok_or("it is truncated")?;
    let header: Header =
        serde_json::from_slice(header).map_err(|e| format!("its header cannot be read: {e}"))?;
    if header.wasm != wasm {
        return Err("it was compiled from another component".to_owned());
    }
    if header.compatibility != compatibility {
        return Err("it was compiled for other engine settings".to_owned());
    }
    Ok((code, header.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_exact_match_is_opened() {
        let file = seal("sha256:aa", "bb", b"code");
        assert_eq!(open(&file, "sha256:aa", "bb").unwrap(), (&b"code"[..], digest(b"code")));
        assert!(open(&file, "sha256:ab", "bb").unwrap_err().contains("another component"));
        assert!(open(&file, "sha256:aa", "bc").unwrap_err().contains("engine settings"));
        let header_end = file.len() - 4;
        for cut in 0..header_end {
            open(&file[..cut], "sha256:aa", "bb").unwrap_err();
        }
        open(b"\x7fELF", "", "").unwrap_err();
    }
}
