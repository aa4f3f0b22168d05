//! Reads the head of a plugin's description: who it is. The rest belongs to those who load packs.

use serde::Deserialize;

use crate::attributes;
use crate::error::LoadError;
use crate::worlds::World;

/// Bytes of a description.
pub(crate) const MAX_MANIFEST: usize = 1 << 20;

/// Who a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) name: String,
    pub(crate) version: String,
}

#[derive(Deserialize)]
struct Manifest {
    plugin: Option<Table>,
    pack: Option<Table>,
}

#[derive(Deserialize)]
struct Table {
    name: String,
    version: String,
}

/// Reads name and version from `[plugin]`, or of a rule module from `[pack]`.
pub(crate) fn head(origin: &str, world: World, text: &str) -> Result<Head, LoadError> {
    if text.len() > MAX_MANIFEST {
        return Err(LoadError::ManifestTooLarge { origin: origin.to_owned(), size: text.len() });
    }
    let wrong = |reason: String| LoadError::Manifest { origin: origin.to_owned(), reason };
    let manifest: Manifest = toml::from_str(text).map_err(|e| {
        wrong(format!("not the TOML that is wanted: {}", crate::text::printable(&e.to_string(), 1024)))
    })?;
    let (table, found) = match world {
        World::RuleModule => ("[pack]", manifest.pack),
        World::ContextConnector | World::TelemetryCollector => ("[plugin]", manifest.plugin),
    };
    let Some(Table { name, version }) = found else {
        return Err(wrong(format!("the table {table} is missing: it names a {}", world.name())));
    };
    attributes::word("the name", &name, 32, false).map_err(|e| wrong(format!("{table}: {e}")))?;
    if version.len() > 64 || semver::Version::parse(&version).is_err() {
        let shown = attributes::shown(&version);
        return Err(wrong(format!("{table}: the version '{shown}' is not semantic, such as 0.1.0")));
    }
    Ok(Head { name, version })
}

#[cfg(test)]
#[path = "../../model/tests/support/edited.rs"]
mod edited;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::edited::edited;
    use super::*;

    const DESCRIPTIONS: &[&str] = &[
        "[pack]\nname = \"xid-lines\"\nversion = \"0.1.0\"\n[[signature]]\nmodule = \"self\"\n",
        "[plugin]\nname = \"loki\"\nversion = \"1.0.0-rc.1+build\"\n",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_description(text in edited(DESCRIPTIONS)) {
            for world in [World::RuleModule, World::TelemetryCollector] {
                match head("p.wasm", world, &text) {
                    Ok(Head { name, version }) => {
                        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
                        prop_assert!((1..=32).contains(&name.len()) && name.bytes().all(fits));
                        prop_assert!(version.len() <= 64 && version.is_ascii());
                    }
                    Err(error) => {
                        let error = error.to_string();
                        prop_assert!(error.starts_with("p.wasm: ") && error.len() < 8_192);
                        prop_assert!(!error.contains(char::is_control), "{}", error);
                    }
                }
            }
        }
    }

    #[test]
    fn heads() {
        let pack = "[pack]\nname = \"xid-lines\"\nversion = \"0.1.0\"\n[[signature]]\nmodule = \"self\"\n";
        let head_of = |world, text: &str| head("p", world, text);
        assert_eq!(head_of(World::RuleModule, pack).unwrap().name, "xid-lines");
        for (text, wants) in [
            (pack, "[plugin] is missing"),
            ("[plugin]\nname = \"A\"\nversion = \"1.0.0\"", "'A'"),
            ("[plugin]\nname = \"a\"\nversion = \"1\"", "'1' is not semantic"),
            ("[plugin]\nname = \"a\"", "version"),
            ("[plugin", "TOML"),
        ] {
            let error = head_of(World::TelemetryCollector, text).unwrap_err().to_string();
            assert!(error.contains(wants), "{error}");
        }
        let long = format!("# {}", "x".repeat(MAX_MANIFEST));
        assert!(matches!(head_of(World::RuleModule, &long), Err(LoadError::ManifestTooLarge { .. })));
    }
}
