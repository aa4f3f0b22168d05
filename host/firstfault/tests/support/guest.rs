//! Rule modules made for a test: a core module in text, wrapped with the types of the plugin interfaces.
//!
//! Each asks for lines that the samples have, so that the call under test really happens.

use std::fmt::Write as _;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Name of the modules.
pub(crate) const NAME: &str = "guest";
/// Their pack.
const PACK: &str = r#"
[pack]
name = "guest"
version = "0.1.0"
[[signature]]
module = "self"
sources = ["app"]
pattern = 'Watchdog caught collective'
"#;
/// A world that nobody offers: rules that also want to resolve workloads.
const TWO_WORLDS: &str = "package test:guests;
    world two { include firstfault:plugin/rule-module@0.1.0; export firstfault:plugin/connector@0.1.0; }";

/// Code that never ends.
pub(crate) const LOOP: &str = "(loop $again (br $again)) unreachable";
/// Code that aborts.
pub(crate) const TRAP: &str = "unreachable";
/// Code that asks for 4 GiB, and aborts as programs do that are given none.
pub(crate) const MEMORY_BOMB: &str =
    "(if (i32.eq (memory.grow (i32.const 65535)) (i32.const -1)) (then unreachable)) unreachable";

/// Address of the first structure.
const BASE: usize = 1024;

/// Memory that is laid out before the module runs.
#[derive(Debug, Clone, Default)]
struct Image(Vec<u8>);

impl Image {
    /// Puts bytes at a multiple of 8 and returns their address.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        let at = BASE + self.0.len();
        self.0.extend_from_slice(bytes);
        u32::try_from(at).unwrap()
    }

    /// A string: its address and length.
    fn text(&mut self, text: &str) -> [u32; 2] {
        [self.put(text.as_bytes()), u32::try_from(text.len()).unwrap()]
    }

    /// `ok` of a list.
    fn answer(&mut self, items: &[u32], count: u32) -> u32 {
        let list = self.put(&words(items));
        self.put(&words(&[0, 0, list, count]))
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn constant(address: u32) -> String {
    format!("(i32.const {address})")
}

/// A module under construction.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    image: Image,
    pack: String,
    extract: String,
    refine: String,
    two_worlds: bool,
}

impl Guest {
    /// One that finds nothing.
    pub(crate) fn new() -> Self {
        let mut image = Image::default();
        let nothing = constant(image.answer(&[], 0));
        Self { image, pack: PACK.to_owned(), extract: nothing.clone(), refine: nothing, two_worlds: false }
    }

    /// With another pack.
    pub(crate) fn describing(mut self, pack: &str) -> Self {
        pack.clone_into(&mut self.pack);
        self
    }

    /// With this code as `extract`.
    pub(crate) fn extracting(mut self, code: &str) -> Self {
        code.clone_into(&mut self.extract);
        self
    }

    /// With this code as `refine`.
    pub(crate) fn refining(mut self, code: &str) -> Self {
        code.clone_into(&mut self.refine);
        self
    }

    /// Making one event of a symptom from one hit of each batch.
    pub(crate) fn with_event(mut self, hit: u32, symptom: &str) -> Self {
        let hits = self.image.put(&words(&[hit]));
        let [symptom, length] = self.image.text(symptom);
        // Neither place nor facts.
        self.extract = constant(self.image.answer(&[hits, 1, symptom, length, 0, 0, 0, 0], 1));
        self
    }

    /// With a note on this event.
    pub(crate) fn with_note(mut self, event: u32, note: &str) -> Self {
        let [text, length] = self.image.text(note);
        let mut amendment = vec![2, 0, event, text, length];
        amendment.resize(72 / 4, 0);
        self.refine = constant(self.image.answer(&amendment, 1));
        self
    }

    /// Of a world that nobody offers.
    pub(crate) fn of_two_worlds(mut self) -> Self {
        self.two_worlds = true;
        self
    }

    /// The component.
    pub(crate) fn build(mut self) -> Vec<u8> {
        let pack = self.image.text(&self.pack);
        let describe = self.image.put(&words(&pack));
        let data = self.image.0.iter().fold(String::new(), |mut out, byte| {
            write!(out, "\\{byte:02x}").unwrap();
            out
        });
        let resolve = r#"(func (export "firstfault:plugin/connector@0.1.0#resolve")
            (param i32 i32) (result i32) unreachable)"#;
        let text = format!(
            r#"(module
                (memory (export "memory") 2)
                (data (i32.const {BASE}) "{data}")
                (global $top (mut i32) (i32.const 65536))
                (func (export "cabi_realloc")
                    (param i32) (param i32) (param $align i32) (param $size i32) (result i32)
                    (local $p i32)
                    (local.set $p (i32.and
                        (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
                        (i32.sub (i32.const 0) (local.get $align))))
                    (global.set $top (i32.add (local.get $p) (local.get $size)))
                    (block $done (loop $more
                        (br_if $done (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
                        (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
                        unreachable))
                    (local.get $p))
                (func (export "firstfault:plugin/manifest@0.1.0#describe") (result i32) (i32.const {describe}))
                (func (export "firstfault:plugin/rules@0.1.0#extract") (param i32 i32) (result i32) {extract})
                (func (export "firstfault:plugin/rules@0.1.0#refine") (result i32) {refine})
                {more})"#,
            extract = self.extract,
            refine = self.refine,
            more = if self.two_worlds { resolve } else { "" },
        );
        let mut module = wat::parse_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut resolve = Resolve::default();
        resolve.push_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/0.1.0")).unwrap();
        resolve.push_str("guests.wit", TWO_WORLDS).unwrap();
        let world = if self.two_worlds { "test:guests/two" } else { "firstfault:plugin/rule-module@0.1.0" };
        let packages: Vec<_> = resolve.packages.iter().map(|(id, _)| id).collect();
        let world = resolve.select_world(&packages, Some(world)).unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
    }
}
