//! The incident: one broken NVLink among thousands of GPUs, in as many bytes as asked for.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::random::Random;
use super::{app, kernel};

/// Changes whenever what is generated changes: what was kept is then left aside.
const VERSION: u32 = 1;

/// The size and shape of an incident; the same plan always gives the same bytes.
#[derive(Debug)]
pub(crate) struct Plan {
    nodes: u32,
    bytes: u64,
}

impl Plan {
    /// Ranks and GPUs on a node.
    pub(crate) const PER_NODE: usize = 8;
    /// The bus number of each GPU.
    pub(crate) const BUS_IDS: [&str; 8] = ["1a", "3b", "4c", "5d", "9b", "bb", "cb", "db"];
    /// The GPU that fails.
    pub(crate) const FAULTY_GPU: usize = 3;
    /// When it fails, in milliseconds from the start of the job.
    pub(crate) const FAULT: u64 = 8_998_100;
    /// When the job ends.
    const END: u64 = Plan::FAULT + 614_000;
    /// The first step ends here.
    const FIRST_STEP: u64 = 90_000;

    /// A job of at least this many ranks, with logs of about this size together.
    pub(crate) fn new(ranks: u32, bytes: u64) -> Plan {
        Plan { nodes: ranks.div_ceil(8), bytes }
    }

    /// All ranks.
    pub(crate) fn ranks(&self) -> u32 {
        self.nodes * 8
    }

    /// The node whose GPU fails: somewhere in the middle.
    pub(crate) fn faulty_node(&self) -> u32 {
        self.nodes * 2 / 3
    }

    /// As the scheduler names it.
    pub(crate) fn node_name(&self, node: u32) -> String {
        format!("gpu-{:04}", node + 1)
    }

    /// The global rank of a local one.
    pub(crate) fn rank(&self, node: u32, local: usize) -> u32 {
        node * 8 + u32::try_from(local).unwrap_or(0)
    }

    /// The process id of a local rank.
    pub(crate) fn pid(local: usize) -> u32 {
        4000 + u32::try_from(local).unwrap_or(0)
    }

    fn kernel_bytes(&self) -> u64 {
        self.bytes / u64::from(self.nodes) / 16
    }

    /// How many steps make the logs as long as asked for.
    fn steps(&self) -> u64 {
        const SAMPLE: u64 = 50;
        let mut sample = String::new();
        let mut random = Random::new(0);
        for step in 1..=SAMPLE {
            app::step(&mut sample, self, 0, &mut random, step, Plan::FIRST_STEP);
        }
        let fixed = app::start(self, 0).len() + app::end(self, 0).len();
        let target = self.bytes / u64::from(self.nodes);
        let left = target.saturating_sub(u64::try_from(fixed).unwrap_or(u64::MAX) + self.kernel_bytes());
        (left * SAMPLE / u64::try_from(sample.len()).unwrap_or(u64::MAX)).max(1)
    }
}

/// A time in milliseconds from the start of the job: 2 November 2026, 20:00 UTC; it must be on the same day.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(pub(crate) u64);

impl Clock {
    /// `22:29:58`
    pub(crate) fn time(self) -> String {
        let seconds = self.0 / 1000;
        format!("{:02}:{:02}:{:02}", 20 + seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// `2026-11-02 22:29:58`
    pub(crate) fn seconds(self) -> String {
        format!("2026-11-02 {}", self.time())
    }

    /// `2026-11-02T22:29:58.100000`
    pub(crate) fn micros(self) -> String {
        format!("2026-11-02T{}.{:03}000", self.time(), self.0 % 1000)
    }
}

/// An incident folder on the disk.
#[derive(Debug)]
pub(crate) struct Incident {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Number of its nodes.
    pub(crate) nodes: u32,
    /// Number of its files.
    pub(crate) files: u64,
    /// Their bytes together.
    pub(crate) bytes: u64,
}

/// The incident of this plan, generated unless it is there already.
pub(crate) fn incident(folder: &Path, plan: &Plan) -> anyhow::Result<Incident> {
    let path =
        folder.join(format!("incident-v{VERSION}-{}-ranks-{}-mb", plan.ranks(), plan.bytes / 1_000_000));
    if !path.is_dir() {
        eprintln!("xtask: generate {}", path.display());
        let partial = path.with_extension("partial");
        if partial.exists() {
            fs::remove_dir_all(&partial)
                .with_context(|| format!("cannot remove the unfinished {}", partial.display()))?;
        }
        let written = write(&partial, plan).and_then(|()| fs::rename(&partial, &path));
        written.with_context(|| format!("cannot write the incident {}", path.display()))?;
    }
    let mut incident = Incident { nodes: plan.nodes, files: 0, bytes: 0, path };
    let mut folders = vec![incident.path.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                incident.files += 1;
                incident.bytes += metadata.len();
            }
        }
    }
    Ok(incident)
}

/// A log of 200 lines: the last ones of one node.
pub(crate) fn small_log(folder: &Path, plan: &Plan) -> anyhow::Result<PathBuf> {
    let mut log = String::new();
    steps(&mut log, plan, 0, 100);
    log.push_str(&app::end(plan, 0));
    let lines: Vec<&str> = log.lines().collect();
    let last = lines.len().saturating_sub(200);
    let path = folder.join("small.log");
    fs::write(&path, lines[last..].join("\n") + "\n")
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn write(folder: &Path, plan: &Plan) -> std::io::Result<()> {
    let number = plan.steps();
    for node in 0..plan.nodes {
        let logs = folder.join("logs").join(plan.node_name(node));
        fs::create_dir_all(&logs)?;
        let mut log = app::start(plan, node);
        steps(&mut log, plan, node, number);
        log.push_str(&app::end(plan, node));
        fs::write(logs.join("app.log"), log)?;
        fs::write(logs.join("kernel.log"), kernel::log(plan, node, plan.kernel_bytes()))?;
    }
    fs::write(folder.join("context.json"), context(plan))
}

/// Steps that fill the time from the start of the training to the fault.
fn steps(log: &mut String, plan: &Plan, node: u32, number: u64) {
    let mut random = Random::new(u64::from(node) << 8 | 4);
    for step in 1..=number {
        let at = Plan::FIRST_STEP + (Plan::FAULT - Plan::FIRST_STEP) * step / (number + 1);
        app::step(log, plan, node, &mut random, step, at);
    }
}

fn context(plan: &Plan) -> String {
    let mut nodes = Vec::new();
    for node in 0..plan.nodes {
        let mut gpus = Vec::new();
        let mut ranks = Vec::new();
        for (local, bus) in Plan::BUS_IDS.iter().enumerate() {
            let rank = plan.rank(node, local);
            ranks.push(rank.to_string());
            gpus.push(format!(r#"{{"index":{local},"pci_bus_id":"0000:{bus}:00","ranks":[{rank}]}}"#));
        }
        let (name, ranks, gpus) = (plan.node_name(node), ranks.join(","), gpus.join(","));
        nodes.push(format!(
            r#"{{"name":"{name}","ranks":[{ranks}],"switch":"leaf-{:02}","gpus":[{gpus}]}}"#,
            node / 32
        ));
    }
    let mut context = String::from(r#"{"scheduler":"slurm","cluster":"bench","id":"90211","attempt":1,"#);
    let end = Clock(Plan::END).micros();
    context.push_str(&format!(
        "\"name\":\"llm-400b\",\"user\":\"u1\",\"start\":\"2026-11-02T20:00:00Z\",\"end\":\"{end}Z\",\
         \"zones\":{{\"default\":\"UTC\"}},\"terminal\":{{\"state\":\"failed\",\"raw\":\"FAILED\",\"exit_code\":134}},\
         \"nodes\":[\n{}\n]}}\n",
        nodes.join(",\n")
    ));
    context
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_the_size_that_was_asked_for() {
        let plan = Plan::new(10_000, 1_000_000_000);
        let number = plan.steps();
        let mut log = app::start(&plan, 7);
        steps(&mut log, &plan, 7, number);
        log.push_str(&app::end(&plan, 7));
        let bytes = log.len() + kernel::log(&plan, 7, plan.kernel_bytes()).len();
        assert!((760_000..840_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn every_rank_but_the_faulty_one_times_out() {
        let plan = Plan::new(64, 1_000_000);
        let ends: String = (0..8).map(|node| app::end(&plan, node)).collect();
        assert_eq!(ends.matches("Watchdog caught").count(), 63);
        let faulty = plan.rank(plan.faulty_node(), Plan::FAULTY_GPU);
        assert!(!ends.contains(&format!("[rank{faulty}]:")));
    }

    #[test]
    fn one_kernel_log_holds_the_fault() {
        let plan = Plan::new(64, 1_000_000);
        let faulty: Vec<u32> =
            (0..8).filter(|node| kernel::log(&plan, *node, 10_000).contains("): 149, ")).collect();
        assert_eq!(faulty, [plan.faulty_node()]);
    }

    #[test]
    fn writes_times_as_the_formats_want_them() {
        assert_eq!(Clock(Plan::FAULT).micros(), "2026-11-02T22:29:58.100000");
        assert_eq!(Clock(Plan::FAULT).seconds(), "2026-11-02 22:29:58");
    }
}
