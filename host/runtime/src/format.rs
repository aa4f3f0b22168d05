//! A first look at the bytes of a component, for errors that say what is wrong with a file.

use crate::error::LoadError;

const MAGIC: &[u8; 4] = b"\0asm";

/// Checks the header and that every section lies inside of the file.
pub(crate) fn check(origin: &str, bytes: &[u8]) -> Result<(), LoadError> {
    let not =
        |reason: &str| LoadError::NotAComponent { origin: origin.to_owned(), reason: reason.to_owned() };
    let cut = |reason: String| LoadError::Truncated { origin: origin.to_owned(), reason };
    if bytes.is_empty() {
        return Err(not("the file is empty"));
    }
    if !bytes.starts_with(MAGIC.get(..bytes.len().min(4)).unwrap_or(MAGIC)) {
        return Err(not("it does not begin with the WebAssembly magic number"));
    }
    let Some(version) = bytes.get(4..8) else {
        return Err(cut(format!("it ends inside of its header, after {} bytes", bytes.len())));
    };
    match version {
        [0x0d, 0, 1, 0] => {}
        [1, 0, 0, 0] => {
            return Err(not("it is a core module; wrap it into a component with its interfaces first"));
        }
        _ => return Err(not("its version is not one that this firstfault reads")),
    }
    let mut at = 8;
    while at < bytes.len() {
        let end = leb(bytes, at + 1).and_then(|(size, start)| start.checked_add(size as usize));
        match end {
            Some(end) if end <= bytes.len() => at = end,
            _ => return Err(cut(format!("the section at byte {at} does not end before the file does"))),
        }
    }
    Ok(())
}

/// A LEB128 number of at most 32 bits and the offset after it.
fn leb(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let mut value = 0u64;
    for i in 0..5 {
        let byte = *bytes.get(at + i)?;
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((u32::try_from(value).ok()?, at + i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> String {
        check("x.wasm", bytes).unwrap_err().to_string()
    }

    #[test]
    fn files_that_are_no_components() {
        assert!(refusal(b"").contains("empty"));
        assert!(refusal(b"#!/bin/sh\n").contains("magic number"));
        assert!(refusal(b"(component)").contains("magic number"));
        assert!(refusal(b"\0asm\x01\0\0\0").contains("core module"));
        assert!(refusal(b"\0asm\x0a\0\x01\0").contains("version"));
    }

    #[test]
    fn truncated_files() {
        for bytes in
            [&b"\0as"[..], b"\0asm\x0d\0", b"\0asm\x0d\0\x01\0\x00\x7f\x01", b"\0asm\x0d\0\x01\0\x00\xff"]
        {
            assert!(refusal(bytes).contains("truncated"), "{bytes:?}");
        }
        check("x.wasm", b"\0asm\x0d\0\x01\0").unwrap();
    }
}
