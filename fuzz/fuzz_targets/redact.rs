//! Whatever is written to the journal.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::redact(data));
