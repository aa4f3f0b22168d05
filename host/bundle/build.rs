//! Lists the ready plugins and the rule packs, and writes the tables that `src/lib.rs` includes.
//!
//! It compiles nothing and changes nothing: `cargo xtask build` makes the components first. A folder that does not
//! exist gives an empty table, so that the program builds from a bare checkout as well.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let root = variable("CARGO_MANIFEST_DIR")?.join("../..");
    println!("cargo::rerun-if-env-changed=FIRSTFAULT_WASM_DIR");
    let wasm = env::var_os("FIRSTFAULT_WASM_DIR").map_or_else(|| root.join("target/wasm"), PathBuf::from);
    let out = variable("OUT_DIR")?;
    fs::write(out.join("plugins.rs"), plugin_table(&wasm)?)?;
    fs::write(out.join("packs.rs"), pack_table(&root.join("rules"))?)?;
    Ok(())
}

fn variable(name: &str) -> Result<PathBuf> {
    env::var_os(name).map(PathBuf::from).ok_or_else(|| format!("cargo did not set {name}").into())
}

/// `NAME.wasm`, each with the `NAME.cwasm` beside it when there is one.
fn plugin_table(folder: &Path) -> Result<String> {
    let mut table = String::from("&[\n");
    for (name, wasm) in files(folder, "wasm")? {
        let compiled = wasm.with_extension("cwasm");
        let precompiled = if compiled.is_file() {
            println!("cargo::rerun-if-changed={}", text(&compiled)?);
            format!("Some(include_bytes!({:?}))", text(&compiled)?)
        } else {
            String::from("None")
        };
        let wasm = text(&wasm)?;
        writeln!(
            table,
            "    BundledPlugin {{ name: {name:?}, wasm: include_bytes!({wasm:?}), precompiled: {precompiled} }},"
        )?;
    }
    table.push_str("]\n");
    Ok(table)
}

fn pack_table(folder: &Path) -> Result<String> {
    let mut table = String::from("&[\n");
    for (name, pack) in files(folder, "toml")? {
        writeln!(table, "    BundledPack {{ name: {name:?}, text: include_str!({:?}) }},", text(&pack)?)?;
    }
    table.push_str("]\n");
    Ok(table)
}

/// The files of a folder with this extension, by name, each watched by cargo together with the folder itself.
fn files(folder: &Path, extension: &str) -> Result<Vec<(String, PathBuf)>> {
    println!("cargo::rerun-if-changed={}", text(folder)?);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(format!("cannot list {}: {error}", folder.display()).into()),
    };
    let folder = folder.canonicalize()?;
    let mut found = Vec::new();
    for entry in entries {
        let path = folder.join(entry?.file_name());
        if path.extension().is_some_and(|it| it == extension) && path.is_file() {
            let stem = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
            println!("cargo::rerun-if-changed={}", text(&path)?);
            found.push((stem.to_owned(), path));
        }
    }
    found.sort();
    Ok(found)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| format!("the path {} is not UTF-8", path.display()).into())
}
