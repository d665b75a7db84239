//! Whatever an agent sends as an event.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_engine::fuzzing::event_json(data));
