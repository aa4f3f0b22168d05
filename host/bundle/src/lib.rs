//! The plugins and the rule packs that are shipped inside the program.
//!
//! Data only: what is here was ready when the crate was built. With no plugin built yet, [`plugins`] is empty and
//! the program says to run `cargo xtask build`. Whether a precompiled plugin may be used on this machine is for the
//! runtime to decide; the bytes in `wasm` are always enough.

/// A shipped plugin: a WebAssembly component.
#[derive(Clone, Copy)]
pub struct BundledPlugin {
    /// The name of its file, without the extension.
    pub name: &'static str,
    /// The component.
    pub wasm: &'static [u8],
    /// What `precompile` made of exactly this component, if it was made.
    pub precompiled: Option<&'static [u8]>,
}

impl std::fmt::Debug for BundledPlugin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BundledPlugin")
            .field("name", &self.name)
            .field("wasm", &format_args!("{} bytes", self.wasm.len()))
            .field("precompiled", &self.precompiled.map(<[u8]>::len))
            .finish()
    }
}

/// A shipped rule pack, as text.
#[derive(Clone, Copy, Debug)]
pub struct BundledPack {
    /// The name of its file, without the extension.
    pub name: &'static str,
    /// The pack.
    pub text: &'static str,
}

static PLUGINS: &[BundledPlugin] = include!(concat!(env!("OUT_DIR"), "/plugins.rs"));
static PACKS: &[BundledPack] = include!(concat!(env!("OUT_DIR"), "/packs.rs"));

/// The shipped plugins, sorted by name.
pub fn plugins() -> &'static [BundledPlugin] {
    PLUGINS
}

/// The shipped packs, sorted by name.
pub fn packs() -> &'static [BundledPack] {
    PACKS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(plugins().is_sorted_by(|a, b| a.name < b.name));
        assert!(packs().is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn every_plugin_is_a_component() {
        for plugin in plugins() {
            // The magic number, then version 13 of layer 1, which is what tells a component from a core module.
            assert_eq!(plugin.wasm.get(..8), Some(b"\0asm\x0d\0\x01\0".as_slice()), "{plugin:?}");
        }
    }

    #[test]
    fn debug_does_not_print_the_bytes() {
        let plugin = BundledPlugin { name: "x", wasm: &[0; 1000], precompiled: Some(&[0; 3000]) };
        assert_eq!(
            format!("{plugin:?}"),
            "BundledPlugin { name: \"x\", wasm: 1000 bytes, precompiled: Some(3000) }"
        );
    }
}
