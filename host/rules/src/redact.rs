//! Secrets in the text of lines, by their shapes.
//!
//! What is kept of a line (evidence, captures, facts) goes into documents that many people read. Shapes that are a secret wherever they
//! stand (keys of known makers), and values that stand behind a name that says so, are replaced by the name of their kind. The
//! replacement tells neither the value nor its length.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Captures, Regex, RegexBuilder};

/// Names this set of shapes; part of the digest of every rule set.
pub const VERSION: &str = "firstfault.redaction/1";

/// A stretch of text that is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Where.
    pub range: Range<usize>,
    /// What kind.
    pub kind: &'static str,
}

/// Whether what a pattern found is a secret after all.
type Accept = fn(&Captures<'_>) -> bool;

/// A shape; the group `s` of its pattern is the secret.
struct Shape {
    kind: &'static str,
    pattern: Regex,
    accept: Accept,
}

/// Each line with a secret has one of these, whatever the case of its letters.
const SIGNS: [&str; 38] = [
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "private-key",
    "auth_key",
    "signing_key",
    "account_key",
    "accountkey",
    "credential",
    "bearer",
    "authorization",
    "cookie",
    "://",
    "akia",
    "asia",
    "gho_",
    "ghp_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "hf_",
    "sk-",
    "xox",
    "aiza",
    "eyj",
    "-----begin",
    "sig",
];
/// Signs that are no part of those above.
const MORE_SIGNS: [&str; 6] = ["nvapi-", "pypi-", "ya29.", "wandb", "x-amz-", "x-goog-"];

static SIGN: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let all = SIGNS.iter().chain(&MORE_SIGNS);
    AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::LeftmostFirst).build(all).ok()
});

/// Names of settings whose value is a secret.
const NAMES: &str = r#"(?P<name>[A-Za-z0-9_.-]*(?:passw(?:or)?d|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key|auth[_-]?key|signing[_-]?key|account[_-]?key|credentials?))"#;

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let named_value = r#"(?:"(?P<q>[^"]*)"|'(?P<a>[^']*)'|(?P<s>[^\s"',;&(){}\[\]<>|]+))"#;
    let shapes: [(&'static str, String, Accept); 14] = [
        ("key", r"(?P<s>-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))".into(), always),
        ("password", r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/@:"']*:(?P<s>[^\s/@"']+)@"#.into(), always),
        ("credentials", r#"\b[A-Za-z][A-Za-z0-9+.-]*://(?P<s>[^\s/@:"']{16,})@"#.into(), always),
        ("authorization", r#"authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest|negotiate|apikey)\s+)?(?P<s>[^\s"',;]+)"#.into(), always),
        ("token", r"\bbearer\s+(?P<s>[A-Za-z0-9._~+/=-]{12,})".into(), always),
        ("cookie", r#"\b(?:set-)?cookie["']?\s*[:=]\s*(?P<s>[^\s"'][^\r\n"']*)"#.into(), has_equals),
        ("secret", format!(r#"(?:^|[^A-Za-z0-9_.-]){NAMES}["']?\s?(?:=|:=?|=>)\s?{named_value}"#), is_secret_value),
        ("secret", format!(r#"(?:^|[\s"'=])--{NAMES}["',]*\s+{named_value}"#), is_secret_value),
        ("signature", r#"[?&](?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|x-goog-signature|x-goog-credential)=(?P<s>[^&\s"']+)"#.into(), always),
        ("key", r"wandb[^\n]{0,60}?\b(?P<s>[0-9a-f]{40})\b".into(), always),
        ("token", r"\b(?P<s>eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?)".into(), always),
        ("key", r"\b(?P<s>(?-i:AKIA|ASIA|AROA|AIDA|AGPA|ANPA)(?-i:[A-Z0-9]{16}))\b".into(), always),
        ("token", r"\b(?P<s>(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}|xox[abposr]-[A-Za-z0-9-]{10,}|nvapi-[A-Za-z0-9_-]{20,}|pypi-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}))".into(), always),
        ("key", r"\b(?P<s>sk-(?-i:[A-Za-z0-9_-]{20,})|AIza(?-i:[A-Za-z0-9_-]{30,}))".into(), has_digit),
    ];
    let compiled = shapes.into_iter().filter_map(|(kind, pattern, accept)| {
        let pattern = RegexBuilder::new(&pattern).unicode(false).case_insensitive(true).build().ok()?;
        Some(Shape { kind, pattern, accept })
    });
    compiled.collect()
});

/// The secrets of a line, ascending and apart.
#[must_use]
pub fn secrets(line: &[u8]) -> Vec<Secret> {
    if !SIGN.as_ref().is_some_and(|signs| signs.is_match(line)) {
        return Vec::new();
    }
    let mut found: Vec<Secret> = Vec::new();
    for shape in SHAPES.iter() {
        for captures in shape.pattern.captures_iter(line).filter(|c| (shape.accept)(c)) {
            if let Some(value) = value(&captures) {
                found.push(Secret { range: value.range(), kind: shape.kind });
            }
        }
    }
    found.sort_by_key(|s| (s.range.start, std::cmp::Reverse(s.range.end)));
    let mut apart: Vec<Secret> = Vec::new();
    for secret in found {
        match apart.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end)
            }
            _ => apart.push(secret),
        }
    }
    apart
}

/// A part of a line with its secrets replaced. One that begins or ends within a secret holds nothing of it.
#[must_use]
pub fn without(line: &[u8], part: Range<usize>, secrets: &[Secret]) -> Vec<u8> {
    let mut out = Vec::with_capacity(part.len());
    let mut at = part.start;
    for secret in secrets.iter().filter(|s| s.range.start < part.end && s.range.end > part.start) {
        out.extend_from_slice(line.get(at..secret.range.start.max(at)).unwrap_or(b""));
        out.extend_from_slice(b"[redacted:");
        out.extend_from_slice(secret.kind.as_bytes());
        out.push(b']');
        at = secret.range.end.min(part.end);
    }
    out.extend_from_slice(line.get(at..part.end).unwrap_or(b""));
    out
}

fn value<'h>(captures: &Captures<'h>) -> Option<regex::bytes::Match<'h>> {
    ["s", "q", "a"].into_iter().find_map(|group| captures.name(group)).filter(|v| !v.is_empty())
}

fn always(_: &Captures<'_>) -> bool {
    true
}

fn has_equals(captures: &Captures<'_>) -> bool {
    value(captures).is_some_and(|v| v.as_bytes().contains(&b'='))
}

fn has_digit(captures: &Captures<'_>) -> bool {
    value(captures).is_some_and(|v| v.as_bytes().iter().any(u8::is_ascii_digit))
}

/// Words of tokenizers that stand before `token`, and are no secrets.
const VOCABULARY: [&str; 24] = [
    "pad",
    "bos",
    "eos",
    "unk",
    "cls",
    "sep",
    "mask",
    "image",
    "special",
    "additional_special",
    "start",
    "end",
    "stop",
    "per",
    "num",
    "next",
    "last",
    "first",
    "new",
    "of",
    "unexpected",
    "invalid",
    "decoder_start",
    "by",
];
/// Values that say that there is none.
const NOTHING: [&str; 10] =
    ["none", "null", "nil", "true", "false", "***", "*****", "unset", "required", "redacted"];

/// Whether the value behind a name is one: `password=x` always, `token=...` if it is long enough to be one.
fn is_secret_value(captures: &Captures<'_>) -> bool {
    let (Some(name), Some(value)) = (captures.name("name"), value(captures)) else { return false };
    let name = String::from_utf8_lossy(name.as_bytes()).to_ascii_lowercase();
    let value = value.as_bytes();
    let is = |word: &&str| value.eq_ignore_ascii_case(word.as_bytes());
    if NOTHING.iter().any(is)
        || value.starts_with(b"[redacted")
        || value.starts_with(b"$")
        || value.starts_with(b"<")
    {
        return false;
    }
    if let Some(before) = name.strip_suffix("token") {
        let word = before.trim_end_matches(['_', '-', '.']);
        let vocabulary = VOCABULARY.iter().any(|v| word == *v || word.ends_with(&format!("_{v}")));
        let long =
            value.len() >= 8 && value.iter().any(u8::is_ascii_digit) && !value.iter().all(u8::is_ascii_digit);
        return !vocabulary && long;
    }
    let says_little = name.ends_with("secret")
        || name.ends_with("credential")
        || name.ends_with("credentials")
        || name.ends_with("pwd");
    // `secret: the`, `pwd=/home/u`
    !says_little
        || (value.len() >= 6 && !value.starts_with(b"/") && !value.iter().all(u8::is_ascii_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(line: &str) -> String {
        let bytes = line.as_bytes();
        String::from_utf8(without(bytes, 0..bytes.len(), &secrets(bytes))).unwrap()
    }

    // Put together here, so that no tool that looks for secrets stumbles over the tests.
    fn long(prefix: &str) -> String {
        format!("{prefix}{}", "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0")
    }

    #[test]
    fn secrets_are_replaced_by_their_kind() {
        let jwt = format!("{}.{}.{}", long("eyJ"), long("eyJ"), "c2lnbmF0dXJl");
        for (line, wanted) in [
            (
                "GET failed: Authorization: Bearer abc.def-ghi".to_owned(),
                "GET failed: Authorization: Bearer [redacted:authorization]",
            ),
            (
                "{\"Authorization\": \"Basic dXNlcjpw\"}".into(),
                "{\"Authorization\": \"Basic [redacted:authorization]\"}",
            ),
            ("db error: password=hunter2 host=db".into(), "db error: password=[redacted:secret] host=db"),
            (
                "{\"db_password\": \"two words\", \"x\": 1}".into(),
                "{\"db_password\": \"[redacted:secret]\", \"x\": 1}",
            ),
            ("export WANDB_API_KEY=0123456789abcdef".into(), "export WANDB_API_KEY=[redacted:secret]"),
            ("HF_TOKEN: abcd1234efgh".into(), "HF_TOKEN: [redacted:secret]"),
            ("run --api-key abcdef --steps 10".into(), "run --api-key [redacted:secret] --steps 10"),
            (
                "train.py --wandb-token a1b2c3d4e5 --lr 1".into(),
                "train.py --wandb-token [redacted:secret] --lr 1",
            ),
            (
                "cannot open postgres://bob:pw@db-1:5432/runs".into(),
                "cannot open postgres://bob:[redacted:password]@db-1:5432/runs",
            ),
            ("AWS_SECRET_ACCESS_KEY=abc/def+ghi".into(), "AWS_SECRET_ACCESS_KEY=[redacted:secret]"),
            (format!("clone https://{}@host/x", long("x")), "clone https://[redacted:credentials]@host/x"),
            (format!("key {} in use", "AKIA".to_owned() + "ABCDEFGHIJKLMNOP"), "key [redacted:key] in use"),
            (format!("push with {}", long("ghp_")), "push with [redacted:token]"),
            (format!("hub said 401 for {}.", long("hf_")), "hub said 401 for [redacted:token]."),
            (format!("using {}", long("sk-")), "using [redacted:key]"),
            (format!("jwt {jwt} expired"), "jwt [redacted:token] expired"),
            ("GET /b?sv=1&sig=abc%2B&se=2 403".into(), "GET /b?sv=1&sig=[redacted:signature]&se=2 403"),
            ("Set-Cookie: session=abc; Path=/".into(), "Set-Cookie: [redacted:cookie]"),
            (
                "wandb: logged in with 0123456789abcdef0123456789abcdef01234567".into(),
                "wandb: logged in with [redacted:key]",
            ),
            ("-----BEGIN RSA PRIVATE KEY-----MIIEow".into(), "[redacted:key]"),
        ] {
            assert_eq!(redacted(&line), wanted);
        }
    }

    #[test]
    fn what_jobs_write_every_day_stays() {
        for line in [
            "tokens=4096 tokens/s: 18234.5 num_tokens=12 max_new_tokens: 256 token_count: 5",
            "pad_token_id=0 eos_token_id: 2 bos_token='<s>' pad_token=[PAD] eos_token: </s>",
            "tokenizer=llama3 tokenizer_path: /models/tok.json",
            "SyntaxError: unexpected token: 'foo'",
            "Token indices sequence length is longer than the specified maximum (5000 > 2048)",
            "comm 0x55d0c3a1b2c0 rank 3 nranks 16 busId b5000 commId 0x7d3a9b2c1e0f4a5b",
            "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000)",
            "GPU-8f4c2b1e-1234-5678-9abc-def012345678",
            "commit 0123456789abcdef0123456789abcdef01234567",
            "KeyError: 'attention.key'",
            "password: None",
            "secret sauce: none",
            "see https://pytorch.org/docs/stable/elastic/errors.html",
            "ssh://node-1:22/",
            "PWD=/home/u/run",
            "signal 11 received; sig=11",
            "the access key is missing",
            "NVRM: Xid (PCI:0000:b5:00): 79, pid=4242, name=python3, GPU has fallen off the bus.",
        ] {
            assert_eq!(redacted(line), line);
        }
    }

    #[test]
    fn a_part_that_begins_within_a_secret_holds_nothing_of_it() {
        let line = b"url=s3://u:topsecret@h";
        let found = secrets(line);
        let at = memchr_find(line, b"secret");
        assert_eq!(without(line, at..line.len(), &found), b"[redacted:password]@h");
        assert_eq!(without(line, at - 3..at + 2, &found), b"[redacted:password]");
    }

    fn memchr_find(line: &[u8], part: &[u8]) -> usize {
        line.windows(part.len()).position(|w| w == part).unwrap()
    }

    #[test]
    fn every_shape_compiles_and_its_signs_are_seen() {
        assert_eq!(SHAPES.len(), 14);
        assert!(SIGN.is_some());
    }
}
