//! Whatever stands in a transcript.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let read = anyhook_hosts::claude_code::read_transcript(data);
    assert!(read.payloads.is_sorted_by_key(|made| made.line), "in the order of their lines");
    assert!(read.payloads.iter().all(|made| made.payload.contains_key("hook_event_name")));
});
