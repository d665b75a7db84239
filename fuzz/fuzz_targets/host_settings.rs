//! Whatever stands in an agent's settings.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_hosts::fuzzing::settings(data));
