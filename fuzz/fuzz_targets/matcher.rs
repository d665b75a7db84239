//! An expression and a text: needing literals first changes no answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::matcher(data));
