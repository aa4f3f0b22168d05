//! Bytes of a part: read in place, or decompressed as they come.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;

/// How a part is stored, told by its first bytes and never by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
}

/// Reads the first bytes.
///
/// # Errors
/// Why it cannot be read.
pub fn encoding(file: &File) -> io::Result<Encoding> {
    let mut magic = [0_u8; 4];
    let mut have = 0;
    while let Some(rest) = magic.get_mut(have..).filter(|r| !r.is_empty()) {
        match file.read_at(rest, have as u64) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(match magic {
        [0x1f, 0x8b, 8, _] if have == 4 => Encoding::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd] if have == 4 => Encoding::Zstd,
        _ => Encoding::Plain,
    })
}

/// A reader over the decompressed bytes.
///
/// # Errors
/// The decompressor cannot be set up.
pub fn decoder(file: File, encoding: Encoding) -> io::Result<Box<dyn Read>> {
    Ok(match encoding {
        Encoding::Plain => Box::new(file),
        Encoding::Gzip => {
            Box::new(flate2::read::MultiGzDecoder::new(io::BufReader::with_capacity(1 << 18, file)))
        }
        Encoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::new(file)?;
            // 128 MiB of window: what the tool itself refuses beyond.
            decoder.window_log_max(27)?;
            Box::new(decoder)
        }
    })
}

/// Reads a range into a buffer that is grown as needed and never shrunk. Returns how many bytes there were.
///
/// # Errors
/// Why it cannot be read.
pub fn read_range(file: &File, from: u64, length: usize, buffer: &mut Vec<u8>) -> io::Result<usize> {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
    let mut have = 0;
    while have < length {
        let Some(rest) = buffer.get_mut(have..length) else { break };
        match file.read_at(rest, from + have as u64) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(have)
}
