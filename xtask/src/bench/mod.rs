//! The benchmark: a large incident, and how long firstfault, ripgrep and `wc` take over it.
//!
//! Everything is measured in one run on one machine, since only the ratios mean anything elsewhere. The incident is
//! generated, the same bytes everywhere, and kept in `target/bench`.

mod app;
mod generate;
mod kernel;
mod literals;
mod measure;
mod random;
mod report;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::build;
use crate::run::{self, Runner};
use crate::workspace::Workspace;
use generate::Plan;
use measure::Sample;
use report::Row;

/// What to measure on.
#[derive(clap::Args, Debug)]
pub(crate) struct Options {
    /// Size of the incident in megabytes
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    size_mb: u64,
    /// Ranks of the job, eight on a node
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(16..=1_000_000))]
    ranks: u32,
    /// Timed runs of each program
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// Runs of the small log for each run of the large incident: they are short, and so vary more.
const SMALL_RUNS: u32 = 4;

/// Builds, generates the incident if it is not there, measures and prints one table.
pub(crate) fn run(workspace: &Workspace, runner: &mut Runner, options: &Options) -> anyhow::Result<()> {
    build::all(workspace, runner)?;
    let folder = workspace.target().join("bench");
    let ripgrep = ripgrep(runner, &folder)?;
    let plan = Plan::new(options.ranks, options.size_mb * 1_000_000);
    let incident = generate::incident(&folder, &plan)?;
    let small = generate::small_log(&folder, &plan)?;
    let patterns = folder.join("literals.txt");
    fs::write(&patterns, literals::LITERALS.join("\n") + "\n")
        .with_context(|| format!("cannot write {}", patterns.display()))?;

    let firstfault = workspace.program("firstfault");
    check_answer(&firstfault, &incident.path, &plan)?;
    let contenders = contenders(&firstfault, &ripgrep, &patterns, &incident.path);
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); contenders.len()];
    let mut first_output = Vec::new();
    // In turn rather than one after the other, so that a slow minute of the machine does not fall on one of them.
    // The first round brings the files into memory and is not counted.
    for round in 0..=options.runs {
        eprintln!(
            "xtask: round {round} of {}{}",
            options.runs,
            if round == 0 { " (not counted)" } else { "" }
        );
        for (contender, samples) in contenders.iter().zip(&mut samples) {
            let sample = measure::whole(&mut contender.command())?;
            if round > 0 {
                samples.push(sample);
            }
        }
        for _ in 0..SMALL_RUNS {
            let sample = measure::first_output(Command::new(&firstfault).arg("diagnose").arg(&small))?;
            if round > 0 {
                first_output.push(sample);
            }
        }
    }
    let rows: Vec<Row> =
        contenders.iter().zip(&samples).map(|(it, samples)| Row::new(it.label, samples)).collect();
    print!("{}", report::report(&incident, options.ranks, &rows, &Row::new("", &first_output)));
    Ok(())
}

/// A program with its arguments, and what it is called in the table.
struct Contender {
    label: &'static str,
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Contender {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

fn contenders(firstfault: &Path, ripgrep: &Path, patterns: &Path, incident: &Path) -> Vec<Contender> {
    let contender = |label, program: &Path, before: &[&str], patterns: Option<&Path>, after: &[&str]| {
        let mut arguments: Vec<OsString> = before.iter().map(OsString::from).collect();
        arguments.extend(patterns.map(OsString::from));
        arguments.push(incident.into());
        arguments.extend(after.iter().map(OsString::from));
        Contender { label, program: program.to_owned(), arguments }
    };
    // The incident lies in `target`, which git is told to ignore and ripgrep then may, too.
    let count = ["--no-config", "--no-ignore", "-c", "-F", "-f"];
    let print = ["--no-config", "--no-ignore", "-F", "-f"];
    let lines = ["-type", "f", "-exec", "wc", "-l", "{}", "+"];
    vec![
        contender("firstfault diagnose", firstfault, &["diagnose", "--format", "json"], None, &[]),
        contender("rg -c -F, 32 literals", ripgrep, &count, Some(patterns), &[]),
        contender("rg -F, 32 literals", ripgrep, &print, Some(patterns), &[]),
        contender("wc -l", Path::new("find"), &[], None, &lines),
    ]
}

/// A fast wrong answer is worth nothing.
fn check_answer(firstfault: &Path, incident: &Path, plan: &Plan) -> anyhow::Result<()> {
    let mut command = Command::new(firstfault);
    command.args(["diagnose", "--format", "json"]).arg(incident);
    let answer = run::output(&mut command)?;
    let answer = String::from_utf8_lossy(&answer.stdout);
    // The summary leads the document, and both belong to the one root cause.
    let (node, fault) = (plan.node_name(plan.faulty_node()), "xid.149");
    let roots = answer.split_once("\"root_causes\"").map_or("", |it| it.1);
    let roots = roots.split_once("\"symptoms\"").map_or(roots, |it| it.0);
    if !roots.contains(&node) || !roots.contains(fault) {
        bail!("the diagnosis of {} does not name {fault} on {node}", incident.display());
    }
    Ok(())
}

/// ripgrep: the installed one, else one that is built into `target/bench`.
fn ripgrep(runner: &mut Runner, folder: &Path) -> anyhow::Result<PathBuf> {
    let tools = folder.join("tools");
    let own = tools.join("bin").join(format!("rg{}", std::env::consts::EXE_SUFFIX));
    for candidate in [PathBuf::from("rg"), own.clone()] {
        if run::works(Command::new(&candidate).arg("--version")) {
            return Ok(candidate);
        }
    }
    let mut install = runner.cargo_command();
    install.args(["install", "--quiet", "--locked", "ripgrep", "--root"]).arg(&tools);
    install.arg("--target-dir").arg(tools.join("build"));
    runner
        .step("build ripgrep", &mut install)
        .context("the benchmark compares with ripgrep, which is not installed")?;
    Ok(own)
}
