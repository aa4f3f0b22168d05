//! Who may what: roles, tokens, and who is on the other end of a unix socket.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use firstfault_model::source::Trust;
use nix::unistd::{Gid, Group, Uid, User, getgrouplist};
use sha2::{Digest as _, Sha256};

/// What somebody may. Each role is for itself; admin may everything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roles(u8);

impl Roles {
    const SUBMIT: Self = Self(1);
    const READ_OWN: Self = Self(2);
    const READ_ALL: Self = Self(4);
    const ADMIN: Self = Self(8);

    /// By its name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "submit" => Self::SUBMIT,
            "read_own" => Self::READ_OWN,
            "read_all" => Self::READ_ALL,
            "admin" => Self::ADMIN,
            _ => return None,
        })
    }

    /// Both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn has(self, role: Self) -> bool {
        self.0 & (role.0 | Self::ADMIN.0) != 0
    }

    /// May report workloads.
    #[must_use]
    pub fn submit(self) -> bool {
        self.has(Self::SUBMIT)
    }

    /// May read what is of its own workloads.
    #[must_use]
    pub fn read_own(self) -> bool {
        self.has(Self::READ_OWN) || self.read_all()
    }

    /// May read everything.
    #[must_use]
    pub fn read_all(self) -> bool {
        self.has(Self::READ_ALL)
    }

    /// May reload, promote, run again.
    #[must_use]
    pub fn admin(self) -> bool {
        self.has(Self::ADMIN)
    }
}

/// A token, as far as it is known.
#[derive(Debug, Clone)]
pub struct Token {
    /// Who has it.
    pub name: String,
    /// Its digest.
    pub sha256: [u8; 32],
    /// What it may.
    pub roles: Roles,
    /// Who vouches for what is pushed with it.
    pub trust: Trust,
}

/// Users or groups that may connect to the unix socket.
#[derive(Debug, Clone)]
pub struct Allowed {
    /// Who.
    pub who: Vec<Who>,
    /// What they may.
    pub roles: Roles,
    /// Who vouches for what they push.
    pub trust: Trust,
}

/// A user or a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Anybody on this machine.
    Anybody,
    /// A user.
    User(u32),
    /// A group, as main or as additional group.
    Group(u32),
}

impl Who {
    /// A user by name or number.
    ///
    /// # Errors
    /// There is none.
    pub fn user(name: &str) -> Result<Self, String> {
        if name == "*" {
            return Ok(Self::Anybody);
        }
        if let Ok(number) = name.parse() {
            return Ok(Self::User(number));
        }
        let found =
            User::from_name(name).map_err(|e| format!("the user '{name}' cannot be looked up: {e}"))?;
        found
            .map(|u| Self::User(u.uid.as_raw()))
            .ok_or_else(|| format!("there is no user '{name}' on this machine"))
    }

    /// A group by name or number.
    ///
    /// # Errors
    /// There is none.
    pub fn group(name: &str) -> Result<Self, String> {
        if let Ok(number) = name.parse() {
            return Ok(Self::Group(number));
        }
        let found =
            Group::from_name(name).map_err(|e| format!("the group '{name}' cannot be looked up: {e}"))?;
        found
            .map(|g| Self::Group(g.gid.as_raw()))
            .ok_or_else(|| format!("there is no group '{name}' on this machine"))
    }
}

/// Who makes a request.
#[derive(Debug, Clone)]
pub struct Principal {
    /// The user of the machine, or the name of the token.
    pub name: String,
    /// The user's number, on a unix socket.
    pub uid: Option<u32>,
    /// What it may.
    pub roles: Roles,
    /// Who vouches for what it pushes.
    pub trust: Trust,
}

impl Principal {
    /// Whether the operator vouches for it: it says whose a workload is, and may name what others own.
    pub(crate) fn is_trusted(&self) -> bool {
        self.roles.admin() || self.trust == Trust::Host
    }
}

/// Who a user of the unix socket is; none: nobody that may connect.
pub(crate) fn peer(uid: u32, gid: u32, allow: &[Allowed]) -> Option<Principal> {
    let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    let mut groups = vec![gid];
    if let Some(user) = &user
        && let Ok(name) = CString::new(user.name.as_str())
        && let Ok(more) = getgrouplist(&name, Gid::from_raw(gid))
    {
        groups.extend(more.into_iter().map(Gid::as_raw));
    }
    let fits = |who: &Who| match who {
        Who::Anybody => true,
        Who::User(number) => *number == uid,
        Who::Group(number) => groups.contains(number),
    };
    let allowed = allow.iter().find(|allowed| allowed.who.iter().any(fits))?;
    let name = user.map_or_else(|| format!("uid-{uid}"), |user| user.name);
    Some(Principal { name, uid: Some(uid), roles: allowed.roles, trust: allowed.trust })
}

/// How long it is remembered who a user is: asking may go over the network.
const REMEMBERED: Duration = Duration::from_secs(60);
/// How many users are remembered.
const MOST_USERS: usize = 4096;

/// Users that connected lately, and who they are.
#[derive(Debug, Default)]
pub(crate) struct People(Mutex<HashMap<(u32, u32), Looked>>);

/// When a user was looked up, and who it is.
type Looked = (Instant, Option<Arc<Principal>>);

impl People {
    /// As [`peer`], remembered.
    pub(crate) fn peer(&self, uid: u32, gid: u32, allow: &[Allowed]) -> Option<Arc<Principal>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((asked, principal)) = known.get(&(uid, gid))
            && asked.elapsed() < REMEMBERED
        {
            return principal.clone();
        }
        if known.len() >= MOST_USERS {
            known.clear();
        }
        let principal = peer(uid, gid, allow).map(Arc::new);
        known.insert((uid, gid), (Instant::now(), principal.clone()));
        principal
    }
}

/// Who has a token. What is compared are digests of long random words: how long it takes tells nothing of use.
pub(crate) fn bearer(token: &str, tokens: &[Token]) -> Option<Principal> {
    let sha256: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let found = tokens.iter().find(|t| t.sha256 == sha256)?;
    Some(Principal { name: found.name.clone(), uid: None, roles: found.roles, trust: found.trust })
}

/// 64 hexadecimal digits.
pub(crate) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut out = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in out.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(out)
}

/// What is written into the configuration for a token.
#[must_use]
pub fn token_digest(token: &str) -> String {
    firstfault_model::canonical::digest(token.as_bytes()).trim_start_matches("sha256:").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_what_it_says() {
        let submit = Roles::parse("submit").unwrap();
        assert!(submit.submit() && !submit.read_own() && !submit.admin());
        let admin = Roles::parse("admin").unwrap();
        assert!(admin.submit() && admin.read_all() && admin.read_own() && admin.admin());
        assert!(!Roles::parse("read_own").unwrap().read_all());
        assert!(Roles::parse("root").is_none());
    }

    #[test]
    fn the_first_that_fits_decides() {
        let allow = [
            Allowed { who: vec![Who::User(0)], roles: Roles::ADMIN, trust: Trust::Host },
            Allowed { who: vec![Who::Group(77)], roles: Roles::READ_ALL, trust: Trust::Unverified },
        ];
        assert!(peer(0, 0, &allow).unwrap().roles.admin());
        let grouped = peer(54_321, 77, &allow).unwrap();
        assert_eq!((grouped.name.as_str(), grouped.roles), ("uid-54321", Roles::READ_ALL));
        assert!(peer(54_321, 78, &allow).is_none());
    }

    #[test]
    fn tokens_are_known_by_their_digest() {
        let digest = token_digest("secret");
        let token = Token {
            name: "launcher".into(),
            sha256: from_hex(&digest).unwrap(),
            roles: Roles::SUBMIT,
            trust: Trust::Workload,
        };
        assert_eq!(bearer("secret", std::slice::from_ref(&token)).unwrap().name, "launcher");
        assert!(bearer("Secret", &[token]).is_none());
        assert!(from_hex("xyz").is_none() && from_hex(&"é".repeat(32)).is_none());
    }
}
