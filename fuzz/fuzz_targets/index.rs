//! An index that says anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::index(data));
