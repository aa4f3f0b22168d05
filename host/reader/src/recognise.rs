//! What a file is, told by its first bytes and never by its name.

use std::fs::File;
use std::io::{self, Read as _};

use crate::bytes::{self, Encoding};
use crate::container;

/// Bytes that are looked at. A tar archive shows itself in 512, most others in a few.
const HEAD: usize = 4096;
/// Bytes that are looked at where the first line is an object: its members have no order.
const LONG_HEAD: usize = 64 << 10;
/// Shorter files are not judged by how many of their bytes are text.
const LEAST_TEXT: usize = 64;
/// Runs of NUL as long as this are what a crash leaves of a log, not what a program stores.
const NUL_RUN: usize = 16;

/// What the decompressed bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Lines of text, or nothing.
    Lines,
    /// `journalctl -o json`: an object on each line.
    JournalJson,
    /// `journalctl -o export`: fields, and an empty line behind each entry.
    JournalExport,
    /// Docker's `json-file`: an object on each line.
    DockerJson,
    /// The form of the container runtime interface: lines that may be pieces of longer ones.
    Cri,
    /// What `nvidia-bug-report.sh` collects.
    BugReport,
    /// A tar archive.
    Tar,
    /// No log; and what it is, with what to do where something can be done.
    NoLog(&'static str),
}

/// Reads the beginning of a file, decompressed, and says what it is.
///
/// # Errors
/// Why it cannot be read. A compressed file that is damaged is left to the reader, which tells how far it came.
pub fn recognise_file(file: &File) -> io::Result<Content> {
    let encoding = bytes::encoding(file)?;
    let head = |length: usize| -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        if encoding == Encoding::Plain {
            let have = bytes::read_range(file, 0, length, &mut head)?;
            head.truncate(have);
        } else {
            let decoder = bytes::decoder(file.try_clone()?, encoding)?;
            // What comes before the damage is enough to tell.
            _ = decoder.take(length as u64).read_to_end(&mut head);
            io::Seek::rewind(&mut &*file)?;
        }
        Ok(head)
    };
    let first = head(HEAD)?;
    if first.first() == Some(&b'{') && first.len() == HEAD && !first.contains(&b'\n') {
        return Ok(recognise(&head(LONG_HEAD)?));
    }
    Ok(recognise(&first))
}

/// Says what begins with these bytes.
#[must_use]
pub fn recognise(head: &[u8]) -> Content {
    if let Some(what) = signature(head) {
        return Content::NoLog(what);
    }
    if is_tar(head) {
        return Content::Tar;
    }
    let first = head.split(|b| *b == b'\n').next().unwrap_or_default();
    if first.first() == Some(&b'{') && contains(first, b"\"__REALTIME_TIMESTAMP\"") {
        return Content::JournalJson;
    }
    if first.starts_with(b"{\"log\":\"") && (contains(first, b"\"stream\":\"std") || first.len() >= LONG_HEAD)
    {
        return Content::DockerJson;
    }
    if container::is_cri(first) {
        return Content::Cri;
    }
    if head.starts_with(b"__CURSOR=") || head.starts_with(b"__REALTIME_TIMESTAMP=") {
        return Content::JournalExport;
    }
    if head.starts_with(b"____") && contains(head, b"Start of NVIDIA bug report log file") {
        return Content::BugReport;
    }
    if is_utf16(head) {
        return Content::NoLog("UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8");
    }
    if is_binary(head) {
        return Content::NoLog("not a log: binary");
    }
    Content::Lines
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(text, what).is_some()
}

/// Formats that begin with a fixed word.
fn signature(head: &[u8]) -> Option<&'static str> {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\xfd7zXZ\0", "xz compression is not read; decompress it first: xz -d"),
        (b"BZh", "bzip2 compression is not read; decompress it first: bzip2 -d"),
        (b"\x04\x22\x4d\x18", "lz4 compression is not read; decompress it first: lz4 -d"),
        (b"\x1f\x9d", "compress (.Z) is not read; decompress it first: gzip -d"),
        (b"LZIP", "lzip compression is not read; decompress it first: lzip -d"),
        (b"PK\x03\x04", "zip archives are not read; unpack it first: unzip"),
        (b"PK\x05\x06", "zip archives are not read; unpack it first: unzip"),
        (b"7z\xbc\xaf\x27\x1c", "7z archives are not read; unpack it first: 7z x"),
        (b"Rar!\x1a\x07", "rar archives are not read; unpack it first: unrar x"),
        (b"LPKSHHRH", "a binary journal; export it first: journalctl --file FILE -o json"),
        (
            b"KDUMP   ",
            "not a log: a crash dump of the kernel; its messages: crash, or makedumpfile --dump-dmesg",
        ),
        (b"-----BEGIN PGP MESSAGE", "encrypted; decrypt it first"),
        (b"age-encryption.org/", "encrypted; decrypt it first"),
        (b"-----BEGIN AGE ENCRYPTED", "encrypted; decrypt it first"),
        (b"Salted__", "encrypted; decrypt it first"),
        (b"$ANSIBLE_VAULT;", "encrypted; decrypt it first"),
        (b"%PDF-", "not a log: a document"),
        (b"\x89PNG\r\n", "not a log: an image"),
        (b"SQLite format 3\0", "not a log: a database"),
    ];
    if head.starts_with(b"\x7fELF") {
        // The type stands behind the identification: 4 is a core, in either order of bytes.
        let core = matches!(head.get(16..18), Some([4, 0] | [0, 4]));
        return Some(if core {
            "not a log: a core dump; a debugger reads it"
        } else {
            "not a log: a program or a library"
        });
    }
    KNOWN.iter().find(|(word, _)| head.starts_with(word)).map(|(_, what)| *what)
}

/// The header of a member: its sum of bytes counts the field of the sum as blanks.
fn is_tar(head: &[u8]) -> bool {
    let (Some(header), Some(field)) = (head.get(..512), head.get(148..156)) else { return false };
    let digits = field.trim_ascii_start().iter().take_while(|b| (b'0'..=b'7').contains(*b));
    let stated = digits.fold(None, |sum: Option<u32>, b| Some(sum.unwrap_or(0) * 8 + u32::from(b - b'0')));
    let sum = |range: std::ops::Range<usize>| -> u32 {
        header.get(range).unwrap_or_default().iter().map(|b| u32::from(*b)).sum()
    };
    stated == Some(sum(0..148) + 8 * u32::from(b' ') + sum(156..512))
}

fn is_utf16(head: &[u8]) -> bool {
    let pairs = head.as_chunks::<2>().0;
    let half = |low: fn(&[u8; 2]) -> bool| {
        pairs.len() * 2 >= LEAST_TEXT && pairs.iter().filter(|p| low(p)).count() * 10 >= pairs.len() * 9
    };
    half(|p| p[1] == 0 && p[0] != 0) || half(|p| p[0] == 0 && p[1] != 0)
}

/// Whether more than one in twenty bytes are controls that no log has. Other bytes may be text of any code page.
fn is_binary(head: &[u8]) -> bool {
    let mut odd = 0_usize;
    let mut length = 0_usize;
    for run in head.chunk_by(|a, b| (*a == 0) == (*b == 0)) {
        let nul = run.first() == Some(&0);
        if nul && run.len() >= NUL_RUN {
            continue;
        }
        length += run.len();
        odd += run.iter().filter(|b| nul || matches!(b, 1..=6 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f)).count();
    }
    length >= LEAST_TEXT && odd * 20 > length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_lines() {
        for text in [
            &b""[..],
            b"\n",
            b"2026-09-14T04:37:21Z n1 kernel: NVRM: Xid\n",
            b"{\"time\": \"2026-09-14T04:37:21Z\", \"MESSAGE\": \"x\"}\n",
            b"{}\n{\"__REALTIME_TIMESTAMP\": \"1\"}\n",
            "\u{1b}[31mрусский текст\u{1b}[0m 漢字\r\n".repeat(9).as_bytes(),
            &[0; 4000],
            &[
                [0; 200].as_slice(),
                b"Sep 14 04:37:21 n1 kernel: a log that a crash cut, and that goes on then\n",
            ]
            .concat(),
            b"PK is no signature, nor is BZ",
            b"____________________________________________\n\na section of something\n",
        ] {
            assert_eq!(recognise(text), Content::Lines, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_log_is_named() {
        let mut core = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0".to_vec();
        core.resize(4096, 0);
        let utf16: Vec<u8> =
            "a line of a log\r\n".repeat(9).encode_utf16().flat_map(u16::to_le_bytes).collect();
        let noise: Vec<u8> = (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for (bytes, word) in [
            (&b"\xfd7zXZ\0\0"[..], "xz -d"),
            (b"BZh91AY", "bzip2"),
            (b"PK\x03\x04\x14", "unzip"),
            (b"LPKSHHRH\0", "journalctl --file"),
            (b"-----BEGIN PGP MESSAGE-----\n", "encrypted"),
            (&core, "core dump"),
            (&utf16, "iconv"),
            (&noise, "binary"),
        ] {
            let Content::NoLog(what) = recognise(bytes) else { panic!("{word}") };
            assert!(what.contains(word), "{what}");
        }
    }

    #[test]
    fn journals_and_reports_are_told() {
        let json = b"{\"MESSAGE\":\"x\",\"__REALTIME_TIMESTAMP\":\"1789360641418203\"}\n";
        assert_eq!(recognise(json), Content::JournalJson);
        assert_eq!(recognise(b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1\n"), Content::JournalExport);
        let docker = br#"{"log":"x\n","stream":"stdout","time":"2026-11-02T20:00:00.1Z"}"#;
        assert_eq!(recognise(docker), Content::DockerJson);
        assert_eq!(recognise(b"2026-11-02T20:00:00.123456789Z stdout F step 1\n"), Content::Cri);
        let report =
            b"____________________________________________\n\nStart of NVIDIA bug report log file.  Please";
        assert_eq!(recognise(report), Content::BugReport);
    }
}
