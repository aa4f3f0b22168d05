//! What `wit-bindgen` makes of `wit/0.1.0`. What the host offers is generated once and shared, so that an error or an
//! execution context is one type in every world; what a plugin exports is generated interface by interface (the macros
//! that export them share one namespace, so no interface may be generated twice). The worlds here are pieces: the
//! component that comes out has the imports that its code calls and the exports that its macro names, which is
//! what the host holds against the published worlds.
#![allow(
    unsafe_code,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    rust_2018_idioms,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated"
)]

/// Everything that the host offers.
pub mod host {
    wit_bindgen::generate!({
        inline: "
            package firstfault:sdk-host;
            world host-piece {
                import firstfault:plugin/types@0.1.0;
                import firstfault:plugin/log@0.1.0;
                import firstfault:plugin/context@0.1.0;
                import firstfault:plugin/files@0.1.0;
                import firstfault:plugin/http@0.1.0;
                import firstfault:plugin/process@0.1.0;
                import firstfault:plugin/sink@0.1.0;
                import firstfault:plugin/view@0.1.0;
                import firstfault:plugin/tables@0.1.0;
            }
        ",
        path: "../../wit/0.1.0",
        world: "firstfault:sdk-host/host-piece",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq, Eq],
    });
}

/// Says what the plugin is.
pub mod manifest {
    wit_bindgen::generate!({
        inline: "
            package firstfault:sdk-manifest;
            world manifest-piece {
                export firstfault:plugin/manifest@0.1.0;
            }
        ",
        path: "../../wit/0.1.0",
        world: "firstfault:sdk-manifest/manifest-piece",
        pub_export_macro: true,
        export_macro_name: "export_manifest",
        default_bindings_module: "firstfault_plugin::bindings::manifest",
    });
}

/// Says what ran.
pub mod connector {
    wit_bindgen::generate!({
        inline: "
            package firstfault:sdk-connector;
            world connector-piece {
                export firstfault:plugin/connector@0.1.0;
            }
        ",
        path: "../../wit/0.1.0",
        world: "firstfault:sdk-connector/connector-piece",
        pub_export_macro: true,
        export_macro_name: "export_connector_interface",
        default_bindings_module: "firstfault_plugin::bindings::connector",
        with: {
            "firstfault:plugin/types@0.1.0": crate::bindings::host::firstfault::plugin::types,
            "firstfault:plugin/context@0.1.0": crate::bindings::host::firstfault::plugin::context,
        },
    });
}

/// Brings what is known of an attempt.
pub mod collector {
    wit_bindgen::generate!({
        inline: "
            package firstfault:sdk-collector;
            world collector-piece {
                export firstfault:plugin/collector@0.1.0;
            }
        ",
        path: "../../wit/0.1.0",
        world: "firstfault:sdk-collector/collector-piece",
        pub_export_macro: true,
        export_macro_name: "export_collector_interface",
        default_bindings_module: "firstfault_plugin::bindings::collector",
        additional_derives: [PartialEq, Eq],
        with: {
            "firstfault:plugin/types@0.1.0": crate::bindings::host::firstfault::plugin::types,
            "firstfault:plugin/context@0.1.0": crate::bindings::host::firstfault::plugin::context,
        },
    });
}

/// Turns matched lines into events.
pub mod rules {
    wit_bindgen::generate!({
        inline: "
            package firstfault:sdk-rules;
            world rules-piece {
                export firstfault:plugin/rules@0.1.0;
            }
        ",
        path: "../../wit/0.1.0",
        world: "firstfault:sdk-rules/rules-piece",
        pub_export_macro: true,
        export_macro_name: "export_rules_interface",
        default_bindings_module: "firstfault_plugin::bindings::rules",
        additional_derives: [PartialEq, Eq],
        with: {
            "firstfault:plugin/types@0.1.0": crate::bindings::host::firstfault::plugin::types,
        },
    });
}
