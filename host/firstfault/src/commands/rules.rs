//! `firstfault rules check` and `firstfault rules test`

use std::process::ExitCode;

use anyhow::{anyhow, bail};

use firstfault_rules::conflicts;

use crate::arguments::{RulesAction, RulesOptions};
use crate::generation::Generation;
use crate::packtest;

/// Runs it.
///
/// # Errors
/// A pack that is wrong.
pub fn run(options: &RulesOptions) -> anyhow::Result<ExitCode> {
    match &options.action {
        RulesAction::Check { rules, anchors } => {
            let generation = Generation::load(rules)?;
            generation.rules.matcher().check().map_err(|e| anyhow!("{e}"))?;
            let mut out = String::new();
            for pack in generation.rules.packs() {
                let p = &pack.pack;
                out.push_str(&format!(
                    "{:<12} {:<8} {:>4} symptoms {:>4} signatures {:>4} causes {:>4} tests\n",
                    p.pack.name,
                    p.pack.version,
                    p.symptoms.len(),
                    p.signatures.len(),
                    p.causes.len(),
                    p.tests.len()
                ));
            }
            let matcher = generation.rules.matcher();
            out.push_str(&format!(
                "{} signatures are found by {} of at most {} anchors\n",
                matcher.signatures().len(),
                matcher.anchors().len(),
                firstfault_rules::matcher::MAX_ANCHORS
            ));
            if *anchors {
                for anchor in matcher.anchors() {
                    out.push_str(&format!("  {}\n", String::from_utf8_lossy(anchor).escape_debug()));
                }
            }
            for pack in generation.pack_refs() {
                for what in &pack.overrides {
                    out.push_str(&format!("pack {} takes the place of {what}\n", pack.name));
                }
            }
            for circle in conflicts::circles(&generation.rules) {
                let members = circle.join(", ");
                out.push_str(&format!(
                    "notice: each may explain the other, and no rank says which came first: {members}\n"
                ));
            }
            for disagreement in packtest::disagreements(&generation) {
                out.push_str(&format!("notice: {disagreement}\n"));
            }
            out.push_str(&format!("generation   {}\n", generation.rules.generation()));
            super::print(&out)?;
            refuse(&generation)?;
            Ok(ExitCode::SUCCESS)
        }
        RulesAction::Test(rules) => {
            let generation = Generation::load(rules)?;
            let outcome = packtest::run_all(&generation);
            let mut out = String::new();
            for failure in &outcome.failures {
                out.push_str(&format!("FAILED {failure}\n"));
            }
            out.push_str(&format!("{} passed, {} failed\n", outcome.passed, outcome.failures.len()));
            super::print(&out)?;
            refuse(&generation)?;
            Ok(if outcome.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

/// A diagnosis goes on without a plugin that cannot be used; whoever checks it wants to know.
fn refuse(generation: &Generation) -> anyhow::Result<()> {
    let refused: Vec<String> = generation
        .refused
        .iter()
        .map(|plugin| format!("plugin '{}': {}", plugin.name, plugin.detail.as_deref().unwrap_or("refused")))
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    bail!("{}", refused.join("\n"))
}
