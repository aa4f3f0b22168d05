//! The table, in 80 columns.

use std::fs;
use std::time::Duration;

use super::generate::Incident;
use super::measure::Sample;

/// All runs of one program.
#[derive(Debug)]
pub(crate) struct Row {
    label: &'static str,
    min: Duration,
    median: Duration,
    max: Duration,
    cpu: Duration,
    peak: u64,
}

impl Row {
    /// The figures of these runs.
    pub(crate) fn new(label: &'static str, samples: &[Sample]) -> Row {
        let mut walls: Vec<Duration> = samples.iter().map(|it| it.wall).collect();
        let mut cpus: Vec<Duration> = samples.iter().map(|it| it.cpu).collect();
        walls.sort();
        cpus.sort();
        Row {
            label,
            min: walls.first().copied().unwrap_or_default(),
            median: middle(&walls),
            max: walls.last().copied().unwrap_or_default(),
            cpu: middle(&cpus),
            peak: samples.iter().map(|it| it.peak).max().unwrap_or_default(),
        }
    }
}

fn middle(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The whole report. The first row is what the others are compared with.
pub(crate) fn report(incident: &Incident, ranks: u32, rows: &[Row], small: &Row) -> String {
    let mut text = format!(
        "\n{} ranks on {} nodes, {} files, {} MB; files in the page cache\n{}\n\n",
        grouped(u64::from(ranks)),
        grouped(u64::from(incident.nodes)),
        grouped(incident.files),
        grouped(incident.bytes / 1_000_000),
        machine()
    );
    let base = rows.first().map(|it| it.median).unwrap_or_default();
    let mut line = |cells: [&str; 8]| {
        let [label, min, median, max, cpu, rate, peak, ratio] = cells;
        text.push_str(&format!(
            "{label:<22} {min:>7} {median:>7} {max:>7} {cpu:>7} {rate:>7} {peak:>7} {ratio:>7}\n"
        ));
    };
    line(["", "min", "median", "max", "cpu", "rate", "peak", "time"]);
    line(["", "ms", "ms", "ms", "ms", "MB/s", "MB", "ratio"]);
    for row in rows {
        let rate = u128::from(incident.bytes) / row.median.as_micros().max(1);
        let percent = row.median.as_micros() * 100 / base.as_micros().max(1);
        line([
            row.label,
            &millis(row.min),
            &millis(row.median),
            &millis(row.max),
            &millis(row.cpu),
            &rate.to_string(),
            &megabytes(row.peak),
            &format!("{}.{:02}", percent / 100, percent % 100),
        ]);
    }
    text.push_str(&format!(
        "\nfirst output on 200 lines: min {}, median {}, max {} ms; peak {} MB\n\
         peak: largest resident set of any run, at least the {} MB of this tool\n\
         cpu: median of user and system time; ratio: to the median of the first row\n\
         rg: --no-config --no-ignore, as many threads as it chooses; output thrown away\n",
        tenths(small.min),
        tenths(small.median),
        tenths(small.max),
        megabytes(small.peak),
        megabytes(own_peak())
    ));
    text
}

/// A program inherits the mark that the process which starts it has reached.
fn own_peak() -> u64 {
    field("/proc/self/status", "VmHWM").map_or(0, |it| kibibytes(&it) * 1024)
}

/// The value of a line such as `MemTotal:  24682524 kB`.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn kibibytes(value: &str) -> u64 {
    value.trim_end_matches(" kB").parse().unwrap_or(0)
}

/// What it was measured on, as far as the system tells.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let mut parts = vec![format!("{cores} cores")];
    parts.extend(field("/proc/cpuinfo", "model name"));
    if let Some(memory) = field("/proc/meminfo", "MemTotal") {
        parts.push(format!("{} GB", kibibytes(&memory) * 1024 / 1_000_000_000));
    }
    if let Ok(release) = fs::read_to_string("/proc/sys/kernel/osrelease") {
        parts.push(format!("Linux {}", release.trim()));
    }
    parts.join(", ")
}

fn millis(time: Duration) -> String {
    ((time.as_micros() + 500) / 1000).to_string()
}

fn tenths(time: Duration) -> String {
    let tenths = (time.as_micros() + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn megabytes(bytes: u64) -> String {
    (bytes / 1_000_000).to_string()
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(wall: u64) -> Sample {
        Sample { wall: Duration::from_millis(wall), cpu: Duration::from_millis(2 * wall), peak: 42_000_000 }
    }

    #[test]
    fn fits_on_a_terminal_and_has_every_figure() {
        let incident = Incident { path: "incident".into(), nodes: 1250, files: 2501, bytes: 1_000_000_000 };
        let rows = [
            Row::new("firstfault diagnose", &[sample(520), sample(500), sample(510)]),
            Row::new("rg -c -F, 32 literals", &[sample(1020); 3]),
        ];
        let text = report(&incident, 10_000, &rows, &Row::new("", &[sample(12)]));
        assert!(text.starts_with("\n10,000 ranks on 1,250 nodes, 2,501 files, 1,000 MB"), "{text}");
        let line = |label: &str| {
            let line = text.lines().find(|it| it.starts_with(label)).unwrap();
            line[label.len()..].split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(line("firstfault diagnose"), "500 510 520 1020 1960 42 1.00");
        assert_eq!(line("rg -c -F, 32 literals"), "1020 1020 1020 2040 980 42 2.00");
        let machine = machine();
        assert!(text.lines().filter(|it| *it != machine).all(|it| it.len() <= 80), "{text}");
    }

    #[test]
    fn groups_digits() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}
