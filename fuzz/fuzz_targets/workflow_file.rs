//! Whatever stands in a `workflow.toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_flow::fuzzing::workflow_file(data));
