//! Guards of the packs: the event and the options in, an answer out. What they decide is in
//! `anyhook_guards`.

use std::fs;

use anyhook_engine::now;
use anyhook_guards::{Answer, Event, Guard, Place, decide, options};
use anyhook_model::{EventKind, exit_code};
use serde_json::Value;

use super::read_event;
use crate::commands::CommandResult;
use crate::environment::{self, Environment, HookVariables};
use crate::error::CommandError;
use crate::ui::{Out, Tone};

pub fn run(guard: Guard, environment: &Environment) -> CommandResult {
    let event = Event::new(read_event().map_err(CommandError::input)?);
    let hook = environment::hook_variables();
    let options = read_options(&hook)?;
    let host = hook.host.unwrap_or_else(|| "agent-hooks".to_owned());
    let place = Place {
        project: hook.project.unwrap_or_else(|| environment.project_root()),
        state: environment.places.state.clone(),
        requests_permissions: requests_permissions(&host),
        host,
        now: now(),
        usage: environment::session_usage,
    };
    tell(&decide(guard, &event, &options, &place)?)
}

/// Returns whether an agent has an event for a permission request.
fn requests_permissions(host: &str) -> bool {
    let rows = anyhook_hosts::find(host).map_or(&[][..], |host| host.protocol.capabilities);
    rows.iter().any(|row| row.event == EventKind::PermissionRequest && row.native.is_some())
}

/// Reads the options of the hook that calls us; without one, there are none.
fn read_options(hook: &HookVariables) -> Result<Value, CommandError> {
    let Some(folder) = &hook.folder else { return Ok(Value::Null) };
    let file = folder.join("HOOK.md");
    let text = fs::read(&file).map_err(|error| CommandError::at(&file, error))?;
    Ok(options::of_hook(&text, &folder.file_name().unwrap_or_default().to_string_lossy()))
}

fn tell(answer: &Answer) -> CommandResult {
    if let Some(reason) = answer.denied() {
        // The exit code is the answer, whether or not the message can be written.
        let _ = Out::stderr().line(&[(Tone::Plain, reason)]);
        return Ok(exit_code::BLOCKED);
    }
    if let Some(object) = answer.to_json() {
        let mut out = Out::stdout();
        out.line(&[(Tone::Plain, &object.to_string())])?;
        out.flush()?;
    }
    Ok(exit_code::OK)
}
