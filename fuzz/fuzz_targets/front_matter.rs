//! Whatever stands at the head of a HOOK.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::front_matter(data));
