//! Reads and checks the file.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use firstfault_model::source::Trust;
use toml::Spanned;

use super::file::{Allow, File, Listen, RootEntry, TokenEntry, Unix};
use super::units::{Bytes, Span};
use super::{Config, Limits, Open, Retention, Root, TcpListen, UnixListen};
use crate::access::{Allowed, Roles, Token, Who};

/// Variables of the environment that come before the file, and what they set.
pub const VARIABLES: &[(&str, &str)] = &[
    ("FIRSTFAULT_STATE", "state"),
    ("FIRSTFAULT_CLUSTER", "cluster"),
    ("FIRSTFAULT_SPOOL", "spool"),
    ("FIRSTFAULT_SOCKET", "unix.path"),
    ("FIRSTFAULT_PACKS", "rules.packs"),
    ("FIRSTFAULT_PLUGINS", "rules.plugins"),
    ("FIRSTFAULT_WORKERS", "limits.workers"),
];

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Line, from 1; none for what is missing and for variables.
    pub line: Option<usize>,
    /// What is wrong and what is allowed.
    pub what: String,
}

/// The configuration cannot be used.
#[derive(Debug)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// All that is wrong, by line.
    pub complaints: Vec<Complaint>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, complaint) in self.complaints.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            match complaint.line {
                Some(line) => write!(f, "{end}{}:{line}: {}", self.path.display(), complaint.what)?,
                None => write!(f, "{end}{}: {}", self.path.display(), complaint.what)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// Reads and checks a file. `variable` gives variables of the environment.
///
/// # Errors
/// All that is wrong with it.
pub fn load(path: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
        path: path.to_owned(),
        complaints: vec![Complaint { line: None, what: format!("cannot be read: {error}") }],
    })?;
    parse(&text, variable).map_err(|complaints| ConfigError { path: path.to_owned(), complaints })
}

/// The same of a text.
///
/// # Errors
/// All that is wrong with it, by line.
pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Config, Vec<Complaint>> {
    let mut check = Check { text, complaints: Vec::new() };
    let file: File = match toml::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            let line = error.span().map(|span| check.line(&span));
            return Err(vec![Complaint { line, what: error.message().to_owned() }]);
        }
    };
    let config = check.config(file, &variable);
    if check.complaints.is_empty() {
        return Ok(config);
    }
    check.complaints.sort_by_key(|c| c.line);
    Err(check.complaints)
}

struct Check<'a> {
    text: &'a str,
    complaints: Vec<Complaint>,
}

impl Check<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or_default();
        before.iter().filter(|b| **b == b'\n').count() + 1
    }

    fn wrong(&mut self, span: &Range<usize>, what: impl Into<String>) {
        let line = Some(self.line(span));
        self.complaints.push(Complaint { line, what: what.into() });
    }

    fn missing(&mut self, what: impl Into<String>) {
        self.complaints.push(Complaint { line: None, what: what.into() });
    }

    fn config(&mut self, file: File, variable: &dyn Fn(&str) -> Option<String>) -> Config {
        let state = self.path("state", file.state.as_ref());
        let mut config = Config {
            state: state.unwrap_or_else(|| "/var/lib/firstfault".into()),
            cluster: file.cluster.unwrap_or_default(),
            spool: self.path("spool", file.spool.as_ref()),
            unix: file.unix.map(|unix| self.unix(unix)),
            listen: Vec::new(),
            tokens: Vec::new(),
            roots: Vec::new(),
            rules: self.path("rules.packs", file.rules.packs.as_ref()),
            plugins: self.path("rules.plugins", file.rules.plugins.as_ref()),
            revisions: [5, 30, 180].map(|minutes| Duration::from_secs(minutes * 60)).to_vec(),
            limits: Limits {
                workers: self.number("limits.workers", file.limits.workers, 2, 1, 64),
                connections: self.number("limits.connections", file.limits.connections, 4096, 1, 1 << 20),
                body: self.size(file.limits.body, 16 << 20, "limits.body"),
                unpacked: self.size(file.limits.unpacked, 64 << 20, "limits.unpacked"),
                session: file.limits.session.map_or(256 << 20, |b| b.into_inner().0),
                rate: self.number("limits.rate", file.limits.rate, 2000, 1, 1_000_000),
                burst: self.number("limits.burst", file.limits.burst, 20_000, 1, 10_000_000),
                deadline: self.span(file.limits.deadline, 600, "limits.deadline"),
                request: self.span(file.limits.request, 30, "limits.request"),
                stop: self.span(file.limits.stop, 60, "limits.stop"),
            },
            retention: Retention {
                age: self.span(file.retention.age, 90 * 86_400, "retention.age"),
                bytes: file.retention.bytes.map_or(10 << 30, |b| b.into_inner().0),
            },
        };
        if let Some(after) = file.revisions.after {
            config.revisions = after.iter().map(|span| span.get_ref().0).collect();
            if let Some(late) = after.windows(2).find(|w| w[1].get_ref().0 <= w[0].get_ref().0) {
                self.wrong(&late[1].span(), "revisions.after: each time must be later than the one before");
            }
        }
        for listen in file.listen {
            let listen = self.listen(listen);
            config.listen.extend(listen);
        }
        let mut names = BTreeSet::new();
        for token in file.token {
            if !names.insert(token.name.get_ref().clone()) {
                self.wrong(&token.name.span(), format!("another token is named '{}'", token.name.get_ref()));
            }
            let token = self.token(token);
            config.tokens.extend(token);
        }
        for root in file.root {
            let root = self.root(root);
            config.roots.extend(root);
        }
        self.variables(&mut config, variable);
        if config.unix.is_none() && config.listen.is_empty() {
            self.missing("nothing to listen on: add [unix] with a path, or [[listen]] with an address");
        }
        if config.tokens.is_empty() && config.listen.iter().any(|l| l.open.is_none()) {
            self.missing("no [[token]] is there, so nobody could use the TCP addresses: add one");
        }
        config
    }

    fn variables(&mut self, config: &mut Config, variable: &dyn Fn(&str) -> Option<String>) {
        for (name, sets) in VARIABLES {
            let Some(value) = variable(name).filter(|v| !v.is_empty()) else { continue };
            let path = PathBuf::from(&value);
            if !matches!(*sets, "cluster" | "limits.workers") && !path.is_absolute() {
                self.missing(format!("the variable {name} must be an absolute path, and is '{value}'"));
                continue;
            }
            match *sets {
                "state" => config.state = path,
                "cluster" => config.cluster = value,
                "spool" => config.spool = Some(path),
                "unix.path" => match &mut config.unix {
                    Some(unix) => unix.path = path,
                    None => {
                        self.missing(format!("the variable {name} needs [unix], which says who may connect"))
                    }
                },
                "rules.packs" => config.rules = Some(path),
                "rules.plugins" => config.plugins = Some(path),
                _ => match value.parse() {
                    Ok(workers @ 1..=64) => config.limits.workers = workers,
                    _ => self.missing(format!("the variable {name} must be from 1 to 64, and is '{value}'")),
                },
            }
        }
    }

    fn path(&mut self, field: &str, path: Option<&Spanned<PathBuf>>) -> Option<PathBuf> {
        let path = path?;
        if !path.get_ref().is_absolute() {
            self.wrong(
                &path.span(),
                format!("{field}: '{}' is not an absolute path", path.get_ref().display()),
            );
        }
        Some(path.get_ref().clone())
    }

    fn number<T>(&mut self, field: &str, number: Option<Spanned<T>>, default: T, least: T, most: T) -> T
    where
        T: PartialOrd + Copy + fmt::Display,
    {
        let Some(number) = number else { return default };
        if *number.get_ref() < least || *number.get_ref() > most {
            self.wrong(&number.span(), format!("{field}: must be from {least} to {most}"));
        }
        number.into_inner()
    }

    fn size(&mut self, bytes: Option<Spanned<Bytes>>, default: usize, field: &str) -> usize {
        let Some(bytes) = bytes else { return default };
        match usize::try_from(bytes.get_ref().0) {
            Ok(size @ 1024..=0x4000_0000) => size,
            _ => {
                self.wrong(&bytes.span(), format!("{field}: must be from 1KiB to 1GiB"));
                default
            }
        }
    }

    fn span(&mut self, span: Option<Spanned<Span>>, default: u64, field: &str) -> Duration {
        let Some(span) = span else { return Duration::from_secs(default) };
        if span.get_ref().0.is_zero() {
            self.wrong(&span.span(), format!("{field}: must be more than nothing"));
        }
        span.into_inner().0
    }

    fn unix(&mut self, unix: Unix) -> UnixListen {
        let path = self.path("unix.path", Some(&unix.path)).unwrap_or_default();
        let mut mode = 0o666;
        if let Some(text) = &unix.mode {
            match u32::from_str_radix(text.get_ref(), 8) {
                Ok(octal @ 0..=0o777) => mode = octal,
                _ => self.wrong(&text.span(), "unix.mode: write permissions in octal, such as \"0660\""),
            }
        }
        if unix.allow.is_empty() {
            self.wrong(
                &unix.path.span(),
                "unix: nobody may connect: add [[unix.allow]] with users or groups, and roles",
            );
        }
        let allow = unix.allow.into_iter().map(|allow| self.allow(allow)).collect();
        UnixListen { path, mode, allow }
    }

    fn allow(&mut self, allow: Allow) -> Allowed {
        let mut who = Vec::new();
        for user in &allow.users {
            match Who::user(user.get_ref()) {
                Ok(one) => who.push(one),
                Err(what) => self.wrong(&user.span(), what),
            }
        }
        for group in &allow.groups {
            match Who::group(group.get_ref()) {
                Ok(one) => who.push(one),
                Err(what) => self.wrong(&group.span(), what),
            }
        }
        Allowed { who, roles: self.roles(&allow.roles), trust: self.trust(allow.trust.as_ref()) }
    }

    fn roles(&mut self, names: &[Spanned<String>]) -> Roles {
        let mut roles = Roles::default();
        for name in names {
            match Roles::parse(name.get_ref()) {
                Some(role) => roles = roles.with(role),
                None => self.wrong(
                    &name.span(),
                    format!("'{}' is no role: submit, read_own, read_all, admin", name.get_ref()),
                ),
            }
        }
        roles
    }

    fn trust(&mut self, name: Option<&Spanned<String>>) -> Trust {
        let Some(name) = name else { return Trust::Unverified };
        match name.get_ref().as_str() {
            "host" => Trust::Host,
            "workload" => Trust::Workload,
            "unverified" => Trust::Unverified,
            other => {
                self.wrong(&name.span(), format!("'{other}' is no trust: host, workload, unverified"));
                Trust::Unverified
            }
        }
    }

    fn listen(&mut self, listen: Listen) -> Option<TcpListen> {
        let span = listen.address.span();
        let Ok(address) = listen.address.get_ref().parse::<SocketAddr>() else {
            self.wrong(
                &span,
                format!(
                    "listen.address: '{}' is no address with a port, such as 127.0.0.1:9480",
                    listen.address.get_ref()
                ),
            );
            return None;
        };
        let certificate = self.path("listen.certificate", listen.certificate.as_ref());
        let key = self.path("listen.key", listen.key.as_ref());
        let tls = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => {
                self.wrong(&span, "listen: certificate and key go together");
                None
            }
        };
        if tls.is_none() && !address.ip().is_loopback() && listen.without_credentials.is_none() {
            self.wrong(
                &span,
                format!("listen.address: {address} is not the loopback: add certificate and key"),
            );
        }
        let open = listen.without_credentials.map(|open| {
            let at = open.span();
            let open = open.into_inner();
            let roles = self.roles(&open.roles);
            if roles.admin() {
                self.wrong(&at, "without_credentials: the role admin is for those who show who they are");
            }
            Open { roles, trust: self.trust(open.trust.as_ref()) }
        });
        Some(TcpListen { address, tls, hosts: listen.hosts, open })
    }

    fn token(&mut self, token: TokenEntry) -> Option<Token> {
        let roles = self.roles(&token.roles);
        let trust = self.trust(token.trust.as_ref());
        let Some(sha256) = crate::access::from_hex(token.sha256.get_ref()) else {
            self.wrong(
                &token.sha256.span(),
                "token.sha256: write the 64 hexadecimal digits that `firstfault token` prints",
            );
            return None;
        };
        Some(Token { name: token.name.into_inner(), sha256, roles, trust })
    }

    fn root(&mut self, root: RootEntry) -> Option<Root> {
        let path = self.path("root.path", Some(&root.path))?;
        if let Some(job) = &root.job
            && let Err(what) = crate::paths::check_template(job.get_ref())
        {
            self.wrong(&job.span(), format!("root.job: {what}"));
        }
        Some(Root {
            path,
            job: root.job.map(Spanned::into_inner),
            trust: self.trust(root.trust.as_ref()),
            shared: root.shared,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<(Option<usize>, String)> {
        parse(text, |_| None).unwrap_err().into_iter().map(|c| (c.line, c.what)).collect()
    }

    const SMALL: &str =
        "[unix]\npath = \"/run/ff.sock\"\n[[unix.allow]]\nusers = [\"0\"]\nroles = [\"admin\"]\n";

    #[test]
    fn a_small_file_is_enough() {
        let config = parse(SMALL, |_| None).unwrap();
        assert_eq!(config.revisions.len(), 3);
        assert!(config.unix.unwrap().allow[0].roles.admin());
    }

    #[test]
    fn everything_that_is_wrong_is_told_with_its_line() {
        let text = "state = \"here\"\n[unix]\npath = \"/run/ff.sock\"\nmode = \"999\"\n[[unix.allow]]\nusers = [\"no-such-user\"]\n\
                    roles = [\"submit\",\n\"king\"]\n[[listen]]\naddress = \"0.0.0.0:1\"\n[retention]\nage = \"0s\"\n";
        let lines: Vec<_> = complaints(text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [None, Some(1), Some(4), Some(6), Some(8), Some(10), Some(12)]);
    }

    #[test]
    fn what_is_not_known_is_told_with_its_line() {
        let found = complaints("[unix]\npath = \"/run/ff.sock\"\ncolour = \"red\"\n");
        assert_eq!(found[0].0, Some(3), "{found:?}");
        assert!(found[0].1.contains("colour"));
        assert_eq!(complaints("state = \n")[0].0, Some(1));
        assert_eq!(complaints(&format!("{SMALL}[limits]\nbody = \"5 parsecs\"\n"))[0].0, Some(7));
    }

    #[test]
    fn variables_come_first() {
        let of = |name: &str| (name == "FIRSTFAULT_STATE").then(|| "/srv/ff".to_owned());
        assert_eq!(parse(SMALL, of).unwrap().state, Path::new("/srv/ff"));
        let wrong = parse(SMALL, |name| (name == "FIRSTFAULT_WORKERS").then(|| "many".to_owned()));
        assert!(wrong.unwrap_err()[0].what.contains("FIRSTFAULT_WORKERS"));
    }
}
