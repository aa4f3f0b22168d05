//! The report of `nvidia-bug-report.sh`: sections between lines of underscores, each with the name of a file or a command on its
//! first line. The kernel's and the system's logs among them are taken; they keep their line numbers.

use std::io::{self, BufRead, Write};

use crate::journal::{Line, Parts, next_line};

/// Names of zones, and how a stamp writes them. Names that mean several zones are left out.
const ZONES: &[(&str, &str)] = &[("UTC", "Z"), ("GMT", "Z"), ("Z", "Z")];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What a report holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The node, by its `uname`.
    pub host: Option<String>,
    /// Lines of the report.
    pub lines: u64,
    /// Sections that were taken.
    pub taken: u64,
    /// Sections that are no log of the kernel or the system.
    pub left: u64,
    /// Why it could not be read to its end.
    pub error: Option<String>,
}

/// Where the lines of a section go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    /// Nothing is known of it yet.
    Unknown,
    Kernel,
    System,
    /// Excerpts of several logs, each below its name.
    Excerpts(Option<bool>),
    Nowhere,
}

/// Parts a report.
///
/// # Errors
/// The parts cannot be written.
pub fn part<W: Write>(input: &mut dyn BufRead, parts: &mut Parts<W>) -> io::Result<Told> {
    let mut told = Told::default();
    let mut line = Vec::new();
    let mut date = None;
    let mut to = To::Nowhere;
    let mut head = false;
    loop {
        match next_line(input, &mut line) {
            Ok(Line::End) => break,
            Ok(Line::TooLong) => {
                told.lines += 1;
                continue;
            }
            Ok(Line::Whole) => told.lines += 1,
            Err(e) => {
                told.error = Some(e.to_string());
                break;
            }
        }
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        if is_separator(text) {
            to = To::Unknown;
            continue;
        }
        if text.is_empty() {
            continue;
        }
        if to == To::Unknown {
            head = text.starts_with(b"Start of NVIDIA bug report");
            to = section(text);
            let log = to != To::Nowhere;
            told.taken += u64::from(log);
            told.left += u64::from(!log && !head && !text.starts_with(b"End of NVIDIA bug report"));
            continue;
        }
        match to {
            To::Nowhere if head => {
                if let Some(rest) = text.strip_prefix(b"uname: Linux ") {
                    told.host = told.host.take().or_else(|| host(rest));
                } else if let Some(rest) = text.strip_prefix(b"Date: ") {
                    date = date.or_else(|| date_line(rest));
                }
            }
            To::Nowhere | To::Unknown => {}
            // What `ls` says of the file.
            _ if text.starts_with(b"*** ls: ") => {}
            // A sentence of the report about a file, where no line of a log begins with a path.
            To::Excerpts(_) if text.starts_with(b"/") => to = To::Excerpts(None),
            To::Kernel | To::Excerpts(Some(true)) if !is_title(text) => parts.kernel.put(told.lines, text)?,
            To::System | To::Excerpts(Some(false)) if !is_title(text) => parts.rest.put(told.lines, text)?,
            To::Excerpts(_) => to = To::Excerpts(excerpt(text)),
            To::Kernel | To::System => {}
        }
    }
    // The report's own time comes last: it tells the year of stamps without one, and how far the logs reach.
    if let Some(date) = date {
        let host = told.host.as_deref().unwrap_or("localhost");
        let text = format!("{date} {host} kernel: (nvidia-bug-report was made)");
        told.lines += 1;
        for part in [&mut parts.kernel, &mut parts.rest].into_iter().filter(|part| !part.is_empty()) {
            part.put(told.lines, text.as_bytes())?;
        }
    }
    Ok(told)
}

fn is_separator(text: &[u8]) -> bool {
    text.len() >= 20 && text.iter().all(|b| *b == b'_')
}

/// `  /var/log/messages:` and `  journalctl -b -0:` above an excerpt.
fn is_title(text: &[u8]) -> bool {
    text.starts_with(b"  ") && text.ends_with(b":") && log(text).is_some()
}

fn section(title: &[u8]) -> To {
    if title.starts_with(b"Scanning kernel log files") {
        return To::Excerpts(None);
    }
    match log(title) {
        Some(true) => To::Kernel,
        Some(false) => To::System,
        None => To::Nowhere,
    }
}

/// Which log an excerpt is of, by its title: the kernel's, the system's, or none.
fn excerpt(title: &[u8]) -> Option<bool> {
    if title.ends_with(b":") { log(title) } else { None }
}

/// The log that a title names: `*** /var/log/dmesg`, `dmesg:`, `journalctl -b -0:`. `true` for the kernel's.
fn log(title: &[u8]) -> Option<bool> {
    let title = std::str::from_utf8(title).ok()?.trim();
    let title = title.strip_prefix("*** ").unwrap_or(title).trim_end_matches(':');
    let mut words = title.split(' ');
    let first = words.next()?;
    if first.rsplit('/').next()? == "journalctl" {
        return Some(words.any(|word| matches!(word, "-k" | "--dmesg" | "_TRANSPORT=kernel")));
    }
    // A file's name is all of the title; a sentence about a file is none.
    if words.next().is_some_and(|word| !word.starts_with('-')) {
        return None;
    }
    match first.rsplit('/').next()? {
        "dmesg" | "dmesg.0" | "dmesg.old" | "kern.log" | "kern.log.1" | "kernel.log" => Some(true),
        "messages" | "messages.1" | "syslog" | "syslog.1" => Some(false),
        _ => None,
    }
}

fn host(uname: &[u8]) -> Option<String> {
    let name = uname.split(|b| *b == b' ').next()?;
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    let fits = (1..=64).contains(&name.len()) && name.iter().all(plain);
    std::str::from_utf8(name).ok().filter(|_| fits).map(str::to_owned)
}

/// `Mon Sep 14 04:50:01 UTC 2026` and `Mon Sep 14 04:50:01 AM UTC 2026` as a stamp; without a zone where its name does not tell.
fn date_line(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (month, day, time, rest) = match words.as_slice() {
        [_, month, day, time, rest @ ..] => (*month, *day, *time, rest),
        _ => return None,
    };
    let month = MONTHS.iter().position(|m| *m == month)? + 1;
    let day: u8 = day.parse().ok().filter(|d| (1..=31).contains(d))?;
    let clock: Vec<u8> = time.split(':').map_while(|part| part.parse().ok()).collect();
    let &[hour, minute, second] = clock.as_slice() else { return None };
    let (half, rest) = match rest {
        [half @ ("AM" | "PM"), rest @ ..] => (Some(*half), rest),
        rest => (None, rest),
    };
    let hour = match half {
        Some(half) => hour.checked_rem(12)? + if half == "PM" { 12 } else { 0 },
        None => hour,
    };
    let (zone, year) = match rest {
        [year] => ("", *year),
        [zone, year] => (*zone, *year),
        _ => return None,
    };
    let year: u16 = year.parse().ok().filter(|y| (1970..=9999).contains(y))?;
    let zone =
        ZONES.iter().find(|(name, _)| *name == zone).map_or_else(|| offset(zone), |(_, z)| (*z).to_owned());
    (hour < 24 && minute < 60 && second < 60)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"))
}

/// `-03` and `+0530` as in a stamp.
fn offset(zone: &str) -> String {
    let digits = zone.get(1..).unwrap_or_default();
    let plain = zone.starts_with(['+', '-']) && digits.bytes().all(|b| b.is_ascii_digit());
    match (plain, digits.len()) {
        (true, 2) => format!("{zone}:00"),
        (true, 4) => format!("{}:{}", &zone[..3], &zone[3..]),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbered::Numbered;

    const LINE: &str = "____________________________________________\n\n";

    fn parted(report: &str) -> (String, String, Told) {
        let mut parts = Parts { kernel: Numbered::new(Vec::new()), rest: Numbered::new(Vec::new()) };
        let told = part(&mut report.as_bytes(), &mut parts).unwrap();
        let text = |part: Numbered<Vec<u8>>| String::from_utf8(part.finish(told.lines).unwrap()).unwrap();
        (text(parts.kernel), text(parts.rest), told)
    }

    #[test]
    fn logs_are_taken_and_keep_their_lines() {
        let sections = [
            "Start of NVIDIA bug report log file.  Please include this file\n\nDate: Mon Sep 14 04:50:01 UTC 2026\n\
             uname: Linux lyra-047 5.15.0 #1 SMP x86_64 GNU/Linux\ncommand line flags: \n\n",
            "*** /etc/issue\n*** ls: -rw-r--r-- 1 root root 26 2024-02-14 /etc/issue\nUbuntu\n\n",
            "*** /var/log/dmesg\n*** ls: -rw-r----- 1 root adm 9 2026-09-14 /var/log/dmesg\n[    0.1] one\n\n",
            "/usr/bin/lspci -d \"10de:*\" -v -xxx\n\n00:00 dmesg\n",
            "Scanning kernel log files for NVIDIA kernel messages:\n\n  /var/log/messages:\nSep 14 04:37:21 lyra-047 kernel: two\n\n\
             /var/log/kern.log is not readable\n\n  journalctl -b -0:\nSep 14 04:37:22 lyra-047 kernel: three\n",
            "dmesg:\n\n[ 1770873.331098] four\n",
            "End of NVIDIA bug report log file.\n",
        ];
        let report: String = sections.iter().flat_map(|section| [LINE, section]).collect();
        let (kernel, system, told) = parted(&report);
        assert_eq!((told.host.as_deref(), told.taken, told.left), (Some("lyra-047"), 3, 2));
        let texts = |part: &str| -> Vec<(usize, String)> {
            part.lines().enumerate().filter(|(_, l)| !l.is_empty()).map(|(i, l)| (i, l.to_owned())).collect()
        };
        let original: Vec<&str> = report.lines().collect();
        for part in [&kernel, &system] {
            let texts = texts(part);
            let (last, lines) = texts.split_last().unwrap();
            assert_eq!(last.1, "2026-09-14T04:50:01Z lyra-047 kernel: (nvidia-bug-report was made)");
            assert_eq!(last.0, original.len());
            for (number, text) in lines {
                assert_eq!(original[*number], text);
            }
        }
        let short = |part: &str| -> Vec<String> {
            texts(part).iter().filter_map(|(_, l)| l.rsplit(' ').next().map(str::to_owned)).collect()
        };
        assert_eq!(short(&kernel), ["one", "four", "made)"]);
        assert_eq!(short(&system), ["two", "three", "made)"]);
    }

    #[test]
    fn dates_are_stamps() {
        for (date, stamp) in [
            ("Mon Sep 14 04:50:01 UTC 2026", Some("2026-09-14T04:50:01Z")),
            ("Mon Sep  7 12:50:01 AM UTC 2026", Some("2026-09-07T00:50:01Z")),
            ("Thu Oct 27 08:50:11 PM -03 2022", Some("2022-10-27T20:50:11-03:00")),
            ("Thu Jul 14 14:11:55 IST 2011", Some("2011-07-14T14:11:55")),
            ("Thu Jul 14 14:11:55 +0530 2011", Some("2011-07-14T14:11:55+05:30")),
            ("Thu Jul 14 25:11:55 UTC 2011", None),
            ("", None),
            ("Do 14. Jul 14:11:55 CEST 2011", None),
        ] {
            assert_eq!(date_line(date.as_bytes()).as_deref(), stamp, "{date}");
        }
    }
}
