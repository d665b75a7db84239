//! Whatever somebody says has happened.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_hosts::fuzzing::happening(data));
