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
}

/// What does not fit between packs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the packs do not fit together: {}", .0.join("\n  "))]
pub struct RuleSetError(pub Vec<String>);

impl RuleSet {
    /// Joins packs. A later pack of the same name takes the place of an earlier one; packs are then ordered by name, so that the
    /// order in which they were found does not matter.
    ///
    /// # Errors
    /// References to symptoms that no pack defines, symptoms defined twice, patterns that do not compile.
    pub fn new(packs: Vec<LoadedPack>) -> Result<Self, RuleSetError> {
        let mut by_name: BTreeMap<String, LoadedPack> = BTreeMap::new();
        for pack in packs {
            by_name.insert(pack.pack.pack.name.clone(), pack);
        }
        let packs: Vec<LoadedPack> = by_name.into_values().collect();
        let mut problems = Vec::new();
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
            for (table, rows) in &pack.pack.tables {
                tables.entry(table.clone()).or_default().extend(rows.clone());
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
        Ok(Self { packs, symptoms, causes, tables, matcher, generation: digester.finish() })
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
