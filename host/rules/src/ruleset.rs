//! The active packs joined into one set of rules.

use std::collections::BTreeMap;

use firstfault_model::canonical::Digester;

use crate::load::LoadedPack;
use crate::matcher::{Consumer, Matcher};
use crate::pack::{Cause, Symptom, Test};
use crate::redact;
use crate::wildcard;

/// A symptom with the pack that defines it.
#[derive(Debug, Clone)]
pub struct DefinedSymptom {
    /// Name of the pack.
    pub pack: String,
    /// Its definition.
    pub symptom: Symptom,
}

/// A cause with the pack that declares it.
#[derive(Debug, Clone)]
pub struct DeclaredCause {
    /// `pack/cause#n`.
    pub id: String,
    /// Its declaration.
    pub cause: Cause,
}

/// All active rules.
#[derive(Debug)]
pub struct RuleSet {
    packs: Vec<LoadedPack>,
    symptoms: BTreeMap<String, DefinedSymptom>,
    causes: Vec<DeclaredCause>,
    tables: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
    matcher: Matcher,
    generation: String,
    /// By pack: what of others it takes the place of.
    overrides: BTreeMap<String, Vec<String>>,
}

/// What does not fit between packs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the packs do not fit together: {}", .0.join("\n  "))]
pub struct RuleSetError(pub Vec<String>);

impl RuleSet {
    /// Joins packs. A site's pack takes the place of a shipped one of its name, and its rows of a table that of shipped rows. Packs are
    /// then ordered by name, so that the order in which they were found does not matter.
    ///
    /// # Errors
    /// References to symptoms that no pack defines, what two packs define, patterns that do not compile.
    pub fn new(packs: Vec<LoadedPack>) -> Result<Self, RuleSetError> {
        let mut problems = Vec::new();
        let mut overrides: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut by_name: BTreeMap<String, LoadedPack> = BTreeMap::new();
        let (shipped, own): (Vec<LoadedPack>, Vec<LoadedPack>) = packs.into_iter().partition(|p| p.shipped);
        for pack in shipped.into_iter().chain(own) {
            let name = pack.pack.pack.name.clone();
            let is_own = !pack.shipped;
            let Some(other) = by_name.insert(name.clone(), pack) else { continue };
            if is_own && other.shipped {
                let what = format!("pack {name} {} ({})", other.pack.pack.version, other.digest);
                overrides.entry(name).or_default().push(what);
            } else {
                problems.push(format!("there are two packs of the name '{name}'"));
            }
        }
        let packs: Vec<LoadedPack> = by_name.into_values().collect();
        let mut symptoms: BTreeMap<String, DefinedSymptom> = BTreeMap::new();
        let mut causes = Vec::new();
        let mut tables: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
        let mut digester = Digester::new("firstfault.rules/1");
        for pack in &packs {
            let name = &pack.pack.pack.name;
            digester.part(name.as_bytes());
            digester.part(pack.digest.as_bytes());
            digester.part(pack.module.as_deref().unwrap_or("").as_bytes());
            for symptom in &pack.pack.symptoms {
                let defined = DefinedSymptom { pack: name.clone(), symptom: symptom.clone() };
                if let Some(other) = symptoms.insert(symptom.id.clone(), defined) {
                    problems.push(format!(
                        "symptom '{}' is defined by pack '{}' and pack '{name}'",
                        symptom.id, other.pack
                    ));
                }
            }
            for (i, cause) in pack.pack.causes.iter().enumerate() {
                causes.push(DeclaredCause { id: format!("{name}/cause#{}", i + 1), cause: cause.clone() });
            }
        }
        type Rows<'p> = BTreeMap<(&'p str, &'p str), &'p LoadedPack>;
        let mut owners: Rows<'_> = BTreeMap::new();
        let (shipped, own): (Vec<&LoadedPack>, Vec<&LoadedPack>) = packs.iter().partition(|p| p.shipped);
        for pack in shipped.into_iter().chain(own) {
            let name = &pack.pack.pack.name;
            for (table, rows) in &pack.pack.tables {
                for (key, row) in rows {
                    let known = tables.entry(table.clone()).or_default().insert(key.clone(), row.clone());
                    let Some(owner) = owners.insert((table, key), pack) else { continue };
                    let other = &owner.pack.pack.name;
                    if owner.shipped && !pack.shipped {
                        overrides
                            .entry(name.clone())
                            .or_default()
                            .push(format!("table {table} {key} of {other}"));
                    } else if known.as_ref() != Some(row) {
                        problems.push(format!(
                            "row '{key}' of table '{table}' is not the same in pack '{other}' and pack '{name}'"
                        ));
                    }
                }
            }
        }
        let matcher = Matcher::new(&packs).map_err(|e| RuleSetError(vec![e]))?;
        let known = |id: &str| match id.strip_suffix('*') {
            Some(prefix) => symptoms.keys().any(|s| s.starts_with(prefix)),
            None => find(&symptoms, id).is_some(),
        };
        for signature in matcher.signatures() {
            if let Consumer::Symptom(id) = &signature.consumer
                && !known(id)
            {
                problems.push(format!("signature '{}': no pack defines symptom '{id}'", signature.id));
            }
        }
        for cause in &causes {
            for id in cause.cause.effect.as_slice().iter().chain(&cause.cause.by) {
                if !known(id) {
                    problems.push(format!("{}: no pack defines symptom '{id}'", cause.id));
                }
            }
        }
        if !problems.is_empty() {
            return Err(RuleSetError(problems));
        }
        digester.part(redact::VERSION.as_bytes());
        Ok(Self { packs, symptoms, causes, tables, matcher, generation: digester.finish(), overrides })
    }

    /// The definition of a symptom: its own, else that of the longest wildcard over it.
    #[must_use]
    pub fn symptom(&self, id: &str) -> Option<&DefinedSymptom> {
        find(&self.symptoms, id)
    }

    /// All symptom definitions by id.
    #[must_use]
    pub fn symptoms(&self) -> &BTreeMap<String, DefinedSymptom> {
        &self.symptoms
    }

    /// Declared causes, in the order of packs and of their lines.
    #[must_use]
    pub fn causes(&self) -> &[DeclaredCause] {
        &self.causes
    }

    /// The packs, by name.
    #[must_use]
    pub fn packs(&self) -> &[LoadedPack] {
        &self.packs
    }

    /// What of other packs a pack takes the place of, in words.
    #[must_use]
    pub fn overrides(&self, pack: &str) -> &[String] {
        self.overrides.get(pack).map_or(&[], Vec::as_slice)
    }

    /// A row of a table.
    #[must_use]
    pub fn lookup(&self, table: &str, key: &str) -> Option<&BTreeMap<String, String>> {
        self.tables.get(table)?.get(key)
    }

    /// The compiled signatures.
    #[must_use]
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// Digest over all packs.
    #[must_use]
    pub fn generation(&self) -> &str {
        &self.generation
    }

    /// Tests of all packs with the name of their pack.
    pub fn tests(&self) -> impl Iterator<Item = (&str, &Test)> {
        self.packs.iter().flat_map(|p| p.pack.tests.iter().map(move |t| (p.pack.pack.name.as_str(), t)))
    }
}

fn find<'a>(symptoms: &'a BTreeMap<String, DefinedSymptom>, id: &str) -> Option<&'a DefinedSymptom> {
    if let Some(found) = symptoms.get(id) {
        return Some(found);
    }
    let mut prefix = id;
    while let Some((head, _)) = prefix.rsplit_once('.') {
        if let Some(found) = symptoms.get(&format!("{head}.*")) {
            return Some(found);
        }
        prefix = head;
    }
    None
}

/// Whether a declared cause speaks of `id` as its effect.
#[must_use]
pub fn has_effect(cause: &Cause, id: &str) -> bool {
    cause.effect.as_slice().iter().any(|pattern| wildcard::matches(pattern, id))
}

/// Whether a declared cause speaks of `id` as what may explain its effect.
#[must_use]
pub fn has_cause(cause: &Cause, id: &str) -> bool {
    cause.by.iter().any(|pattern| wildcard::matches(pattern, id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;

    fn pack(text: &str) -> LoadedPack {
        load("test", text, None).unwrap()
    }

    const GPU: &str = r#"
        anchors = ["NVRM: "]
        [pack]
        name = "gpu"
        version = "1.0.0"
        [[symptom]]
        id = "gpu.*"
        role = "either"
        domain = "hardware"
        sub_domain = "gpu"
        title = "GPU fault"
        [[symptom]]
        id = "gpu.lost"
        role = "cause"
        domain = "hardware"
        sub_domain = "gpu_bus"
        title = "GPU lost"
        [[signature]]
        symptom = "gpu.lost"
        sources = ["kernel"]
        pattern = 'NVRM: .* fallen off the bus'
        [[cause]]
        effect = "gpu.reset"
        by = ["gpu.lost"]
        where = "same_gpu"
    "#;

    #[test]
    fn a_symptom_without_a_definition_of_its_own_has_that_of_its_wildcard() {
        let rules = RuleSet::new(vec![pack(GPU)]).unwrap();
        assert_eq!(rules.symptom("gpu.lost").unwrap().symptom.title, "GPU lost");
        assert_eq!(rules.symptom("gpu.other").unwrap().symptom.title, "GPU fault");
        assert!(rules.symptom("cpu.other").is_none());
        rules.matcher().check().unwrap();
    }

    #[test]
    fn anchors_find_lines_and_literals_choose_signatures() {
        let rules = RuleSet::new(vec![pack(GPU)]).unwrap();
        let line = b"x NVRM: GPU has fallen off the bus";
        assert!(rules.matcher().has_anchor(line));
        assert!(!rules.matcher().has_anchor(b"x NVR: GPU"));
        assert_eq!(rules.matcher().candidates(line), [0]);
        assert!(rules.matcher().candidates(b"NVRM: something else").is_empty());
    }

    #[test]
    fn a_sites_pack_and_rows_go_before_shipped_ones_and_are_named() {
        let table = |name: &str, word: &str| {
            pack(&format!(
                "[pack]\nname = \"{name}\"\nversion = \"1.0.0\"\n[tables.words.x]\nword = \"{word}\""
            ))
        };
        let word = |rules: &RuleSet| rules.lookup("words", "x").unwrap()["word"].clone();
        // Whatever their names are.
        for site in ["a", "z"] {
            let rules = RuleSet::new(vec![table(site, "own"), table("m", "shipped").shipped()]).unwrap();
            assert_eq!(word(&rules), "own");
            assert_eq!(rules.overrides(site), ["table words x of m"]);
        }
        let rules = RuleSet::new(vec![table("m", "own"), table("m", "shipped").shipped()]).unwrap();
        assert_eq!(word(&rules), "own");
        assert!(rules.overrides("m")[0].starts_with("pack m 1.0.0 (sha256:"), "{:?}", rules.overrides("m"));
        // Of two that are a site's own nothing tells which is meant.
        for other in ["m", "n"] {
            assert!(RuleSet::new(vec![table("m", "one"), table(other, "two")]).is_err(), "{other}");
        }
    }

    #[test]
    fn references_between_packs_are_checked() {
        let text = GPU.replace("by = [\"gpu.lost\"]", "by = [\"nic.lost\"]");
        let error = RuleSet::new(vec![pack(&text)]).unwrap_err().to_string();
        assert!(error.contains("no pack defines symptom 'nic.lost'"), "{error}");
    }

    #[test]
    fn the_generation_does_not_depend_on_the_order_of_packs() {
        let other = r#"
            [pack]
            name = "other"
            version = "1.0.0"
        "#;
        let a = RuleSet::new(vec![pack(GPU), pack(other)]).unwrap();
        let b = RuleSet::new(vec![pack(other), pack(GPU)]).unwrap();
        assert_eq!(a.generation(), b.generation());
        let c = RuleSet::new(vec![pack(GPU)]).unwrap();
        assert_ne!(a.generation(), c.generation());
    }
}
