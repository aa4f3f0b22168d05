//! Stories: small whole incidents in one TOML file each, with what is to be said of them.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{Confidence, Finding, RootCause, Verdict};
use serde::Deserialize;

use crate::mutation::Files;

/// A story as it is written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Story {
    /// What happened, in one sentence.
    about: String,
    /// What `context.json` holds.
    context: Option<toml::Table>,
    /// The logs.
    #[serde(rename = "file")]
    files: Vec<Log>,
    /// What is to be said of them.
    pub(crate) expect: Expected,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    path: String,
    text: String,
}

/// What is to be said. What is left out does not matter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expected {
    verdict: Verdict,
    /// Symptom of the first root cause.
    root: Option<String>,
    /// `domain/sub_domain`.
    category: Option<String>,
    /// Its node; empty for none.
    node: Option<String>,
    ranks: Option<Vec<u32>>,
    /// PCI bus id of one of its GPUs.
    gpu: Option<String>,
    /// A part of one of the lines that show it.
    line: Option<String>,
    confidence: Option<Confidence>,
    /// Most root causes; one if it is left out.
    roots: Option<usize>,
    /// Symptom of a suspect.
    suspect: Option<String>,
}

impl Story {
    /// Reads a story. What is wrong with it is said with its file and field.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&text).map_err(|error| format!("{name}: {error}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let story: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if story.about.trim().is_empty() {
            return Err("`about` is empty: say in one sentence what happened".to_owned());
        }
        story.check_files()?;
        if let Some(json) = story.context_json() {
            ExecutionContext::parse(&json).map_err(|error| format!("`context`: {error}"))?;
        }
        story.expect.check()?;
        Ok(story)
    }

    fn check_files(&self) -> Result<(), String> {
        if self.files.is_empty() {
            return Err("`file`: there is none".to_owned());
        }
        let mut paths = BTreeSet::new();
        for file in &self.files {
            let path = &file.path;
            if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
                || path.is_empty()
            {
                return Err(format!("`file.path`: '{path}' is not a path below the incident's folder"));
            }
            if path == "context.json" {
                return Err("`file.path`: write the context as `[context]`".to_owned());
            }
            if !paths.insert(path) {
                return Err(format!("`file.path`: '{path}' is there twice"));
            }
            if file.text.trim().is_empty() {
                return Err(format!("`file.text` of '{path}' is empty"));
            }
        }
        Ok(())
    }

    fn context_json(&self) -> Option<String> {
        Some(json_of(&toml::Value::Table(self.context.clone()?)).to_string())
    }

    /// Its files, with the context.
    pub(crate) fn files(&self) -> Files {
        let logs = self.files.iter().map(|file| (file.path.clone(), file.text.clone().into_bytes()));
        let context = self.context_json().map(|json| ("context.json".to_owned(), json.into_bytes()));
        logs.chain(context).collect()
    }
}

impl Expected {
    /// Whether all that is written can be looked at.
    fn check(&self) -> Result<(), String> {
        let attributed = self.verdict == Verdict::Attributed;
        if attributed && self.root.is_none() && self.category.is_none() {
            return Err("`expect`: an attributed verdict needs `root` or `category`".to_owned());
        }
        let of_a_root = [
            ("root", self.root.is_some()),
            ("category", self.category.is_some()),
            ("node", self.node.is_some()),
            ("ranks", self.ranks.is_some()),
            ("gpu", self.gpu.is_some()),
            ("line", self.line.is_some()),
            ("confidence", self.confidence.is_some()),
            ("roots", self.roots.is_some()),
        ];
        match of_a_root.iter().find(|(_, given)| *given && !attributed) {
            Some((field, _)) => Err(format!("`expect.{field}`: only an attributed verdict has a root cause")),
            None if self.suspect.is_some() && self.verdict != Verdict::Undetermined => {
                Err("`expect.suspect`: only an undetermined verdict has suspects".to_owned())
            }
            None => Ok(()),
        }
    }

    /// What differs from what is expected.
    pub(crate) fn differences(&self, found: &Finding) -> Vec<String> {
        let mut out = Vec::new();
        if found.verdict != self.verdict {
            out.push(format!("the verdict is {:?}, not {:?}", found.verdict, self.verdict));
        }
        if let (Verdict::Attributed, Some(root)) = (self.verdict, found.root_causes.first()) {
            self.compare_root(root, found, &mut out);
        }
        if let Some(suspect) = &self.suspect
            && !found.suspects.iter().any(|s| s.symptom == *suspect)
        {
            out.push(format!("'{suspect}' is not suspected"));
        }
        if found.verdict == Verdict::Undetermined && found.could_change_the_verdict.is_empty() {
            out.push("nothing is said to change the verdict".to_owned());
        }
        out
    }

    fn compare_root(&self, root: &RootCause, found: &Finding, out: &mut Vec<String>) {
        let place = &root.place;
        let mut compare = |what: &str, found: &dyn std::fmt::Debug, right: bool| {
            if !right {
                out.push(format!("the {what} is {found:?}"));
            }
        };
        let category = format!("{}/{}", root.domain.name(), root.sub_domain);
        let shown: Vec<&str> = root
            .evidence
            .iter()
            .filter_map(|id| Some(found.evidence.iter().find(|e| e.id == *id)?.text.as_str()))
            .collect();
        let buses: Vec<String> =
            place.gpus.iter().filter_map(|gpu| Some(gpu.pci_bus_id.as_ref()?.to_string())).collect();
        compare("root", &root.symptom, self.root.as_ref().is_none_or(|wanted| *wanted == root.symptom));
        compare("category", &category, self.category.as_ref().is_none_or(|wanted| *wanted == category));
        let node = place.node.clone().unwrap_or_default();
        compare("node", &node, self.node.as_ref().is_none_or(|wanted| *wanted == node));
        let mut ranks = place.ranks.clone();
        ranks.sort_unstable();
        compare("list of ranks", &ranks, self.ranks.as_ref().is_none_or(|wanted| *wanted == ranks));
        compare("GPU", &buses, self.gpu.as_ref().is_none_or(|wanted| buses.contains(wanted)));
        let in_line = |wanted: &String| shown.iter().any(|text| text.contains(wanted));
        compare("evidence", &shown, self.line.as_ref().is_none_or(in_line));
        let sure = self.confidence.is_none_or(|wanted| wanted == root.confidence);
        compare("confidence", &root.confidence, sure);
        let most = self.roots.unwrap_or(1);
        let roots: Vec<&str> = found.root_causes.iter().map(|root| root.symptom.as_str()).collect();
        compare("list of root causes", &roots, roots.len() <= most);
    }
}

fn json_of(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.iter().map(json_of).collect(),
        toml::Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), json_of(value))).collect(),
        other => serde_json::to_value(other).unwrap(),
    }
}

/// All stories below a folder, sorted, by `family/name`.
pub(crate) fn all(folder: &Path) -> Vec<(String, PathBuf)> {
    let mut out = Vec::new();
    for family in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for path in std::fs::read_dir(&family).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.strip_prefix(folder).unwrap().with_extension("");
            assert_eq!(
                path.extension().and_then(|e| e.to_str()),
                Some("toml"),
                "{} is no story",
                path.display()
            );
            out.push((name.to_str().unwrap().to_owned(), path));
        }
    }
    out.sort();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        about = "a job ran out of GPU memory"
        [context]
        id = "1"
        start = 2026-09-14T03:12:40Z
        [[file]]
        path = "job.log"
        text = "a line"
        [expect]
        verdict = "attributed"
        root = "cuda.out_of_memory"
    "#;

    #[test]
    fn a_bad_story_is_named_by_its_field() {
        assert!(Story::parse(GOOD).is_ok());
        for (from, to, named) in [
            ("about =", "abuot =", "abuot"),
            ("root =", "symptom =", "symptom"),
            ("\"attributed\"", "\"guilty\"", "verdict"),
            ("path = \"job.log\"", "path = \"../job.log\"", "file.path"),
            ("text = \"a line\"", "", "text"),
            ("text = \"a line\"", "text = \"\"", "file.text"),
            ("id = \"1\"", "idd = \"1\"", "context"),
            ("03:12:40Z", "03:12:40", "start"),
            ("\"attributed\"", "\"undetermined\"", "expect.root"),
            ("root = \"cuda.out_of_memory\"", "", "`root` or `category`"),
        ] {
            let error = Story::parse(&GOOD.replace(from, to)).expect_err(to);
            assert!(error.contains(named), "{to}: {error}");
        }
        let error = Story::read(Path::new("stories/none/such.toml")).expect_err("there is no such file");
        assert!(error.contains("none/such.toml"), "{error}");
    }
}
