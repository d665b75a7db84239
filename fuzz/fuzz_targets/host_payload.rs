//! Whatever an agent sends in its own words.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_hosts::fuzzing::payload(data));
