//! Whatever stands in a `workflow.toml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_workflow::fuzzing::workflow_file(data));
