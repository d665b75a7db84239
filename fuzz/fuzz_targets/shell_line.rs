//! Whatever an agent wants to run in a shell.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| anyhook_shell::fuzzing::command_line(data));
