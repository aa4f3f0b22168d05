//! From a core module with embedded interface types to a component.

use anyhow::{Context as _, bail};
use wit_component::{ComponentEncoder, DecodedWasm};

/// The package of every interface that a shipped plugin may use.
const PACKAGE: &str = "firstfault:plugin/";

/// Wraps a module that `wit-bindgen` prepared into a validated component, and refuses one that imports anything
/// beyond firstfault's own interfaces.
pub(crate) fn encode(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    let component = ComponentEncoder::default()
        .validate(true)
        .module(module)
        .context("the module cannot be read")?
        .encode()
        .context("the module does not make a component")?;
    let foreign: Vec<String> =
        imports(&component)?.into_iter().filter(|name| !name.starts_with(PACKAGE)).collect();
    if !foreign.is_empty() {
        bail!(
            "it imports {}, but a shipped plugin may import {PACKAGE}* only: look for a use of the clock, the file \
             system or standard output in it",
            foreign.join(", ")
        );
    }
    Ok(component)
}

/// The names of the interfaces and functions that a component imports.
fn imports(component: &[u8]) -> anyhow::Result<Vec<String>> {
    match wit_component::decode(component).context("the component's types cannot be read")? {
        DecodedWasm::Component(resolve, world) => {
            let world = resolve.worlds.get(world).context("the component has no world")?;
            Ok(world.imports.keys().map(|key| resolve.name_world_key(key)).collect())
        }
        DecodedWasm::WitPackage(..) => bail!("it is a package of interfaces and has no code"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_an_error() {
        assert!(encode(b"no module").is_err());
    }

    #[test]
    fn a_module_without_a_world_exports_nothing() {
        // An empty module is a valid component that does nothing; whether a plugin has a world at all is checked
        // where it is loaded.
        let component = encode(b"\0asm\x01\0\0\0").unwrap();
        assert!(imports(&component).unwrap().is_empty());
    }
}
