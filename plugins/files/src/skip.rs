//! What is seen and left out, and why.

/// Endings of compressions that the reader does not know.
const COMPRESSED: &[&str] = &["bz2", "xz", "lzma", "lz4", "7z", "rar", "z", "br"];

/// Endings of archives.
const ARCHIVES: &[&str] = &["tar", "tgz", "txz", "tbz2", "tzst", "zip", "whl", "jar"];

/// Endings of what is not text.
const BINARY: &[&str] = &[
    "pt",
    "pth",
    "ckpt",
    "bin",
    "safetensors",
    "npy",
    "npz",
    "pkl",
    "pickle",
    "onnx",
    "h5",
    "hdf5",
    "parquet",
    "arrow",
    "tfrecord",
    "distcp",
    "so",
    "o",
    "a",
    "exe",
    "pyc",
    "cubin",
    "nsys-rep",
    "qdrep",
    "sqlite",
    "db",
    "core",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "pdf",
    "ico",
    "webp",
    "mp4",
];

/// Endings of what is text and no log.
const NO_LOG: &[&str] =
    &["py", "ipynb", "sh", "c", "cc", "cpp", "cu", "h", "hpp", "rs", "go", "js", "css", "html", "md", "rst"];

/// What is said of an archive.
const ARCHIVE: &str = "an archive within a folder is not read; give it by itself";

/// What is said of [`NO_LOG`].
const NO_LOG_TEXT: &str = "not a log by its name";

/// Whether a file is the connector's: read, but not as a log.
#[must_use]
pub fn is_context(name: &str, at_top: bool) -> bool {
    at_top && matches!(name, "context.json" | "context.toml")
}

/// Why a file is not read, by its name.
#[must_use]
pub fn reason(name: &str) -> Option<&'static str> {
    if name.starts_with('.') {
        return Some("hidden");
    }
    if name.starts_with("README") || (name.starts_with("expect") && name.ends_with(".json")) {
        return Some(NO_LOG_TEXT);
    }
    let lower = name.to_ascii_lowercase();
    if [".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2"].into_iter().any(|ending| lower.ends_with(ending)) {
        return Some(ARCHIVE);
    }
    // Of a compressed or rotated file the ending before counts.
    let inner = lower.strip_suffix(".gz").or_else(|| lower.strip_suffix(".zst")).unwrap_or(&lower);
    let (_, ending) = inner.rsplit_once('.')?;
    let among = |list: &[&str]| list.contains(&ending);
    if among(COMPRESSED) {
        Some("compression not read: decompress it first, or pack it with gzip or zstd")
    } else if among(ARCHIVES) {
        Some(ARCHIVE)
    } else if among(BINARY) || is_library(inner) {
        Some("not a log: binary")
    } else if among(NO_LOG) {
        Some(NO_LOG_TEXT)
    } else {
        None
    }
}

/// Why a folder is not entered; `at_top`: directly in a root.
#[must_use]
pub fn folder_reason(name: &str, at_top: bool) -> Option<&'static str> {
    match name {
        "metrics" | "flight_recorder" if at_top => Some("not read by this version"),
        "__pycache__" | "node_modules" => Some("not a folder of logs"),
        _ if name.starts_with('.') => Some("hidden"),
        _ => None,
    }
}

/// `libnccl.so.2`.
fn is_library(name: &str) -> bool {
    name.split_once(".so.")
        .is_some_and(|(_, version)| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_read() {
        for name in [
            "app.log",
            "app.log.1",
            "app.log.2.gz",
            "job.jsonl",
            "syslog",
            "a.txt",
            "a.out",
            "kern.log-20261102",
            "sos.log",
            "x",
        ] {
            assert_eq!(reason(name), None, "{name}");
        }
        assert!(is_context("context.json", true) && !is_context("context.json", false));
        assert_eq!(folder_reason("logs", true), None);
        assert_eq!(folder_reason("metrics", false), None);
    }

    #[test]
    fn the_rest_is_left_out_with_a_reason() {
        for name in [
            ".hidden.log",
            "expect.json",
            "expect-2.json",
            "README.md",
            "README",
            "a.log.bz2",
            "a.XZ",
            "m.safetensors",
            "m.pt",
            "libnccl.so.2",
            "a.tar",
            "a.tar.gz",
            "a.npy.gz",
            "train.py",
        ] {
            assert!(reason(name).is_some(), "{name}");
        }
        assert!(reason("a.log.xz").is_some_and(|reason| reason.starts_with("compression not read")));
        assert_eq!(folder_reason("metrics", true), Some("not read by this version"));
        assert_eq!(folder_reason(".git", false), Some("hidden"));
    }
}
