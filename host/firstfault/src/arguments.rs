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
    /// Run the daemon
    Serve(ServeOptions),
    /// Tell the daemon that a job has ended; returns at once and never fails the job
    Notify(NotifyOptions),
    /// Take this node's evidence for the report on standard input
    #[command(hide = true)]
    Capture(CaptureOptions),
    /// Hand over to the daemon what notify had to leave in its folder
    Drain(HandOverOptions),
    /// Run a command, and tell the daemon if it fails
    Run(RunOptions),
    /// Print a new token for the daemon, and what its configuration needs of it
    Token,
    /// Check the daemon's configuration
    #[command(subcommand)]
    Config(ConfigCommand),
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

/// Options of `serve`.
#[derive(Debug, Args)]
pub struct ServeOptions {
    /// Its configuration
    #[arg(long, value_name = "FILE", default_value = "/etc/firstfault/firstfault.toml")]
    pub config: PathBuf,
    /// How the log on standard error is written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How reports reach the daemon.
#[derive(Debug, Args)]
pub struct HandOverOptions {
    /// The daemon's unix socket
    #[arg(
        global = true,
        long,
        value_name = "PATH",
        default_value = "/run/firstfault/firstfault.sock",
        env = "FIRSTFAULT_SOCKET"
    )]
    pub socket: PathBuf,
    /// Folder for what cannot be handed over
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        default_value = "/var/spool/firstfault",
        env = "FIRSTFAULT_SPOOL"
    )]
    pub spool: PathBuf,
}

/// Options of `notify`.
#[derive(Debug, Args)]
pub struct NotifyOptions {
    /// Who calls.
    #[command(subcommand)]
    pub hook: Hook,
    /// How reports reach the daemon.
    #[command(flatten)]
    pub to: HandOverOptions,
    /// Milliseconds that handing over may take before the report is left in the folder
    #[arg(long, value_name = "MS", default_value_t = 50, global = true)]
    pub within: u64,
    /// End with status 1 if the report could be neither handed over nor left in the folder
    #[arg(long, global = true)]
    pub strict: bool,
}

/// Options of `capture`, which `notify slurm --capture` starts.
#[derive(Debug, Args)]
pub struct CaptureOptions {
    /// How reports reach the daemon.
    #[command(flatten)]
    pub to: HandOverOptions,
    /// Logs to take besides, as SOURCE=PATH
    #[arg(long, value_name = "SOURCE=PATH")]
    pub log: Vec<String>,
}

/// Who calls `notify`.
#[derive(Debug, Subcommand)]
pub enum Hook {
    /// A hook of Slurm: EpilogSlurmctld, Epilog, or the script at completion
    Slurm {
        /// Also report jobs that ended well
        #[arg(long)]
        all: bool,
        /// Also take what kernel, fabric manager and slurmd of this node wrote, and push it
        #[arg(long)]
        capture: bool,
        /// With --capture, another log to take, as SOURCE=PATH; may be given several times
        #[arg(long, value_name = "SOURCE=PATH", requires = "capture")]
        log: Vec<String>,
    },
    /// A container of a Kubernetes Job
    Kubernetes,
    /// Anything else
    Generic(Box<GenericReport>),
}

/// What `notify generic` is told.
#[derive(Debug, Args)]
pub struct GenericReport {
    /// The scheduler's id of the workload
    #[arg(long)]
    pub id: String,
    /// Name of the scheduler
    #[arg(long)]
    pub scheduler: Option<String>,
    /// Name of the cluster
    #[arg(long)]
    pub cluster: Option<String>,
    /// Number of the attempt, from 1
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub attempt: Option<u32>,
    /// Name of the workload
    #[arg(long)]
    pub name: Option<String>,
    /// Who ran it
    #[arg(long)]
    pub user: Option<String>,
    /// Start of the attempt, such as 2026-11-02T20:14:07Z
    #[arg(long)]
    pub start: Option<String>,
    /// End of the attempt
    #[arg(long)]
    pub end: Option<String>,
    /// Exit code
    #[arg(long, allow_hyphen_values = true)]
    pub exit_code: Option<i32>,
    /// Its nodes, such as gpu-[001-016]
    #[arg(long)]
    pub nodes: Option<String>,
    /// A folder or file of its logs, below a root that the daemon grants; may be given several times
    #[arg(long, value_name = "PATH")]
    pub logs: Vec<PathBuf>,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Id of the workload [default: made of the host, the process and the time]
    #[arg(long)]
    pub id: Option<String>,
    /// A folder or file of its logs, below a root that the daemon grants; may be given several times
    #[arg(long, value_name = "PATH")]
    pub logs: Vec<PathBuf>,
    /// How reports reach the daemon.
    #[command(flatten)]
    pub to: HandOverOptions,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// Forms of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object in each line.
    Json,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Read and check it
    Check(ConfigOptions),
}

/// Options of `config check`.
#[derive(Debug, Args)]
pub struct ConfigOptions {
    /// The file
    #[arg(value_name = "FILE", default_value = "/etc/firstfault/firstfault.toml")]
    pub config: PathBuf,
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
