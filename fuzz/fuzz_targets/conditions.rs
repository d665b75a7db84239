//! A matcher with conditions and a command line: the prefilter drops nothing that matches.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::conditions(data));
