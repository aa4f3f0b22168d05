//! `firstfault diagnose PATH...`

use std::process::ExitCode;

use anyhow::Context as _;
use firstfault_model::diagnosis::FaultClass;

use crate::arguments::{DiagnoseOptions, Format};
use crate::generation::Generation;
use crate::pipeline::{self, timing::Timing};

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
    let generation = Generation::load(&options.rules)?;
    timing.mark("load");
    let diagnosis = pipeline::diagnose(&generation, &options.paths, &mut timing)?;
    let text = match options.format {
        Format::Json => {
            let mut json = serde_json::to_string_pretty(&diagnosis)?;
            json.push('\n');
            json
        }
        Format::Text => {
            let mut layout = super::text_options(options.color);
            if let [path] = options.paths.as_slice() {
                layout.case = Some(path.display().to_string());
            }
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
