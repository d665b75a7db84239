//! An event of which only the beginnings are read.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::large_event(data));
