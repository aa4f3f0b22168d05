//! What a person types.

pub mod diagnose;
pub mod explain;
pub mod hand_over;
pub mod rules;
pub mod run;
pub mod schema;
pub mod serve;

use std::io::{self, IsTerminal as _, Write as _};

use firstfault_render::TextOptions;

use crate::arguments::Color;

/// How text is laid out on standard output.
fn text_options(color: Color) -> TextOptions {
    let color = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        }
    };
    TextOptions { color, ..TextOptions::default() }
}

/// Writes to standard output. A reader that has seen enough is no error.
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
