//! A file of the journal.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::journal_line(data));
