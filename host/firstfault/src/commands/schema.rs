//! `firstfault schema diagnosis`

use std::process::ExitCode;

use firstfault_model::diagnosis::{context_schema, diagnosis_schema};

use crate::arguments::{Document, SchemaOptions};

/// Runs it.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(options: &SchemaOptions) -> anyhow::Result<ExitCode> {
    let schema = match options.document {
        Document::Diagnosis => diagnosis_schema(),
        Document::Context => context_schema(),
    };
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    super::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
