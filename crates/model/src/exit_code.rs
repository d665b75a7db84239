//! Exit codes of the `anyhook` program. Scripts rely on them.

/// Success; for a dispatch: the operation continues.
pub const OK: u8 = 0;
/// The command found problems or failed.
pub const PROBLEM: u8 = 1;
/// A blocking verdict, and nothing else: no other path of any command exits with 2.
pub const BLOCKED: u8 = 2;
/// Nothing matches the request: only with `--exit-code`.
pub const NOTHING: u8 = 3;
/// Wrong usage: an unknown command, flag or host.
pub const USAGE: u8 = 64;
/// The input cannot be used: not JSON, no event type, an unreadable file.
pub const UNUSABLE_INPUT: u8 = 65;
/// An internal error of anyhook.
pub const FAULT: u8 = 70;
