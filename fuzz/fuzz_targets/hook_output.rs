//! Whatever a hook's script prints.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::hook_output(data));
