//! `journalctl -o json`: an object on each line. A field is a text, an array of bytes where it is not UTF-8, an array of either where
//! there are several of its name, or `null` where it was too long to be exported.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Entry, Line, Parts, Told, next_line};

/// Parts the objects.
pub(super) fn part<W: Write>(input: &mut dyn BufRead, parts: &mut Parts<W>) -> io::Result<Told> {
    let mut told = Told::default();
    let mut line = Vec::new();
    loop {
        let entry = match next_line(input, &mut line) {
            Ok(Line::End) => return Ok(told),
            Ok(Line::TooLong) => None,
            Ok(Line::Whole) if line.trim_ascii().is_empty() => {
                told.lines += 1;
                continue;
            }
            Ok(Line::Whole) => serde_json::from_slice::<Entry>(&line).ok(),
            Err(e) => {
                told.error = Some(e.to_string());
                return Ok(told);
            }
        };
        told.lines += 1;
        let taken = match entry {
            Some(entry) => entry.write(told.lines, parts, &mut told)?,
            None => false,
        };
        told.entries += u64::from(taken);
        told.refused += u64::from(!taken);
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an entry of the journal")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
                let mut entry = Entry::default();
                while let Some(Key(wanted)) = map.next_key()? {
                    match wanted {
                        None => _ = map.next_value::<IgnoredAny>()?,
                        Some(key) => {
                            if let Some(value) = map.next_value::<Field>()?.0 {
                                entry.set(key.as_bytes(), value);
                            }
                        }
                    }
                }
                Ok(entry)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// The names of fields that a line is made of.
const WANTED: &[&str] = &[
    "__REALTIME_TIMESTAMP",
    "MESSAGE",
    "_HOSTNAME",
    "SYSLOG_IDENTIFIER",
    "_COMM",
    "_PID",
    "SYSLOG_PID",
    "_TRANSPORT",
];

/// The name of a field, if it is wanted.
struct Key(Option<&'static str>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a field")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(Key(WANTED.iter().copied().find(|wanted| *wanted == name)))
            }
        }

        deserializer.deserialize_str(Name)
    }
}

/// The bytes of a field; of several of its name, of the first.
struct Field(Option<Vec<u8>>);

/// A member of an array.
enum Piece {
    Byte(u8),
    Whole(Option<Vec<u8>>),
}

struct Value;

impl<'de> Visitor<'de> for Value {
    type Value = Piece;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, bytes or null")
    }

    fn visit_str<E>(self, text: &str) -> Result<Piece, E> {
        Ok(Piece::Whole(Some(text.as_bytes().to_vec())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Piece, E> {
        Ok(u8::try_from(number)
            .map_or_else(|_| Piece::Whole(Some(number.to_string().into_bytes())), Piece::Byte))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Piece, E> {
        Ok(Piece::Whole(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Piece, E> {
        Ok(Piece::Whole(None))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Piece, E> {
        Ok(Piece::Whole(None))
    }

    fn visit_unit<E>(self) -> Result<Piece, E> {
        Ok(Piece::Whole(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Piece, A::Error> {
        let mut bytes = Vec::new();
        let mut first = None;
        while let Some(Member(piece)) = seq.next_element()? {
            match piece {
                Piece::Byte(byte) => bytes.push(byte),
                Piece::Whole(whole) => first = first.or(whole),
            }
        }
        Ok(Piece::Whole(first.or(Some(bytes))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Piece, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Piece::Whole(None))
    }
}

struct Member(Piece);

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Value).map(Member)
    }
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match deserializer.deserialize_any(Value)? {
            // A number that stands alone is one, not a byte.
            Piece::Byte(number) => Some(number.to_string().into_bytes()),
            Piece::Whole(whole) => whole,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parted;
    use crate::recognise::Content;

    #[test]
    fn each_entry_keeps_its_line() {
        let export = concat!(
            r#"{"_TRANSPORT":"kernel","MESSAGE":"one","__REALTIME_TIMESTAMP":"1789360641418203","_HOSTNAME":"n1","X":{"y":[1]}}"#,
            "\n",
            r#"{"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"sshd","_PID":"12","MESSAGE":[116,195,119,111],"__REALTIME_TIMESTAMP":"1789360641418204","_HOSTNAME":"n1"}"#,
            "\n\nno object\n",
            r#"{"MESSAGE":null,"__REALTIME_TIMESTAMP":"1789360641418205"}"#,
            "\n",
            r#"{"_TRANSPORT":"stdout","_COMM":"python3","_PID":7,"MESSAGE":["a\nb","second"],"__REALTIME_TIMESTAMP":"1789360641418206","_HOSTNAME":"n2"}"#,
            "\n",
            r#"{"_TRANSPORT":"kernel","MESS"#,
        );
        let mut parts = super::Parts {
            kernel: crate::numbered::Numbered::new(Vec::new()),
            rest: crate::numbered::Numbered::new(Vec::new()),
        };
        let told = super::part(&mut export.as_bytes(), &mut parts).unwrap();
        assert_eq!((told.lines, told.entries, told.refused), (7, 3, 3));
        assert_eq!(told.hosts, ["n1".to_owned(), "n2".to_owned()].into());
        let kernel = parts.kernel.finish(told.lines).unwrap();
        assert_eq!(kernel, b"2026-09-14T04:37:21.418203Z n1 kernel: one\n\n\n\n\n\n\n");
        let rest = parts.rest.finish(told.lines).unwrap();
        let expected = b"\n2026-09-14T04:37:21.418204Z n1 sshd[12]: t\xc3wo\n\n\n\n\
            2026-09-14T04:37:21.418206Z n2 python3[7]: a\r2026-09-14T04:37:21.418206Z n2 python3[7]: b\n\n";
        assert_eq!(rest.as_slice(), expected.as_slice());
    }

    #[test]
    fn deep_or_strange_values_are_no_entry() {
        let deep = format!("{{\"MESSAGE\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
        for line in [
            deep.as_str(),
            "[]",
            "{\"MESSAGE\":{}}",
            "{\"__REALTIME_TIMESTAMP\":\"x\",\"MESSAGE\":\"y\"}",
            "{",
        ] {
            let (kernel, rest, told) = parted(Content::JournalJson, line.as_bytes());
            assert_eq!((told.entries, told.refused, kernel.trim(), rest.trim()), (0, 1, "", ""));
        }
    }
}
