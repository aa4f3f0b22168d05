//! The shape of an Xid line, over all driver generations: with and without `PCI:`, process, MIG instance, trailing comma.
//! The number is authoritative; a body that is cut or of no known form costs nothing but its details.

/// An Xid line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XidLine<'a> {
    /// PCI address as printed; the function, if any, is cut off.
    pub pci: &'a str,
    /// MIG GPU instance.
    pub gpu_instance: Option<u32>,
    /// MIG compute instance.
    pub compute_instance: Option<u32>,
    /// The number.
    pub number: u32,
    /// Process by the host's numbering. The kernel itself is 0.
    pub pid: Option<u32>,
    /// What the kernel calls the process, at most 15 characters, blanks and colons included.
    pub name: Option<&'a str>,
    /// The rest.
    pub body: &'a str,
}

/// Finds an Xid in a line. Of several the first that can be read counts.
#[must_use]
pub fn parse(text: &str) -> Option<XidLine<'_>> {
    text.match_indices("Xid (")
        // `SXid (` is the switches' form.
        .filter(|(at, _)| !text[..*at].ends_with('S'))
        .find_map(|(at, marker)| parse_at(&text[at + marker.len()..]))
}

fn parse_at(text: &str) -> Option<XidLine<'_>> {
    let (place, rest) = text.split_once("):")?;
    let mut words = place.split_ascii_whitespace();
    let pci = pci_address(words.next()?)?;
    let (mut gpu_instance, mut compute_instance) = (None, None);
    for word in words {
        match word.split_once(':')? {
            ("GPU-I", number) => gpu_instance = Some(number.parse().ok()?),
            ("GPU-CI", number) => compute_instance = Some(number.parse().ok()?),
            _ => return None,
        }
    }
    let rest = rest.trim_start();
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = rest.split_at(digits);
    let number = number.parse().ok().filter(|_| number.len() <= 4)?;
    if !(rest.is_empty() || rest.starts_with([',', ' ', '\t', '\n', '\r'])) {
        return None;
    }
    let rest = rest.trim_start_matches(',').trim();
    let (pid, rest) = pid(rest);
    let (name, body) = name(rest);
    Some(XidLine { pci, gpu_instance, compute_instance, number, pid, name, body })
}

/// `PCI:0000:1b:00.0` or `0000:1b:00`, without the function.
#[must_use]
pub fn pci_address(text: &str) -> Option<&str> {
    let text = text.strip_prefix("PCI:").unwrap_or(text);
    let address = match text.split_once('.') {
        Some((address, function)) if matches!(function.as_bytes(), [b'0'..=b'7']) => address,
        Some(_) => return None,
        None => text,
    };
    let mut parts = address.split(':');
    let hex = |part: &str, least: usize, most: usize| {
        (least..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let whole = hex(parts.next()?, 4, 8) && hex(parts.next()?, 2, 2) && hex(parts.next()?, 2, 2);
    (whole && parts.next().is_none()).then_some(address)
}

/// The address as it is written everywhere else: `dddd:bb:dd`, lower case.
#[must_use]
pub fn normalised(pci: &str) -> String {
    let lower = pci.to_ascii_lowercase();
    match lower.split_once(':') {
        Some((domain, rest)) if domain.len() > 4 => {
            let domain = domain.trim_start_matches('0');
            format!("{domain:0>4}:{rest}")
        }
        _ => lower,
    }
}

/// `pid=N` and what follows. The quotes are around `<unknown>` only.
fn pid(text: &str) -> (Option<u32>, &str) {
    let Some(rest) = text.strip_prefix("pid=") else { return (None, text) };
    let end = rest.find([',', ' ']).unwrap_or(rest.len());
    let (pid, rest) = rest.split_at(end);
    (pid.parse().ok(), rest.trim_start_matches(',').trim_start())
}

/// `name=X` up to a comma and a blank, and what follows.
fn name(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.strip_prefix("name=") else { return (None, text) };
    let (name, body) = rest.split_once(", ").unwrap_or((rest.trim_end_matches(','), ""));
    let known = !name.is_empty() && !matches!(name.trim_matches('\''), "<unknown>" | "<n/a>");
    (known.then_some(name), body.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Expected = (u32, &'static str, Option<u32>, Option<&'static str>, &'static str);

    const LINES: &[(&str, Expected)] = &[
        (
            "[...] NVRM: Xid (0000:04:00): 14, Channel 00000002",
            (14, "0000:04:00", None, None, "Channel 00000002"),
        ),
        (
            "Nov 18 17:26:39 gpu-12 kernel: NVRM: Xid (0000:00:05): 9, Channel 00000000 Instance 000091d8",
            (9, "0000:00:05", None, None, "Channel 00000000 Instance 000091d8"),
        ),
        (
            "Nov  2 08:29:55 gpu-12 kernel: [  966.503025] NVRM: Xid (0000:01:00): 31, Ch 0000000b, engmask 00000120, intr 10000000",
            (31, "0000:01:00", None, None, "Ch 0000000b, engmask 00000120, intr 10000000"),
        ),
        (
            "NVRM: Xid (PCI:0000:01:00): 43, Ch 00000020, engmask 00000101",
            (43, "0000:01:00", None, None, "Ch 00000020, engmask 00000101"),
        ),
        (
            "[Fri Nov 27 23:42:34 2026] NVRM: Xid (PCI:0000:db:00): 31, pid=13641, Ch 00000008, intr 00000000. MMU Fault: x",
            (31, "0000:db:00", Some(13641), None, "Ch 00000008, intr 00000000. MMU Fault: x"),
        ),
        (
            "[  130.456250] [   T1946] NVRM: Xid (PCI:0000:2b:00): 31, pid=1942, name=bench-a, channel 0x00000002, intr 0",
            (31, "0000:2b:00", Some(1942), Some("bench-a"), "channel 0x00000002, intr 0"),
        ),
        (
            "[14370.687545] NVRM: Xid (PCI:0000:0A:00): 62, pid='<unknown>', name=<unknown>, 2023b230 20238a3a 00000000",
            (62, "0000:0a:00", None, None, "2023b230 20238a3a 00000000"),
        ),
        (
            "NVRM: Xid (PCI:0000:0a:00): 45, pid='<unknown>', name='<unknown>', Ch 00000008",
            (45, "0000:0a:00", None, None, "Ch 00000008"),
        ),
        (
            "kernel: NVRM: Xid (PCI:0000:ed:00): 45, pid=7, name=a b, Ch 0000000c caused by previous Xid 145",
            (45, "0000:ed:00", Some(7), Some("a b"), "Ch 0000000c caused by previous Xid 145"),
        ),
        ("NVRM: Xid (PCI:0000:3f:00): 46", (46, "0000:3f:00", None, None, "")),
        ("NVRM: Xid (PCI:0000:3f:00): 46\n", (46, "0000:3f:00", None, None, "")),
        ("NVRM: Xid (PCI:0000:3f:00): 46,", (46, "0000:3f:00", None, None, "")),
        (
            "Feb 01 14:25:31 gpu-3 kernel: NVRM: Xid (PCI:0000:01:00): 38, pid=1659,",
            (38, "0000:01:00", Some(1659), None, ""),
        ),
        ("NVRM: Xid (PCI:0000:01:00): 154 (", (154, "0000:01:00", None, None, "(")),
        ("NVRM: Xid (PCI:0000:01:00): 38, pid=0, name=, x", (38, "0000:01:00", Some(0), None, "x")),
        (
            "NVRM: Xid (PCI:0004:01:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            (79, "0004:01:00", None, None, "GPU has fallen off the bus."),
        ),
        (
            "NVRM: Xid (PCI:0000:c6:00): 79, pid=1101234, name=nvc:[driver], GPU has fallen off the bus.",
            (79, "0000:c6:00", Some(1_101_234), Some("nvc:[driver]"), "GPU has fallen off the bus."),
        ),
        (
            "NVRM: Xid (PCI:000f:01:00): 119, pid=3849, name=KMS thread, Timeout after 45s of waiting for RPC response from GPU0 GSP!",
            (
                119,
                "000f:01:00",
                Some(3849),
                Some("KMS thread"),
                "Timeout after 45s of waiting for RPC response from GPU0 GSP!",
            ),
        ),
        (
            "NVRM: Xid (PCI:0000:b5:00): 13, pid=88, name=ray::Worker, Graphics SM Warp Exception on (GPC 1, TPC 0): Out Of Range Address",
            (
                13,
                "0000:b5:00",
                Some(88),
                Some("ray::Worker"),
                "Graphics SM Warp Exception on (GPC 1, TPC 0): Out Of Range Address",
            ),
        ),
        (
            "4,1227,437812449932,c;NVRM: Xid (PCI:0000:01:00): 43, pid=1814139, name=cuda_assert_64b, Ch 00000018",
            (43, "0000:01:00", Some(1_814_139), Some("cuda_assert_64b"), "Ch 00000018"),
        ),
        (
            "4,1227,437812449932,c,1,-;NVRM: Xid (PCI:0018:01:00): 43, Ch 18",
            (43, "0018:01:00", None, None, "Ch 18"),
        ),
        (
            "<0>[2315424.098863] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.",
            (79, "0000:01:00", None, None, "GPU has fallen off the bus."),
        ),
        (
            "kern  :warn  : 2026-11-21T04:41:44,283302+00:00 NVRM: Xid (PCI:0000:1b:00): 110, SEC_FAULT: _FAULT_ECC",
            (110, "0000:1b:00", None, None, "SEC_FAULT: _FAULT_ECC"),
        ),
        (
            "10.0.0.1: kern: warning: [2026-11-22T21:26:20.599488292Z]: NVRM: Xid (PCI:0000:1b:00): 69, Class Error: ChId 0004",
            (69, "0000:1b:00", None, None, "Class Error: ChId 0004"),
        ),
        (
            "python-88 [003] d..1 100.5: nvidia_dev_xid: Xid (PCI:0000:01:00.0): 45, Ch 00000010",
            (45, "0000:01:00", None, None, "Ch 00000010"),
        ),
        ("NVRM: Xid (PCI:00000000:3B:00.0): 48, x", (48, "0000:3b:00", None, None, "x")),
        ("NVRM: Xid (PCI:00010000:3B:00.0): 48, x", (48, "10000:3b:00", None, None, "x")),
    ];

    #[test]
    fn every_generation_of_lines_is_read() {
        for (line, expected) in LINES {
            let found = parse(line).unwrap_or_else(|| panic!("not read: {line}"));
            let got = (found.number, normalised(found.pci), found.pid, found.name, found.body);
            assert_eq!(
                got,
                (expected.0, expected.1.to_owned(), expected.2, expected.3, expected.4),
                "{line}"
            );
        }
    }

    #[test]
    fn mig_instances_are_read() {
        let both =
            parse("NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:01): 94, pid=7194, Contained: x").unwrap();
        assert_eq!((both.gpu_instance, both.compute_instance), (Some(5), Some(1)));
        let one = parse("NVRM: Xid (PCI:0000:01:00 GPU-CI:02): 94, x").unwrap();
        assert_eq!((one.gpu_instance, one.compute_instance), (None, Some(2)));
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for line in [
            "",
            "NVRM: Xid (PCI:0000:66:00): abc, pid=2280636",
            "NVRM: Xid error: xyz, invalid data",
            "NVRM: Xid PCI:0000:01:00: 43, pid=1814139",
            "NVRM: Xid (PCI:0000:01:00): 43x",
            "NVRM: Xid (PCI:0000:01): 43, x",
            "NVRM: Xid (PCI:0000:01:00.9): 43, x",
            "NVRM: Xid (PCI:0000:01:00",
            "NVRM: Xid (): 43",
            "NVRM: Xid (PCI:0000:01:00): 99999999999999, x",
            "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 x",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn a_broken_one_does_not_hide_the_next() {
        let line = "NVRM: Xid (PCI:0000:01:00\\n NVRM: Xid (PCI:0000:01:00): 43, Ch 1";
        assert_eq!(parse(line).map(|found| found.number), Some(43));
    }
}
