//! Whatever lies beside the logs as a context, it becomes JSON or an error that fits one line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../../../host/model/tests/support/edited.rs"]
mod edited;

use edited::edited;
use firstfault_plugin::testing::MemoryFiles;
use firstfault_plugin_static::{convert, find};
use proptest::prelude::*;

const DOCUMENTS: &[&str] = &[
    "id = \"7\"\nattempt = 1\nstart = 2026-11-02T20:14:07Z\n[zones]\ndefault = \"UTC\"\n[terminal]\nstate = \"failed\"\nrequeued = false\n\
     [[nodes]]\nname = \"gpu-1\"\nranks = [0, 1]\n[[nodes.gpus]]\nindex = 0\npci_bus_id = \"0000:1a:00\"\n",
    "extra = { a = \"b\" }\n",
    "",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn toml(text in edited(DOCUMENTS)) {
        match convert::to_json(&text) {
            Ok(json) => {
                let object = json.starts_with('{') && !json.contains('\n');
                prop_assert!(object, "{}", json);
            }
            Err(error) => prop_assert!(error.code == "malformed" && !error.message.contains('\n'), "{:?}", error),
        }
        let files = MemoryFiles::new().file("given-0", "context.toml", text);
        if let Err(error) = find::document(&files) {
            prop_assert!(error.message.starts_with("context.toml: "), "{:?}", error);
        }
    }

    #[test]
    fn deep_documents(open in "[\\[{]", depth in 0..3_000_usize) {
        _ = convert::to_json(&format!("a = {}", open.repeat(depth)));
        _ = convert::to_json(&format!("a = {}{}", "[".repeat(depth), "]".repeat(depth)));
        _ = convert::to_json(&format!("{} = 1", vec!["a"; depth + 1].join(".")));
    }
}
