//! One attempt, from paths to a diagnosis.
//!
//! ```text
//! paths ─ gather (connector, collectors) ─> inputs ─ reader ─> hits ─ attribute (rule modules, engine) ─> finding ─ envelope ─> diagnosis
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
    timing: &mut Timing,
) -> anyhow::Result<Diagnosis> {
    let gathered = gather::gather(generation, paths)?;
    timing.mark("collect");
    let reading = firstfault_reader::read(
        gathered.inputs,
        generation.rules.matcher(),
        &gathered.context,
        &ReaderLimits::default(),
    );
    // All is read: the temporary folder can go.
    drop(gathered.prepared);
    timing.mark("read");
    let case = firstfault_engine::Case {
        context: gathered.context,
        streams: reading.streams,
        hits: reading.hits,
        marks: reading.marks,
        limits: reading.limits,
        not_read: gathered.not_read,
        plugins: gathered.plugins,
        collector: gathered.collector,
        ..firstfault_engine::Case::default()
    };
    let attributed = attribute::attribute(generation, case);
    timing.mark("attribute");
    let diagnosis = envelope::envelope(generation, attributed)?;
    timing.mark("conclude");
    Ok(diagnosis)
}
