//! Plugins made for a test, of every world, and the ways in which one may fail.

#[allow(dead_code, reason = "it serves the tests of the runtime as well")]
#[path = "../../../runtime/src/tests/guests.rs"]
mod guests;

pub(crate) use guests::{Guest, Image, TRAP, armed, failures};

/// The lines that a module asks for. The samples have them, so that the call under test really happens.
const LINES: &str =
    "[[signature]]\nmodule = \"self\"\nsources = [\"app\"]\npattern = 'Watchdog caught collective'\n";

/// One that answers nothing, of this world and name.
pub(crate) fn idle(world: &'static str, name: &str) -> Guest {
    match world {
        "rule-module" => module(name, None, None, |_| {}),
        "telemetry-collector" => collector(name, None),
        _ => connector(name, None),
    }
}

/// A rule module with this code in place of an empty answer.
pub(crate) fn module(
    name: &str,
    extract: Option<&str>,
    refine: Option<&str>,
    lay_out: impl FnOnce(&mut Image),
) -> Guest {
    let pack = format!("[pack]\nname = \"{name}\"\nversion = \"0.1.0\"\n{LINES}");
    let mut guest = Guest::new("rule-module").manifest(&pack);
    lay_out(&mut guest.image);
    let empty = format!("(i32.const {})", guest.image.ok(&[0; 72]));
    guest.extract(extract.unwrap_or(&empty)).refine(refine.unwrap_or(&empty))
}

/// A module that makes one event of a symptom from one hit of each batch, and then refines with this code.
pub(crate) fn with_event(name: &str, hit: u32, symptom: &str, refine: Option<&str>) -> Guest {
    answering(name, refine, |image| {
        let event = [image.list(&[hit.to_le_bytes().to_vec()]), image.text(symptom), vec![0; 16]].concat();
        let list = image.list(&[event]);
        image.ok(&list)
    })
}

/// A module whose `extract` gives what is laid out.
pub(crate) fn answering(name: &str, refine: Option<&str>, lay_out: impl FnOnce(&mut Image) -> u32) -> Guest {
    let mut laid = Image::default();
    let at = lay_out(&mut laid);
    module(name, Some(&format!("(i32.const {at})")), refine, |image| *image = laid)
}

/// A collector with this code in place of an empty report.
pub(crate) fn collector(name: &str, code: Option<&str>) -> Guest {
    let mut guest = Guest::new("telemetry-collector").manifest(&manifest(name));
    let empty = format!("(i32.const {})", guest.image.ok(&[0; 16]));
    guest.collect(code.unwrap_or(&empty))
}

/// A collector that writes a line of a node's kernel log to the sink, and then goes on with this code, or reports this.
pub(crate) fn observing(
    name: &str,
    node: &str,
    line: &str,
    then: Option<&str>,
    report: &[(&str, &str)],
) -> Guest {
    let mut guest = Guest::new("telemetry-collector").manifest(&manifest(name));
    let image = &mut guest.image;
    let at = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
    let labels = at(&image.pairs(&[("source", "kernel"), ("node", node)]));
    let text = image.text(line);
    // Neither its time nor any other.
    let observation = [vec![0; 16], text].concat();
    let lines = at(&image.list(&[observation]));
    let answer = image.put(&[0; 64]);
    let entries: Vec<Vec<u8>> = report.iter().map(|(source, status)| image.entry(source, status)).collect();
    let entries = image.list(&entries);
    let ok = format!("(i32.const {})", image.ok(&[entries, vec![0; 8]].concat()));
    guest.own_import("sink", "observe", "(param i32 i32 i32 i32 i32)").collect(&format!(
        "(call $observe (i32.const {labels}) (i32.const 2) (i32.const {lines}) (i32.const 1) (i32.const {answer})) {}",
        then.unwrap_or(&ok)
    ))
}

/// A connector with this code in place of an answer without an attempt.
pub(crate) fn connector(name: &str, code: Option<&str>) -> Guest {
    let mut guest = Guest::new("context-connector").manifest(&manifest(name));
    let empty = format!("(i32.const {})", guest.image.ok(&[0; 16]));
    guest.resolve(code.unwrap_or(&empty))
}

fn manifest(name: &str) -> String {
    format!("[plugin]\nname = \"{name}\"\nversion = \"0.1.0\"\n")
}
