//! Whatever agents and people say to a workflow.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_workflow::fuzzing::workflow_signal(data));
