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

use firstfault_model::diagnosis::Diagnosis;
use firstfault_reader::ReaderLimits;

use crate::generation::Generation;
use timing::Timing;

/// Diagnoses what lies under paths.
///
/// # Errors
/// A path that cannot be read, or a context that is malformed.
pub fn diagnose(
    generation: &Generation,
    paths: &[PathBuf],
    limits: &ReaderLimits,
    timing: &mut Timing,
) -> anyhow::Result<Diagnosis> {
    let gathered = gather::gather(generation, paths)?;
    timing.mark("collect");
    let matcher = generation.rules.matcher();
    let mut reading = firstfault_reader::read(gathered.inputs, matcher, &gathered.context, limits);
    timing.mark("read");
    let case = firstfault_engine::Case {
        context: gathered.context,
        streams: std::mem::take(&mut reading.streams),
        hits: std::mem::take(&mut reading.hits),
        marks: std::mem::take(&mut reading.marks),
        limits: std::mem::take(&mut reading.limits),
        not_read: gathered.not_read,
        plugins: gathered.plugins,
        collector: gathered.collector,
        ..firstfault_engine::Case::default()
    };
    let attribute::Attributed { mut case, mut graph } = attribute::attribute(generation, case);
    timing.mark("attribute");
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
