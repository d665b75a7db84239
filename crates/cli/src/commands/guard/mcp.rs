//! `anyhook guard mcp`: keeps dangerous commands from MCP tools.

use anyhook_mcp::guard;
use anyhook_model::exit_code;
use serde_json::Value;

use super::read_event;
use crate::ui::{Out, Tone};

/// Returns the exit code.
pub fn run() -> u8 {
    let found = match read() {
        Ok(input) => guard::look(&input).iter().map(ToString::to_string).collect(),
        // A guard that cannot read the event lets nothing pass.
        Err(why) => vec![why],
    };
    if found.is_empty() {
        return exit_code::OK;
    }
    let mut stderr = Out::stderr();
    for line in found {
        // The exit code is the answer, whether or not the message can be written.
        let _ = stderr.line(&[(Tone::Plain, &line)]);
    }
    exit_code::BLOCKED
}

/// Reads the input of the tool call.
fn read() -> Result<Value, String> {
    let mut event = read_event()?;
    match event.get_mut("tool_input") {
        Some(input) => Ok(input.take()),
        None => Err("the event has no `tool_input`".to_owned()),
    }
}
