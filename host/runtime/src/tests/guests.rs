//! The smallest components of each world: a core module in text whose functions return structures that are laid out here
//! in memory, wrapped with the types of the plugin interfaces.

use std::fmt::Write as _;
use std::sync::LazyLock;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Interfaces beside firstfault's own, and worlds that no plugin should have.
const OTHERS: &[&str] = &[
    "package wasi:random@0.2.0; interface random { get-random-u64: func() -> u64; }",
    "package wasi:clocks@0.2.0;
     interface wall-clock { record datetime { seconds: u64, nanoseconds: u32 } now: func() -> datetime; }
     interface monotonic-clock { use wasi:io/poll@0.2.0.{pollable}; subscribe-duration: func(when: u64) -> pollable; }",
    "package wasi:sockets@0.2.0; interface network { resource network; }",
    "package test:guests;
     world with-files { include firstfault:plugin/rule-module@0.1.0; import firstfault:plugin/files@0.1.0; }
     world with-sockets { include firstfault:plugin/rule-module@0.1.0; import wasi:sockets/network@0.2.0; }
     interface stranger { ask: func(); }
     world with-stranger { include firstfault:plugin/rule-module@0.1.0; import stranger; }
     world with-sink { include firstfault:plugin/context-connector@0.1.0; import firstfault:plugin/sink@0.1.0; }
     world virtual { include firstfault:plugin/rule-module@0.1.0;
                     import wasi:random/random@0.2.0; import wasi:clocks/wall-clock@0.2.0; }
     world waiting { include firstfault:plugin/rule-module@0.1.0; import wasi:clocks/monotonic-clock@0.2.0; }
     world undescribed { import firstfault:plugin/view@0.1.0; export firstfault:plugin/rules@0.1.0; }
     world both { include firstfault:plugin/rule-module@0.1.0; include firstfault:plugin/context-connector@0.1.0; }",
];

static RESOLVE: LazyLock<Resolve> = LazyLock::new(|| {
    let mut resolve = Resolve::default();
    resolve.push_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/0.1.0")).unwrap();
    resolve.push_str("poll.wit", "package wasi:io@0.2.0; interface poll { resource pollable; }").unwrap();
    for (i, text) in OTHERS.iter().enumerate() {
        resolve.push_str(format!("other{i}.wit"), text).unwrap();
    }
    resolve
});

/// Address of the first structure.
const BASE: usize = 1024;

/// Memory that is laid out before the module runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// Puts bytes at a multiple of 8 and returns their address.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u32 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let at = BASE + self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        u32::try_from(at).unwrap()
    }

    /// A list or string: its address and length.
    pub(crate) fn list(&mut self, items: &[Vec<u8>]) -> Vec<u8> {
        let at = self.put(&items.concat());
        words(&[at, u32::try_from(items.len()).unwrap()])
    }

    pub(crate) fn text(&mut self, text: &str) -> Vec<u8> {
        let at = self.put(text.as_bytes());
        words(&[at, u32::try_from(text.len()).unwrap()])
    }

    pub(crate) fn pairs(&mut self, pairs: &[(&str, &str)]) -> Vec<u8> {
        let items: Vec<_> = pairs.iter().map(|(k, v)| [self.text(k), self.text(v)].concat()).collect();
        self.list(&items)
    }

    /// `ok` of a result whose error is the one of the plugin interface.
    pub(crate) fn ok(&mut self, payload: &[u8]) -> u32 {
        self.put(&[&[0; 8], payload].concat())
    }

    pub(crate) fn error(&mut self, code: &str, message: &str) -> u32 {
        let mut bytes = words(&[1, 0]);
        bytes.extend(self.text(code));
        bytes.extend(self.text(message));
        // No retry, no details.
        bytes.extend([0; 24]);
        self.put(&bytes)
    }

    /// An event of `rules.extract`.
    pub(crate) fn event(&mut self, hits: &[u32], symptom: &str, facts: &[(&str, &str)]) -> Vec<u8> {
        let hits: Vec<_> = hits.iter().map(|h| words(&[*h])).collect();
        [self.list(&hits), self.text(symptom), self.pairs(&[("node", "gpu-1")]), self.pairs(facts)].concat()
    }

    /// `edge` of `rules.amendment`.
    pub(crate) fn edge(&mut self, cause: u32, effect: u32, basis: &str) -> Vec<u8> {
        let mut bytes = words(&[0, 0, cause, effect]);
        bytes.extend(self.text(basis));
        bytes.extend(self.text("because"));
        bytes.resize(72, 0);
        bytes
    }

    /// An entry of a collector's report.
    pub(crate) fn entry(&mut self, source: &str, status: &str) -> Vec<u8> {
        let mut bytes = self.text(source);
        bytes.extend(words(&[0, 0, 0]));
        bytes.extend(self.text(status));
        bytes.extend(self.pairs(&[("why", "test")]));
        bytes
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

pub(crate) const PACK: &str = "[pack]\nname = \"guest\"\nversion = \"0.1.0\"\n";
pub(crate) const PLUGIN: &str = "[plugin]\nname = \"guest\"\nversion = \"0.1.0\"\n";

/// A module under construction.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    world: &'static str,
    pub(crate) image: Image,
    imports: String,
    manifest: String,
    functions: String,
    describe: String,
    start: String,
}

impl Guest {
    pub(crate) fn new(world: &'static str) -> Self {
        let manifest =
            if world.starts_with("context") || world.starts_with("telemetry") { PLUGIN } else { PACK };
        Self {
            world,
            image: Image::default(),
            imports: String::new(),
            manifest: manifest.to_owned(),
            functions: String::new(),
            describe: String::new(),
            start: String::new(),
        }
    }

    pub(crate) fn manifest(mut self, text: &str) -> Self {
        text.clone_into(&mut self.manifest);
        self
    }

    /// Code in place of the description.
    pub(crate) fn describe(mut self, code: &str) -> Self {
        code.clone_into(&mut self.describe);
        self
    }

    /// Definitions beside the functions: others, tables.
    pub(crate) fn also(mut self, definitions: &str) -> Self {
        writeln!(self.functions, "{definitions}").unwrap();
        self
    }

    /// Code that runs when the instance starts.
    pub(crate) fn start(mut self, code: &str) -> Self {
        code.clone_into(&mut self.start);
        self
    }

    /// `(import ...)` of a host function.
    pub(crate) fn import(mut self, interface: &str, function: &str, ty: &str) -> Self {
        let name = function.trim_start_matches("[resource-drop]").replace(['[', ']', '.'], "-");
        let prefix =
            if function.starts_with('[') && !function.starts_with("[static]") { "drop-" } else { "" };
        writeln!(self.imports, "(import \"{interface}\" \"{function}\" (func ${prefix}{name} {ty}))")
            .unwrap();
        self
    }

    pub(crate) fn own_import(self, interface: &str, function: &str, ty: &str) -> Self {
        self.import(&format!("firstfault:plugin/{interface}@0.1.0"), function, ty)
    }

    /// An exported function of the world's interface.
    pub(crate) fn function(mut self, interface: &str, name: &str, ty: &str, code: &str) -> Self {
        writeln!(
            self.functions,
            "(func (export \"firstfault:plugin/{interface}@0.1.0#{name}\") {ty} {code})"
        )
        .unwrap();
        self
    }

    pub(crate) fn extract(self, code: &str) -> Self {
        self.function("rules", "extract", "(param $at i32) (param $len i32) (result i32)", code)
    }

    pub(crate) fn refine(self, code: &str) -> Self {
        self.function("rules", "refine", "(result i32)", code)
    }

    pub(crate) fn resolve(self, code: &str) -> Self {
        self.function("connector", "resolve", "(param $at i32) (param $len i32) (result i32)", code)
    }

    /// `collect`; the handle of the context is given back first, as the component model requires.
    pub(crate) fn collect(self, code: &str) -> Self {
        let drop = "(call $drop-execution-context (i32.load (local.get $at)))";
        self.own_import("context", "[resource-drop]execution-context", "(param i32)").function(
            "collector",
            "collect",
            "(param $at i32) (result i32)",
            &format!("{drop} {code}"),
        )
    }

    /// A component.
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut image = self.image.clone();
        let manifest = image.text(&self.manifest);
        let manifest = image.put(&manifest);
        let data: String = image.bytes.iter().fold(String::new(), |mut out, b| {
            write!(out, "\\{b:02x}").unwrap();
            out
        });
        let pages = 2 + image.bytes.len() / 65536;
        let top = (BASE + image.bytes.len()).next_multiple_of(65536);
        let describe = if self.world == "undescribed" {
            String::new()
        } else {
            let code = if self.describe.is_empty() {
                format!("(i32.const {manifest})")
            } else {
                self.describe.clone()
            };
            format!("(func (export \"firstfault:plugin/manifest@0.1.0#describe\") (result i32) {code})")
        };
        let start = if self.start.is_empty() {
            String::new()
        } else {
            format!("(func $start {}) (start $start)", self.start)
        };
        let text = format!(
            r#"(module
                {imports}
                (memory (export "memory") {pages})
                (data (i32.const {BASE}) "{data}")
                (global $top (mut i32) (i32.const {top}))
                (func $realloc (export "cabi_realloc")
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
                {describe}
                {functions}
                {start})"#,
            imports = self.imports,
            functions = self.functions,
        );
        let mut module = wat::parse_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let world = match self.world {
            "context-connector" | "telemetry-collector" | "rule-module" => {
                format!("firstfault:plugin/{}@0.1.0", self.world)
            }
            other => format!("test:guests/{other}"),
        };
        let packages: Vec<_> = RESOLVE.packages.iter().map(|(id, _)| id).collect();
        let world = RESOLVE.select_world(&packages, Some(&world)).unwrap();
        embed_component_metadata(&mut module, &RESOLVE, world, StringEncoding::UTF8).unwrap();
        ComponentEncoder::default().validate(true).module(&module).unwrap().encode().unwrap()
    }
}

/// A rule module whose functions return empty lists.
pub(crate) fn module() -> Guest {
    let mut guest = Guest::new("rule-module");
    let empty = guest.image.ok(&[0; 72]);
    guest.extract(&format!("(i32.const {empty})")).refine(&format!("(i32.const {empty})"))
}

/// A rule module with this `extract`; `build` lays out the answer and returns its address.
pub(crate) fn extracting(build: impl FnOnce(&mut Image) -> u32) -> Vec<u8> {
    let mut guest = Guest::new("rule-module");
    let answer = build(&mut guest.image);
    guest.extract(&format!("(i32.const {answer})")).refine("unreachable").build()
}

/// Code that never ends.
pub(crate) const LOOP: &str = "(loop $again (br $again)) unreachable";
/// Code that asks for 4 GiB and aborts when it does not get them.
pub(crate) const MEMORY_BOMB: &str =
    "(if (i32.eq (memory.grow (i32.const 65535)) (i32.const -1)) (then unreachable)) unreachable";
/// Code that aborts.
pub(crate) const TRAP: &str = "unreachable";

/// The ways in which a call fails: the code that does so, and the statuses of which one follows. Answers lie at 1 MiB, and what is
/// behind them is zero.
pub(crate) fn failures() -> Vec<(&'static str, String, &'static [&'static str])> {
    let answer = |tag: u32, address: u32, length: u32| {
        format!(
            "(drop (memory.grow (i32.const 1800))) (i32.store (i32.const 1048576) (i32.const {tag}))
             (i32.store (i32.const 1048584) (i32.const {address})) (i32.store (i32.const 1048588) (i32.const {length}))
             (i32.const 1048576)"
        )
    };
    let table = |size: u32| {
        format!(
            "(if (i32.eq (table.grow $things (ref.null func) (i32.const {size})) (i32.const -1)) (then unreachable))
             unreachable"
        )
    };
    let log = "(drop (memory.grow (i32.const 1800)))
        (loop $again (call $write (i32.const 2) (i32.const 1048576) (i32.const 60000)) (br $again)) unreachable";
    let (ok, error) = (0, 1);
    vec![
        ("loop", LOOP.to_owned(), &["out_of_fuel"]),
        ("trap", TRAP.to_owned(), &["trap"]),
        ("division", "(drop (i32.div_u (i32.const 1) (i32.const 0))) (i32.const 0)".to_owned(), &["trap"]),
        ("stack", "(call $deep (i32.const 1))".to_owned(), &["limit"]),
        ("memory", MEMORY_BOMB.to_owned(), &["limit"]),
        ("table", table(200_000), &["limit"]),
        ("large-table", table(1_000_000_000), &["out_of_fuel"]),
        ("log", log.to_owned(), &["limit"]),
        // Its entries are all zero, which breaks a rule of some worlds before the number does.
        ("large-list", answer(ok, 2_097_152, 1_000_000), &["limit", "malformed"]),
        ("large-text", answer(error, 2_097_152, 110_000_000), &["limit"]),
        ("endless-list", answer(ok, 2_097_152, 0x7fff_ffff), &["malformed"]),
        ("beyond-memory", "(i32.const -64)".to_owned(), &["malformed"]),
        ("unaligned", "(i32.const 1025)".to_owned(), &["malformed"]),
    ]
}

/// What the codes of [`failures`] need beside them.
pub(crate) fn armed(guest: Guest) -> Guest {
    guest
        .own_import("log", "write", "(param i32 i32 i32)")
        .also("(table $things 1 funcref)")
        .also("(func $deep (param i32) (result i32) (i32.add (call $deep (local.get 0)) (i32.const 1)))")
}
