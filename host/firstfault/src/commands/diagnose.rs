//! `firstfault diagnose PATH...`

use std::process::ExitCode;

use anyhow::Context as _;
use firstfault_model::diagnosis::FaultClass;

use crate::arguments::{DiagnoseOptions, Format};
use firstfault_reader::ReaderLimits;

use crate::generation::Generation;
use crate::pipeline::{self, Asked, timing::Timing};

/// Runs it.
///
/// # Errors
/// Why no diagnosis could be made.
pub fn run(options: &DiagnoseOptions) -> anyhow::Result<ExitCode> {
    let mut timing = Timing::default();
    if let Some(threads) = options.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.clamp(1, 1024))
            .build_global()
            .context("cannot start threads")?;
    }
    let asked = Asked {
        limits: ReaderLimits { zone: options.zone, year: options.year, ..ReaderLimits::default() },
        attempt: options.attempt,
        context: None,
    };
    let generation = Generation::load(&options.rules)?;
    timing.mark("load");
    let diagnosis = pipeline::diagnose(&generation, &options.paths, &asked, &mut timing)?;
    let text = match options.format {
        Format::Json => {
            let mut json = serde_json::to_string_pretty(&diagnosis)?;
            json.push('\n');
            json
        }
        Format::Text => {
            let mut layout = super::text_options(options.color);
            layout.arguments = Some(again(options));
            firstfault_render::text(&diagnosis, &layout)
        }
    };
    super::print(&text).context("cannot write to standard output")?;
    if options.timings {
        timing.mark("print");
        eprintln!("timings: {}", timing.report());
    }
    Ok(if options.exit_code { exit_code(diagnosis.finding.decision.fault_class) } else { ExitCode::SUCCESS })
}

/// What gives the same diagnosis again, as a shell takes it.
fn again(options: &DiagnoseOptions) -> String {
    let mut words: Vec<String> = options.paths.iter().map(|p| quoted(&p.display().to_string())).collect();
    if let Some(zone) = options.zone {
        let minutes = zone.abs() / 60;
        let sign = if zone < 0 { '-' } else { '+' };
        words.push(format!("--zone {sign}{:02}:{:02}", minutes / 60, minutes % 60));
    }
    words.extend(options.year.map(|year| format!("--year {year}")));
    words.extend(options.attempt.map(|attempt| format!("--attempt {attempt}")));
    words.extend(options.rules.rules.iter().map(|p| format!("--rules {}", quoted(&p.display().to_string()))));
    words.extend(
        options.rules.plugins.iter().map(|p| format!("--plugin {}", quoted(&p.display().to_string()))),
    );
    words.join(" ")
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn exit_code(class: FaultClass) -> ExitCode {
    ExitCode::from(match class {
        FaultClass::None => 0,
        FaultClass::Infrastructure => 10,
        FaultClass::Application => 11,
        FaultClass::Scheduler => 12,
        FaultClass::External => 13,
        FaultClass::Undetermined => 20,
    })
}
