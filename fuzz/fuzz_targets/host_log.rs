//! Whatever stands in an agent's log.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_hosts::fuzzing::log(data));
