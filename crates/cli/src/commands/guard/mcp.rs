//! `anyhook guard mcp`: keeps dangerous commands from MCP tools.

use std::io::{self, Read};

use anyhook_mcp::guard;
use anyhook_model::exit_code;
use serde_json::Value;

use crate::progress::say_that_we_read;
use crate::ui::{Out, Tone};

/// The same limit as on the hook path.
const EVENT_LIMIT: u64 = 64 * 1024 * 1024;

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
    say_that_we_read("the event");
    let mut event = Vec::new();
    io::stdin()
        .lock()
        .take(EVENT_LIMIT + 1)
        .read_to_end(&mut event)
        .map_err(|error| format!("the event cannot be read: {error}"))?;
    if event.len() as u64 > EVENT_LIMIT {
        return Err(format!("the event is larger than {} MB", EVENT_LIMIT / 1024 / 1024));
    }
    if event.trim_ascii().is_empty() {
        return Err("there is no event on standard input".to_owned());
    }
    let mut event: Value = serde_json::from_slice(&event)
        .map_err(|error| format!("the event cannot be read as JSON: {error}"))?;
    match event.get_mut("tool_input") {
        Some(input) => Ok(input.take()),
        None => Err("the event has no `tool_input`".to_owned()),
    }
}
