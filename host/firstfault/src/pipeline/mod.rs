//! One attempt, from paths to a diagnosis.
//!
//! ```text
//! paths ─ gather (connector, collectors) ─> inputs ─ reader ─> hits ─ attribute (rule modules, engine) ─> verdict
//! verdict ─ reader again, where it matters ─> lines that no rule knows ─ engine ─> finding ─ envelope ─> diagnosis
//! ```

pub mod attribute;
pub mod envelope;
pub mod gather;
pub mod timing;
pub mod view;

use std::path::PathBuf;

use firstfault_model::context::ContextDocument;
use firstfault_model::diagnosis::Diagnosis;
use firstfault_reader::ReaderLimits;

use crate::generation::Generation;
use crate::inputs::{self, Prepared};
use timing::Timing;

/// What is asked besides the paths.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// What reading may cost, and what stamps mean that carry no year or zone.
    pub limits: ReaderLimits,
    /// Of several attempts in the logs the one that is meant.
    pub attempt: Option<u32>,
    /// What is known of the attempt besides what is given to read.
    pub context: Option<ContextDocument>,
}

/// Diagnoses what lies under paths.
///
/// # Errors
/// A path that cannot be read, or a context that is malformed.
pub fn diagnose(
    generation: &Generation,
    paths: &[PathBuf],
    asked: &Asked,
    timing: &mut Timing,
) -> anyhow::Result<Diagnosis> {
    diagnose_prepared(generation, inputs::prepare(paths)?, asked, timing)
}

/// Diagnoses what was prepared.
///
/// # Errors
/// What cannot be read, or a context that is malformed.
pub fn diagnose_prepared(
    generation: &Generation,
    prepared: Prepared,
    asked: &Asked,
    timing: &mut Timing,
) -> anyhow::Result<Diagnosis> {
    let limits = &asked.limits;
    let gathered = gather::gather(generation, prepared, asked.context.as_ref())?;
    timing.mark("collect");
    let matcher = generation.rules.matcher();
    let mut reading = firstfault_reader::read(gathered.inputs, matcher, &gathered.context, limits);
    timing.mark("read");
    let case = firstfault_engine::Case {
        attempt: asked.attempt,
        context: gathered.context,
        streams: std::mem::take(&mut reading.streams),
        hits: std::mem::take(&mut reading.hits),
        marks: std::mem::take(&mut reading.marks),
        limits: std::mem::take(&mut reading.limits).into_iter().chain(gathered.limits).collect(),
        not_read: gathered.not_read,
        plugins: gathered.plugins,
        collector: gathered.collector,
        ..firstfault_engine::Case::default()
    };
    let attribute::Attributed { mut case, mut graph } = attribute::attribute(generation, case);
    timing.mark("attribute");
    if let Some(attempt) = asked.attempt {
        let (found, stated) = (graph.attempts.count(), case.context.document.attempt);
        anyhow::ensure!(
            attempt <= found && stated.is_none_or(|stated| stated == attempt),
            "there is no attempt {attempt} in what was given: {}",
            match stated {
                Some(stated) => format!("its context says that it is attempt {stated}"),
                None if found == 1 => "nothing in it parts attempts".to_owned(),
                None => format!("it holds {found}"),
            }
        );
    }
    let judged = firstfault_engine::judge(&mut graph, &case, &generation.rules);
    let focus = firstfault_engine::focus(&judged, &graph, &case);
    case.unknown = firstfault_reader::unknown_lines(
        firstfault_reader::Before { inputs: &reading.inputs, dating: &reading.dating, hits: &case.hits },
        &focus,
        matcher,
        &case.context,
        limits,
    );
    // All is read: the temporary folder can go.
    drop((reading, gathered.prepared));
    timing.mark("judge");
    let diagnosis = envelope::envelope(generation, judged, graph, case)?;
    timing.mark("conclude");
    Ok(diagnosis)
}
