//! `firstfault explain xid 149`

use std::process::ExitCode;

use anyhow::bail;
use firstfault_render::CodeExplanation;
use firstfault_rules::pack::Where;
use firstfault_rules::ruleset::{RuleSet, has_cause, has_effect};

use crate::arguments::{CodeKind, Color, ExplainOptions};
use crate::generation::Generation;

/// Runs it.
///
/// # Errors
/// The code is not known, or the rules cannot be loaded.
pub fn run(options: &ExplainOptions) -> anyhow::Result<ExitCode> {
    let generation = Generation::load(&options.rules)?;
    let kind = match options.kind {
        CodeKind::Xid => "xid",
        CodeKind::Sxid => "sxid",
    };
    let Some(code) = explain(&generation.rules, kind, options.number) else {
        bail!(
            "{kind} {} is in no pack; `firstfault explain {kind} N` knows the numbers of the vendor's catalogue",
            options.number
        );
    };
    super::print(&firstfault_render::explanation(&code, &super::text_options(Color::Auto)))?;
    Ok(ExitCode::SUCCESS)
}

fn explain(rules: &RuleSet, kind: &str, number: u32) -> Option<CodeExplanation> {
    let id = format!("{kind}.{number}");
    let row = rules.lookup(kind, &number.to_string());
    // A wildcard's words fit any number; without a row of its own nothing is known of this one.
    let own = rules.symptoms().contains_key(&id);
    if !own && row.is_none() {
        return None;
    }
    let symptom = &rules.symptom(&id)?.symptom;
    let column = |name: &str| row.and_then(|r| r.get(name)).filter(|v| !v.is_empty()).cloned();
    let mut explained_by: Vec<String> = rules
        .causes()
        .iter()
        .filter(|c| has_effect(&c.cause, &id))
        .flat_map(|c| c.cause.by.clone())
        .collect();
    // What any fault can lead to, anywhere in the job, says nothing about this one.
    let near = |place: Where| place != Where::AnyRankOfJob;
    let mut explains: Vec<String> = rules
        .causes()
        .iter()
        .filter(|c| has_cause(&c.cause, &id) && near(c.cause.place))
        .flat_map(|c| c.cause.effect.as_slice().to_vec())
        .collect();
    let afar = rules.causes().iter().any(|c| has_cause(&c.cause, &id) && !near(c.cause.place));
    for list in [&mut explained_by, &mut explains] {
        list.sort();
        list.dedup();
    }
    if afar {
        explains.push("errors of communication and of launchers on any rank of the job".to_owned());
    }
    let meaning = match (column("meaning"), own) {
        (Some(meaning), false) => meaning,
        (_, true) => symptom.explain.clone(),
        (None, false) => String::new(),
    };
    Some(CodeExplanation {
        kind: kind.to_owned(),
        number,
        mnemonic: column("mnemonic"),
        title: if own { symptom.title.clone() } else { String::new() },
        meaning,
        role: symptom.role.name().to_owned(),
        domain: symptom.domain,
        sub_domain: symptom.sub_domain.clone(),
        action: symptom.action.clone(),
        explained_by,
        explains,
        gpus: column("gpus").map_or_else(Vec::new, |g| {
            g.split([',', ' ']).filter(|p| !p.is_empty()).map(str::to_owned).collect()
        }),
    })
}
