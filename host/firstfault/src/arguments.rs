//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Finds the first fault of a failed distributed training or inference job, and proves it.
#[derive(Debug, Parser)]
#[command(name = "firstfault", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Diagnose a failed job from its logs
    Diagnose(DiagnoseOptions),
    /// Say what a code means
    Explain(ExplainOptions),
    /// Check and test rule packs
    Rules(RulesOptions),
    /// Print the JSON Schema of a document
    Schema(SchemaOptions),
}

/// Which rules and plugins to use.
#[derive(Debug, Clone, Default, Args)]
pub struct RuleOptions {
    /// Folder of rule packs (*.toml) that extend the shipped ones; one with the name of a shipped pack takes its place
    #[arg(long, value_name = "FOLDER")]
    pub rules: Option<PathBuf>,
    /// Plugin to use besides the shipped ones; may be given several times
    #[arg(long = "plugin", value_name = "FILE.wasm")]
    pub plugins: Vec<PathBuf>,
    /// Most instructions, in millions, of one call of a plugin that is given with --plugin; one that needs more is left out
    #[arg(long, value_name = "MILLIONS", value_parser = clap::value_parser!(u64).range(1..))]
    pub plugin_fuel: Option<u64>,
}

/// Options of `diagnose`.
#[derive(Debug, Args)]
pub struct DiagnoseOptions {
    /// A log file, several, a folder of logs, an incident folder, a tar archive of either; - for standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Colour in text
    #[arg(long, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Make the exit status say the class of the fault: 0 none, 10 infrastructure, 11 application, 12 scheduler, 13 external, 20
    /// undetermined
    #[arg(long)]
    pub exit_code: bool,
    /// Offset from UTC of stamps that carry none, such as +01:00; comes before what the context says [default: the context's, else
    /// UTC as a guess]
    #[arg(long, value_name = "OFFSET", value_parser = offset, allow_hyphen_values = true)]
    pub zone: Option<i32>,
    /// Year of stamps that carry none [default: the one that fits the attempt or the dated lines]
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i32).range(1970..=2200))]
    pub year: Option<i32>,
    /// Of several attempts in the logs the one to diagnose, from 1 [default: what began it, whichever attempt it was in]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: Option<u32>,
    /// Threads to read with; the result does not depend on it
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Say on standard error how long each stage took
    #[arg(long)]
    pub timings: bool,
    /// Rules and plugins.
    #[command(flatten)]
    pub rules: RuleOptions,
}

fn offset(text: &str) -> Result<i32, String> {
    firstfault_model::time::parse_offset(text).ok_or_else(|| {
        "write UTC or an offset such as +01:00 or -0500 (names of zones are not read)".to_owned()
    })
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    Text,
    /// The diagnosis document.
    Json,
}

/// Colour in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options of `explain`.
#[derive(Debug, Args)]
pub struct ExplainOptions {
    /// Kind of code
    #[arg(value_enum)]
    pub kind: CodeKind,
    /// Its number
    pub number: u32,
    /// Rules and plugins.
    #[command(flatten)]
    pub rules: RuleOptions,
}

/// Kinds of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CodeKind {
    /// GPU errors (NVRM: Xid).
    Xid,
    /// NVSwitch errors (SXid).
    Sxid,
}

/// Options of `rules`.
#[derive(Debug, Args)]
pub struct RulesOptions {
    /// What to do.
    #[command(subcommand)]
    pub action: RulesAction,
}

/// What to do with rules.
#[derive(Debug, Subcommand)]
pub enum RulesAction {
    /// Read and check packs
    Check {
        /// Rules and plugins.
        #[command(flatten)]
        rules: RuleOptions,
        /// List the literals by which lines are found
        #[arg(long)]
        anchors: bool,
    },
    /// Run the tests of packs
    Test(RuleOptions),
}

/// Options of `schema`.
#[derive(Debug, Args)]
pub struct SchemaOptions {
    /// Which document
    #[arg(value_enum)]
    pub document: Document,
}

/// Documents with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Document {
    /// firstfault.diagnosis/v1
    Diagnosis,
    /// firstfault.context/v1
    Context,
}
