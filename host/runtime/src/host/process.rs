//! `process`: programs that the operator granted. Nothing can be granted yet: every program is refused by name.

use crate::attributes::shown;
use crate::bindings::process::{Host as ProcessHost, Output};
use crate::bindings::types::Error;
use crate::host::{Host, error};

impl ProcessHost for Host {
    fn programs(&mut self) -> wasmtime::Result<Vec<String>> {
        self.meter.tick()?;
        Ok(Vec::new())
    }

    fn run(&mut self, program: String, arguments: Vec<String>) -> wasmtime::Result<Result<Output, Error>> {
        self.meter.tick_for(program.len() + arguments.iter().map(|a| a.len() + 16).sum::<usize>())?;
        Ok(Err(error(
            "not-granted",
            format!(
                "the program '{}' is not granted to this plugin: this version grants none",
                shown(&program)
            ),
        )))
    }
}
