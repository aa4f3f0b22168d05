//! Documents as they are kept: compressed, and read back within a bound.

use zstd::bulk::Compressor;

use crate::StoreError;

/// Most bytes of one document or observation that is read back.
const MOST_BYTES: usize = 256 << 20;
/// Fast rather than small: most documents are read within minutes.
const LEVEL: i32 = 3;

/// Compresses.
pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    Ok(packer()?.compress(bytes)?)
}

/// For many in a row: making one costs more than packing a line.
pub(crate) fn packer() -> Result<Compressor<'static>, StoreError> {
    Ok(Compressor::new(LEVEL)?)
}

/// Reads back what [`pack`] made.
pub(crate) fn unpack(id: &str, packed: &[u8]) -> Result<Vec<u8>, StoreError> {
    let content = |detail: String| StoreError::Content { id: id.to_owned(), detail };
    let size = zstd::zstd_safe::get_frame_content_size(packed)
        .ok()
        .flatten()
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| *n <= MOST_BYTES)
        .ok_or_else(|| content("its size is not stated or beyond 256 MiB".to_owned()))?;
    zstd::bulk::decompress(packed, size).map_err(|e| content(e.to_string()))
}

/// The same as text.
pub(crate) fn unpack_text(id: &str, packed: &[u8]) -> Result<String, StoreError> {
    String::from_utf8(unpack(id, packed)?)
        .map_err(|_| StoreError::Content { id: id.to_owned(), detail: "it is not UTF-8".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        for text in ["", "x", &"line\n".repeat(10_000)] {
            assert_eq!(unpack_text("d", &pack(text.as_bytes()).unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut packed = pack(b"a document").unwrap();
        packed.truncate(packed.len() - 3);
        assert!(matches!(unpack("d", &packed), Err(StoreError::Content { .. })));
        assert!(matches!(unpack("d", b"no frame"), Err(StoreError::Content { .. })));
    }
}
