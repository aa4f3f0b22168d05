//! The bodies of Xid 144 to 150 and 155, NVLink 5: a unit, a severity, a link, and six words of registers.

/// An NVLink 5 record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// Unit or event (`NETIR_LINK_EVT`); may hold a blank.
    pub sub: &'a str,
    /// Whether it is fatal for the link or the GPU.
    pub fatal: bool,
    /// The link; `None` for the whole GPU, printed as -1.
    pub link: Option<u32>,
    /// First word of the registers.
    pub word: Option<u32>,
    /// Second word: which error of the unit.
    pub status: Option<u32>,
    /// Text in the place of registers.
    pub text: Option<&'a str>,
}

/// Reads a body.
#[must_use]
pub fn parse(body: &str) -> Option<Record<'_>> {
    // The severity stands between the unit and the flags: `<sub> Fatal XC0 i0 Link 09 (...)`.
    let (before, rest) = body.split_once(" XC")?;
    let before = before.trim_end();
    let (sub, severity) = before.rsplit_once(|c: char| c.is_ascii_whitespace())?;
    let fatal = match severity {
        "Fatal" => true,
        "Nonfatal" => false,
        _ => return None,
    };
    let mut words = rest.split_ascii_whitespace();
    let flags = words.next()?.bytes().all(|b| b.is_ascii_digit())
        && words.next()?.strip_prefix('i')?.bytes().all(|b| b.is_ascii_digit())
        && words.next()? == "Link";
    let link: i32 = words.next().filter(|_| flags)?.parse().ok()?;
    let mut registers =
        rest.split_once('(').map_or("", |(_, rest)| rest).split(|c: char| !c.is_ascii_alphanumeric());
    let mut word = || u32::from_str_radix(registers.next()?.strip_prefix("0x")?, 16).ok();
    Some(Record {
        sub: sub.trim(),
        fatal,
        link: u32::try_from(link).ok(),
        word: word(),
        status: word(),
        text: rest.split_once(" : ").map(|(_, text)| text.trim()),
    })
}

impl Record<'_> {
    /// Why the link went down, for the records that say so. Drivers before R575 and those since lay out the word differently,
    /// but have the reason in the same six bits.
    #[must_use]
    pub fn reason(&self, number: u32) -> Option<u32> {
        let says = number == 149 && matches!(self.sub, "NETIR_LINK_EVT" | "NETIR_LINK_DOWN");
        self.word.filter(|_| says).map(|word| (word >> 20) & 0x3f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read() {
        let body = "NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000001 0x00000000 0x0 0x0 0x0)";
        let record = parse(body).unwrap();
        assert_eq!(
            (record.sub, record.fatal, record.link, record.status),
            ("NETIR_LINK_EVT", true, Some(9), Some(1))
        );
        assert_eq!(record.reason(149), Some(37));
        assert_eq!(record.reason(145), None);

        let reasons =
            [(0x0215_e5c6, 33), (0x0045_05c6, 4), (0x0025_01c6, 2), (0x0015_05c6, 1), (0x02b5_05c6, 43)];
        for (word, reason) in reasons {
            let body = format!("NETIR_LINK_EVT Fatal XC0 i0 Link 15 (0x{word:08x} 0x0 0x0 0x0 0x0 0x0)");
            assert_eq!(parse(&body).unwrap().reason(149), Some(reason), "{body}");
        }
    }

    #[test]
    fn odd_ones_are_read() {
        let whole = parse("NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)").unwrap();
        assert_eq!((whole.sub, whole.link, whole.reason(149)), ("NETIR", None, None));
        let blank = parse("MSE degraded Nonfatal XC1 i0 Link 03 (0x040868e2 0x8").unwrap();
        assert_eq!(
            (blank.sub, blank.fatal, blank.link, blank.status),
            ("MSE degraded", false, Some(3), Some(8))
        );
        let down =
            parse("NVLINK_SW_DEFINED_ERROR  Fatal   XC0 i0 Link 05 : Link Down While Active.").unwrap();
        assert_eq!((down.link, down.word, down.text), (Some(5), None, Some("Link Down While Active.")));
        let cut = parse("RLW_SRC_TRACK Nonfatal XC1 i0 Link 16").unwrap();
        assert_eq!((cut.sub, cut.link, cut.word), ("RLW_SRC_TRACK", Some(16), None));
    }

    #[test]
    fn other_bodies_are_none() {
        for body in [
            "",
            "Fatal XC0 i0 Link 1",
            "A Bad XC0 i0 Link 1",
            "A Fatal XC0 i0 Lane 1",
            "A Fatal XC0 i0 Link x",
            "Ch 1",
        ] {
            assert_eq!(parse(body), None, "{body}");
        }
    }
}
