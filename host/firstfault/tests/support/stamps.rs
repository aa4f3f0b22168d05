//! Dates and times in lines, in the forms that the reader knows, moved by the same amount.

use std::sync::LazyLock;

use firstfault_model::time::{SECOND, Timestamp};
use regex::bytes::{Captures, Regex};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// From the day of 1970-01-01.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// One alternative for each form. The stamp begins and ends with its group; a digit before it is not of another number.
static STAMP: LazyLock<Regex> = LazyLock::new(|| {
    let months = MONTHS.join("|");
    let forms = [
        // `2026-09-14T04:37:21`, with a blank or `_`, with slashes, to the minute.
        r"(?P<iso_y>\d{4})(?P<iso_s>[-/])(?P<iso_m>\d\d)[-/](?P<iso_d>\d\d)(?P<iso_t>[T _])(?P<iso>\d\d:\d\d(?::\d\d)?)"
            .to_owned(),
        // `20260914 04:37:21` and `0914 04:37:21`, `914 04:37:21` behind a letter for the level.
        r"(?P<glog_l>[IWEF])(?P<glog_y>\d{4})?(?P<glog_m>\d{1,2})(?P<glog_d>\d\d) (?P<glog>\d\d:\d\d:\d\d)".to_owned(),
        // `Mon Sep 14 04:37:21 2026` and `Sep 14 04:37:21`.
        format!(
            r"(?:(?P<sys_w>Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?P<sys_m>{months}) (?P<sys_d>[ \d]\d) (?P<sys>\d\d:\d\d:\d\d)(?: (?P<sys_y>20\d\d)\b)?"
        ),
        // `Sep 14 2026 04:37:21`.
        format!(r"(?P<fab_m>{months}) (?P<fab_d>\d\d) (?P<fab_y>20\d\d) (?P<fab>\d\d:\d\d:\d\d)"),
        // `[Sep14 04:37]`.
        format!(r"\[(?P<min_m>{months})(?P<min_d>[ \d]\d) (?P<min>\d\d:\d\d)\]"),
        // `09-14 04:37:21` and `09/14 04:37:21`.
        r"(?P<md_m>[01]\d)(?P<md_s>[-/])(?P<md_d>[0-3]\d) (?P<md>\d\d:\d\d:\d\d)".to_owned(),
        // Seconds and microseconds since 1970.
        r"(?P<s>1[6-9]\d{8})(?P<fraction>\.(?:\d{9}|\d{6})\b)".to_owned(),
        r"(?P<us>1[6-9]\d{8})(?P<micros>\d{6})\b".to_owned(),
    ];
    Regex::new(&format!("(?-u)(?P<before>^|[^0-9./-])(?:{})", forms.join("|"))).unwrap()
});

/// The text with each date and time in it moved by seconds. Those that name no year are of the one that is given.
pub(crate) fn moved(text: &[u8], seconds: i64, year: i32) -> Vec<u8> {
    STAMP.replace_all(text, |found: &Captures<'_>| rewritten(found, seconds, year)).into_owned()
}

/// The first year that is written in a text.
pub(crate) fn year(text: &[u8]) -> Option<i32> {
    STAMP.captures_iter(text).find_map(|found| group(&found, "iso_y")?.parse().ok())
}

/// Where the stamp ends that a line has among its first bytes.
pub(crate) fn leading(line: &[u8]) -> Option<usize> {
    let found = STAMP.find(line)?;
    (found.start() < 32).then(|| found.end())
}

/// `2026-09-14T04:37:21` as `Mon Sep 14 04:37:21 2026`.
pub(crate) fn ctime(iso: &str) -> String {
    let time = Timestamp::parse(&format!("{iso}Z")).unwrap();
    let month = MONTHS[iso[5..7].parse::<usize>().unwrap() - 1];
    let day = iso[8..10].trim_start_matches('0');
    format!("{} {month} {day:>2} {} {}", weekday(time), &iso[11..], &iso[..4])
}

fn weekday(time: Timestamp) -> &'static str {
    let days = time.since(Timestamp::parse("1970-01-01T00:00:00Z").unwrap()) / SECOND / 86_400;
    WEEKDAYS[usize::try_from(days).unwrap() % 7]
}

fn group<'t>(found: &Captures<'t>, name: &str) -> Option<&'t str> {
    std::str::from_utf8(found.name(name)?.as_bytes()).ok()
}

fn rewritten(found: &Captures<'_>, seconds: i64, year: i32) -> Vec<u8> {
    let whole = found.get(0).unwrap().as_bytes().to_vec();
    let get = |name: &str| group(found, name);
    let before = get("before").unwrap_or("");
    let since = |name: &str| Some(get(name)?.parse::<i64>().ok()? + seconds);
    if let Some(at) = since("s") {
        return format!("{before}{at}{}", get("fraction").unwrap_or("")).into_bytes();
    }
    if let Some(at) = since("us") {
        return format!("{before}{at}{}", get("micros").unwrap_or("")).into_bytes();
    }
    let Some(form) = ["iso", "glog", "sys", "fab", "min", "md"].into_iter().find(|form| get(form).is_some())
    else {
        return whole;
    };
    let part = |what: &str| get(&format!("{form}_{what}"));
    let month = part("m").unwrap();
    let month = MONTHS.iter().position(|m| *m == month).map_or_else(|| month.parse().unwrap(), |at| at + 1);
    let day: u32 = part("d").unwrap().trim().parse().unwrap();
    let year = part("y").map_or(year, |y| y.parse().unwrap());
    let time = get(form).unwrap();
    let padded = if time.len() == 5 { format!("{time}:00") } else { time.to_owned() };
    let Some(moved) = Timestamp::parse(&format!("{year}-{month:02}-{day:02}T{padded}Z"))
        .map(|t| t.shifted(seconds * SECOND))
    else {
        return whole;
    };
    let text = moved.to_string();
    let (y, m, d) = (&text[..4], &text[5..7], &text[8..10]);
    let name = MONTHS[m.parse::<usize>().unwrap() - 1];
    let time = &text[11..11 + time.len()];
    let lean = |of: &str| {
        if of.starts_with(' ') { format!("{:>2}", d.trim_start_matches('0')) } else { d.to_owned() }
    };
    let out = match form {
        "iso" => {
            let (separator, t) = (part("s").unwrap(), part("t").unwrap());
            format!("{y}{separator}{m}{separator}{d}{t}{time}")
        }
        "glog" => {
            let y = part("y").map_or("", |_| y);
            // Without a year the month may be written without its zero.
            let m = if part("m").unwrap().len() == 1 { m.trim_start_matches('0') } else { m };
            format!("{}{y}{m}{d} {time}", part("l").unwrap())
        }
        "sys" => {
            let weekday = part("w").map_or(String::new(), |_| format!("{} ", weekday(moved)));
            let y = part("y").map_or(String::new(), |_| format!(" {y}"));
            // `Sep  4`: the day is padded with a blank wherever it has one digit.
            let d = format!("{:>2}", d.trim_start_matches('0'));
            format!("{weekday}{name} {d} {time}{y}")
        }
        "fab" => format!("{name} {d} {y} {time}"),
        "min" => format!("[{name}{} {time}]", lean(part("d").unwrap())),
        _ => format!("{m}{}{d} {time}", part("s").unwrap()),
    };
    format!("{before}{out}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_moved() {
        let seconds = 86_400 + 3 * 3_600 + 21;
        for (text, wanted) in [
            ("2026-12-31T23:00:00.123456+00:00 host", "2027-01-02T02:00:21.123456+00:00 host"),
            (" [2026-09-14 04:37:21,5] x", " [2026-09-15 07:37:42,5] x"),
            ("\"start\":\"2026-09-14T03:12:40Z\",", "\"start\":\"2026-09-15T06:13:01Z\","),
            ("2026/09/14 04:37 x", "2026/09/15 07:37 x"),
            ("[rank54]:[E914 04:37:21.374 x.cpp:6]", "[rank54]:[E915 07:37:42.374 x.cpp:6]"),
            ("W1006 10:51:28.694000 783273", "W1007 13:51:49.694000 783273"),
            ("I20260914 04:37:21.000 1", "I20260915 07:37:42.000 1"),
            ("Sep  8 04:37:21 host kernel: x", "Sep  9 07:37:42 host kernel: x"),
            ("Sep 30 04:37:21 host", "Oct  1 07:37:42 host"),
            ("[Mon Sep 14 04:37:21 2026] NVRM", "[Tue Sep 15 07:37:42 2026] NVRM"),
            ("[Sep 14 2026 04:37:21] [INFO]", "[Sep 15 2026 07:37:42] [INFO]"),
            ("[Sep14 04:37] NVRM", "[Sep15 07:37] NVRM"),
            ("INFO 09-14 04:37:21 [engine]", "INFO 09-15 07:37:42 [engine]"),
            ("[1789360641.018453] [gpu:1]", "[1789457862.018453] [gpu:1]"),
            ("step 12 took 04:37:21, pid 1789360641", "step 12 took 04:37:21, pid 1789360641"),
        ] {
            let got = moved(text.as_bytes(), seconds, 2026);
            assert_eq!(String::from_utf8(got).unwrap(), wanted, "{text}");
        }
    }
}
