//! Compiles plugins ahead of time: `precompile IN.wasm OUT.cwasm [IN.wasm OUT.cwasm ...]`.
//!
//! The output is embedded into the program and holds for exactly this engine and exactly these components.

use std::path::Path;
use std::process::ExitCode;

use firstfault_runtime::{Runtime, RuntimeOptions};

fn main() -> ExitCode {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    if paths.is_empty() || paths.len() % 2 != 0 {
        eprintln!("precompile: give pairs of files: precompile IN.wasm OUT.cwasm [IN.wasm OUT.cwasm ...]");
        return ExitCode::from(2);
    }
    match run(&paths) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("precompile: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(paths: &[std::ffi::OsString]) -> Result<(), String> {
    let runtime = Runtime::new(RuntimeOptions::default()).map_err(|e| e.to_string())?;
    for pair in paths.chunks_exact(2) {
        let [input, output] = pair else { continue };
        let (input, output) = (Path::new(input), Path::new(output));
        let wasm = std::fs::read(input).map_err(|e| format!("cannot read {}: {e}", input.display()))?;
        let code = runtime.precompile(&input.display().to_string(), &wasm).map_err(|e| e.to_string())?;
        write(output, &code).map_err(|e| format!("cannot write {}: {e}", output.display()))?;
    }
    Ok(())
}

/// Whole or not at all, so that a build that is interrupted leaves no half of a file.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::NamedTempFile::new_in(folder)?;
    std::fs::write(file.path(), bytes)?;
    file.persist(path)?;
    Ok(())
}
