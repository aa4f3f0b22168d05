//! The evidence of the node on which a hook runs: what the kernel and the services of the GPUs wrote since shortly before the job
//! began. Taken by a process of its own, so that the hook returns at once.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firstfault_daemon::request::DiagnosisRequest;
use firstfault_model::canonical::digest;
use firstfault_model::time::{MINUTE, Timestamp};
use hyper::Method;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::{client, spool};

/// How long before the start is looked at.
const BEFORE: i64 = 15 * MINUTE;
/// Bytes of one source, the newest.
const MOST_OF_SOURCE: u64 = 4 << 20;
/// Bytes of what is sent, compressed.
const MOST_PACKED: usize = 1 << 20;
/// Longest record of the kernel.
const RECORD: usize = 8192;
/// Longest time of one request.
const WITHIN: Duration = Duration::from_secs(20);
/// Seconds after which the daemon looks at it: other nodes send theirs at the same time.
const TOGETHER: u32 = 3;

/// Logs of services, where their packages put them.
pub const FILES: &[(&str, &str)] = &[
    ("fabric_manager", "/var/log/fabricmanager.log"),
    ("slurmd", "/var/log/slurm/slurmd.log"),
    ("slurmd", "/var/log/slurmd.log"),
];

/// Takes what there is of this node, newest kept.
#[must_use]
pub fn take(request: &DiagnosisRequest, files: &[(String, PathBuf)]) -> Vec<u8> {
    let node = request.hook.as_ref().and_then(|hook| hook.node.clone());
    let from = request.workload.start.map(|start| start.shifted(-BEFORE));
    let mut lines = Vec::new();
    kernel(Path::new("/dev/kmsg"), from, &mut lines);
    for (source, path) in files {
        // Most of them are not on most nodes.
        if let Ok(text) = tail(path) {
            let text = String::from_utf8_lossy(&text);
            lines.extend(
                text.lines()
                    .zip(0_i64..)
                    .map(|(line, order)| json!({"source": source, "order": order, "line": line})),
            );
        }
    }
    let mut out = Vec::new();
    for mut line in lines {
        if let (Some(object), Some(node)) = (line.as_object_mut(), &node) {
            object.insert("node".to_owned(), Value::String(node.clone()));
        }
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
    }
    out
}

/// Records of the kernel since a time. Each read gives one.
fn kernel(path: &Path, from: Option<Timestamp>, lines: &mut Vec<Value>) {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return };
    let nanos = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
    };
    let boot = nanos(ClockId::Realtime).saturating_sub(nanos(ClockId::Boottime));
    let mut kept: VecDeque<Value> = VecDeque::new();
    let (mut bytes, mut record) = (0_u64, vec![0; RECORD]);
    loop {
        let read = match file.read(&mut record) {
            Ok(0) => break,
            Ok(read) => read,
            // Records were written over while they were read.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => continue,
            Err(_) => break,
        };
        let text = String::from_utf8_lossy(record.get(..read).unwrap_or_default());
        let Some((micros, line)) = message(&text) else { continue };
        let time = Timestamp(micros.saturating_mul(1000).saturating_add(boot));
        if from.is_some_and(|from| time < from) {
            continue;
        }
        bytes += u64::try_from(line.len()).unwrap_or(0);
        kept.push_back(json!({"source": "kernel", "time": time.to_string(), "line": line}));
        while bytes > MOST_OF_SOURCE {
            let Some(oldest) = kept.pop_front() else { break };
            bytes -= u64::try_from(oldest["line"].as_str().map_or(0, str::len)).unwrap_or(0);
        }
    }
    lines.extend(kept);
}

/// `6,1234,5678901,-;text`, then lines of a dictionary.
fn message(record: &str) -> Option<(i64, &str)> {
    let (head, text) = record.split_once(';')?;
    let micros = head.split(',').nth(2)?.parse().ok()?;
    Some((micros, text.lines().next().unwrap_or_default()))
}

fn tail(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MOST_OF_SOURCE);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MOST_OF_SOURCE).read_to_end(&mut bytes)?;
    if from > 0
        && let Some(end) = bytes.iter().position(|b| *b == b'\n')
    {
        bytes.drain(..=end);
    }
    Ok(bytes)
}

/// A push as it is sent and spooled: the request, and the lines compressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    request: Vec<u8>,
    packed: Vec<u8>,
}

impl Push {
    /// Packs, the newest half again and again if it is too much.
    ///
    /// # Errors
    /// It cannot be compressed.
    pub fn pack(request: &DiagnosisRequest, mut lines: &[u8]) -> io::Result<Self> {
        let request = serde_json::to_vec(request)?;
        loop {
            let packed = zstd::bulk::compress(lines, 3)?;
            if packed.len() <= MOST_PACKED {
                return Ok(Self { request, packed });
            }
            let half = lines.len() / 2;
            let next =
                lines.iter().skip(half).position(|b| *b == b'\n').map_or(lines.len(), |at| half + at + 1);
            lines = lines.get(next..).unwrap_or_default();
        }
    }

    /// Opens the session and pushes.
    ///
    /// # Errors
    /// The daemon cannot be reached or does not take it.
    pub fn send(&self, socket: &Path) -> io::Result<()> {
        let opened = client::post(socket, "/v1/sessions", &self.request, WITHIN)?;
        let id = serde_json::from_slice::<Value>(&opened.body)
            .ok()
            .and_then(|v| Some(v.get("id")?.as_str()?.to_owned()));
        let id = id.filter(|_| opened.is_taken()).ok_or_else(|| io::Error::other(opened.text()))?;
        let at = format!("/v1/sessions/{id}/observations?due={TOGETHER}");
        let headers = [("content-type", "application/x-ndjson"), ("content-encoding", "zstd")];
        let kept = client::exchange(socket, Method::POST, &at, &headers, &self.packed, WITHIN)?;
        if kept.is_taken() { Ok(()) } else { Err(io::Error::other(kept.text())) }
    }

    /// Keeps it for later.
    ///
    /// # Errors
    /// The folder cannot be written, or is full.
    pub fn keep(&self, folder: &Path) -> io::Result<()> {
        let mut body = self.request.clone();
        body.push(b'\n');
        body.extend_from_slice(&self.packed);
        spool::write(folder, digest(&body).trim_start_matches("sha256:"), "push", &body).map(drop)
    }

    /// Reads back what [`Self::keep`] wrote.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read(path: &Path) -> io::Result<Self> {
        let body = fs::read(path)?;
        let end = body.iter().position(|b| *b == b'\n').ok_or_else(|| io::Error::other("it is no push"))?;
        let (request, packed) = body.split_at(end);
        Ok(Self { request: request.to_vec(), packed: packed.get(1..).unwrap_or_default().to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_the_kernel_are_read() {
        assert_eq!(message("6,1234,5678901,-;NVRM: Xid\n SUBSYSTEM=pci\n"), Some((5_678_901, "NVRM: Xid")));
        assert_eq!(message("4,1,2,-,caller=T1;a;b"), Some((2, "a;b")));
        assert_eq!(message("no record"), None);
    }

    #[test]
    fn the_newest_is_kept_and_comes_back() {
        let noise: String =
            (0..400_000_u64).map(|n| format!("{:x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let push = Push::pack(&DiagnosisRequest::default(), noise.as_bytes()).unwrap();
        assert!(push.packed.len() <= MOST_PACKED);
        let lines = zstd::bulk::decompress(&push.packed, noise.len()).unwrap();
        assert!(!lines.is_empty() && noise.as_bytes().ends_with(&lines));
        let dir = tempfile::tempdir().unwrap();
        push.keep(dir.path()).unwrap();
        let path = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        assert_eq!(Push::read(&path).unwrap(), push);
    }

    #[test]
    fn a_log_is_taken_from_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slurmd.log");
        fs::write(&path, "first\n".repeat(1_000_000) + "last\n").unwrap();
        let text = String::from_utf8(tail(&path).unwrap()).unwrap();
        assert!(text.starts_with("first\n") && text.ends_with("last\n") && text.len() <= 4 << 20);
    }
}
