//! Whatever stands in a transcript.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_hosts::fuzzing::transcript(data));
