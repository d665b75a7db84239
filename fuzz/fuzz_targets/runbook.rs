//! Whatever stands in a runbook.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_flow::fuzzing::runbook(data));
